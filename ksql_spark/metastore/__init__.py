"""The metastore: streams, tables, types and user functions by name."""
