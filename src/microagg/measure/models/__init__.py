"""What models learn from a release, and what they learn from the originals."""
