"""Aggregate functions, one module per family."""
