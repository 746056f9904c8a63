"""A server for editors: `ksql-spark lsp`, which speaks the Language Server Protocol."""
