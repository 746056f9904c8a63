"""Bytes from and to a client: messages, and the rows of COPY."""
