"""Subcommands of ksql-spark that are programs of their own."""
