"""Rows for clients: pull queries and their views, push queries, PRINT."""
