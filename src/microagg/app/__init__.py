"""A front door in the browser: a local page on which a table is protected, step by step."""
