"""How risky a table is before anything is done to it: key columns in, figures of risk out."""
