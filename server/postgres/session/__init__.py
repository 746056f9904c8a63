"""What a client does on a connection: statements, portals, cursors, settings."""
