"""The doors: tables in, roles, kinds, matrix; tables out."""
