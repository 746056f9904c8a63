"""Spark's JVM: its start, its supervisor, its memory and clock."""
