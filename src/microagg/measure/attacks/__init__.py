"""What an intruder can do with a release: an attack is one object, in one registry."""
