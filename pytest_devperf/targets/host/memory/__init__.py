"""Memory of this process and of the processes that it starts."""
