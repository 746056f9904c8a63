"""Reads the lake table of revenue with DuckDB, and prints each item whose row has changed.

python report.py FOLDER
"""

from __future__ import annotations

import argparse
import sys
import time

import duckdb
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

QUERY = "SELECT item, sold, revenue, round(revenue / sold, 2) FROM revenue ORDER BY revenue"


def rows(folder: str) -> list[tuple[str, int, float, float]]:
    """The rows of the table now; none before the first commit."""
    try:
        revenue = DeltaTable(folder).to_pyarrow_table()
    except TableNotFoundError:
        return []
    return duckdb.connect().register("revenue", revenue).execute(QUERY).fetchall()


def main() -> int:
    """Print changes each second until Ctrl-C, or with --once the rows of now."""
    parser = argparse.ArgumentParser(description="Print the changes of a lake table of revenue.")
    parser.add_argument("folder")
    parser.add_argument("--once", action="store_true", help="print all rows and exit")
    # the demo tells every program where Kafka is
    options, _ = parser.parse_known_args()
    seen: set[tuple[str, int, float, float]] = set()
    while True:
        found = rows(options.folder)
        for row in found:
            if row not in seen:
                item, sold, revenue, price = row
                print(f"{item}: {sold} sold for {revenue:.2f}, each for {price:.2f} on average", flush=True)
        seen = set(found)
        if options.once:
            return 0
        time.sleep(1.0)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(0)
