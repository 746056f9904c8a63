"""Builds operations with state per key on the JVM's keyed operators."""
