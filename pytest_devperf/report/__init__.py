"""What people and machines read: a report in, text out."""
