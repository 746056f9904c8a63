"""Statements in PostgreSQL's words, and the same in KSQL."""
