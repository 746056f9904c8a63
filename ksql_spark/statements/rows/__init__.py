"""Handlers of statements about single rows: INSERT VALUES, UPDATE, DELETE, REPLAY ERRORS, EXPLAIN ROW."""
