"""Binds queries that a client reads: pull queries, key lookups, queries of the past, push queries."""
