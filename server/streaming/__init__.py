"""Query results as HTTP responses."""
