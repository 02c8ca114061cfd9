"""Spatial trees: which records are near."""
