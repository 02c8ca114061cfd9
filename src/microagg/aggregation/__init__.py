"""What a group publishes."""
