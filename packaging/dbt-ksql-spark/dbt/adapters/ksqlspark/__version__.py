"""The adapter's version."""

version = "0.2.0"
