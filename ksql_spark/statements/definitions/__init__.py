"""Handlers of statements that define: sources, their versions, sinks, types, functions, connectors."""
