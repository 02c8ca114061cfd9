"""Grouping records that stand in a line: sort or order them, then split the line optimally."""
