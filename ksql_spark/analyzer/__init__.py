"""Binding: names, types and rules."""
