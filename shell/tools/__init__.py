"""Subcommands of ksql-spark that are separate programs."""
