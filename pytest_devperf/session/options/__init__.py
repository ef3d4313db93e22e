"""What a session is asked to do: options, ini keys and marker keywords, read and checked."""
