"""Query results as responses of HTTP."""
