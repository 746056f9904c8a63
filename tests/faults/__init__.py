"""Faults while a server works: ``python -m tests.faults --help``."""
