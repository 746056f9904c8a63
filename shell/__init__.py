"""The command line and interactive shell: a REST client."""
