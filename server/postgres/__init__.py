"""PostgreSQL's protocol, for tools that speak it: psql, drivers, dashboards (docs/how-to/postgres.md).

The library pygwire decodes the messages of a connection (session/connection.py). session/statements.py tells
what a statement is: KSQL goes to the engine, the connection itself answers what drivers say about
transactions and settings, and catalog/ answers what tools ask about tables, in processes with limits. values/
turns results into PostgreSQL's types.
"""
