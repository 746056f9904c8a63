"""Binds what defines streams, tables and sinks: CREATE, ALTER, CREATE OR REPLACE and EVOLVE."""
