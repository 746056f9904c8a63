"""Protobuf, with and without schemas in a registry."""
