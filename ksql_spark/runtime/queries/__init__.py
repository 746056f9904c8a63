"""Persistent queries: what they are, their runs, states and checkpoints, and what restarts them."""
