"""A column as numbers: its kind, its points, what is told of it before and after."""
