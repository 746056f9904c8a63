"""Binds SELECT as a stream or table: its clauses, sub-queries and set operations."""
