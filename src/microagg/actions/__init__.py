"""What a person asks for: one file a verb. The only room that knows all others."""
