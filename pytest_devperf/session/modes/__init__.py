"""The modes of a session: saved runs, old and new code in turns, or repetitions of unchanged code."""
