"""Text files of records."""
