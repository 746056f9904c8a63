"""Servers that share queries: which server runs which query, and which service owns the state."""
