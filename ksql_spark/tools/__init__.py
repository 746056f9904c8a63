"""Subcommands of ksql-spark that are programs of their own, beside the shell and the server."""
