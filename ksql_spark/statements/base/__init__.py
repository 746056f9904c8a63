"""What all handlers use: their context and actions, descriptions of sources and queries, topics."""
