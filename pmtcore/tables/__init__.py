"""From files to rows: tables, the choices of the user, the coding of columns and targets, real and synthetic data."""
