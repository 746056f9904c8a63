"""Serialisation formats of keys and values."""
