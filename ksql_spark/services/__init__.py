"""The processes we start."""
