"""Grouping around far-out records, one or two groups at a time."""
