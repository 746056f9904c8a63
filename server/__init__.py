"""The REST server: HTTP in and out."""
