"""Parse what Android's tools and files print about a phone."""
