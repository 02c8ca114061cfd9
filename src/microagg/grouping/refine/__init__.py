"""Making a partition better by moving records between its groups."""
