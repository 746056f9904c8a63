"""Makes a shop's database in SQLite, with a table of prices.

python prices.py FILE
"""

from __future__ import annotations

import contextlib
import sqlite3
import sys

PRICES = {"tea": 2.5, "coffee": 4.0, "cocoa": 3.25, "sugar": 1.5, "milk": 0.75, "flour": 1.25}


def main() -> None:
    """Make the table, which must not exist yet."""
    with contextlib.closing(sqlite3.connect(sys.argv[1])) as database, database:
        database.execute("CREATE TABLE prices (item TEXT PRIMARY KEY, price REAL NOT NULL)")
        database.executemany("INSERT INTO prices VALUES (?, ?)", PRICES.items())


if __name__ == "__main__":
    main()
