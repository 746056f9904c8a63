"""Streams, tables and types: what a name means."""
