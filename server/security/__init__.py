"""Checks before a route handles a request: its sender, their rights, its form and size."""
