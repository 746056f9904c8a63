"""Values, names and errors as PostgreSQL's clients know them."""
