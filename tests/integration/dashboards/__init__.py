"""Tools in which people look at tables, on a real server's port for PostgreSQL's clients (make test-tools)."""
