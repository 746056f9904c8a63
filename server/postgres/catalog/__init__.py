"""Queries of PostgreSQL's catalog, which sqlite answers in processes with limits."""
