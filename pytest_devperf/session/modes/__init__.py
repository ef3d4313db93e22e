"""What a session is about: saved runs, old and new code in turns, or repetitions of unchanged code."""
