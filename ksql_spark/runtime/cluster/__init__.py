"""Servers that share queries: which server runs which query, and who owns the state."""
