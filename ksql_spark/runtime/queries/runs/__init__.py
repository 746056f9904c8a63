"""A run of a query, from its start to its end."""
