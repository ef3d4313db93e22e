"""The identity of a phone, its sensors, and the changes that a session makes on it and undoes."""
