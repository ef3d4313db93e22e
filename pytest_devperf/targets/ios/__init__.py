"""An iPhone that hosts its own cases."""
