"""What is kept of a run: raw samples, context, cautions, and the document that carries them."""
