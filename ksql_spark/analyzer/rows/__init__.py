"""Binds statements about single rows: INSERT VALUES, UPDATE, DELETE, EXPLAIN ROW."""
