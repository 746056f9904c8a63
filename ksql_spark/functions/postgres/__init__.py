"""PostgreSQL's functions, for clients of its protocol."""
