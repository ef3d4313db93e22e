"""What a phone is, what its sensors show, and what a session changes on it and undoes."""
