"""PostgreSQL's protocol, for tools that speak it: psql, drivers, dashboards (docs/how-to/postgres.md).

The library pygwire decodes the messages of a connection (connection.py). statements.py tells what a statement
is: KSQL goes to the engine, the connection itself answers what drivers say about transactions and settings,
and catalog.py answers what tools ask about tables, in processes with limits (catalog_process.py). values.py
turns results into PostgreSQL's types.
"""
