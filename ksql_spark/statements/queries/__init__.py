"""Starts and ends queries, and says which records a pull query must read."""
