"""Binds FROM: sources, joins and their times, windows."""
