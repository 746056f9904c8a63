"""The adapter's version."""

version = "0.1.0"
