"""Snapshots of Iceberg tables: those that are too old for readers go.

Pyiceberg cannot rewrite data files, and does not delete files of metadata that nothing names any more.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

#: the table's property, and Iceberg's default: five days
_AGE, _DEFAULT_MS = "history.expire.max-snapshot-age-ms", "432000000"


def expire(table: Any) -> None:
    """Forget the snapshots that are older than the table's property says, except the newest one.

    Args:
        table: from iceberg.open_table.
    """
    opened = table._table
    age = timedelta(milliseconds=int(opened.properties.get(_AGE, _DEFAULT_MS)))
    opened.maintenance.expire_snapshots().older_than(datetime.now(UTC) - age).commit()
