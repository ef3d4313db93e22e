"""Reports as GitHub's Markdown."""
