"""Avro, with schemas in a registry."""
