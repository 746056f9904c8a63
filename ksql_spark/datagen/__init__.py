"""Realistic events, deterministic by seed."""
