"""Tools in which people look at tables, on PostgreSQL's port of a real server (make test-tools)."""
