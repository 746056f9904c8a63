"""What a log record says, without its formatter.

PySpark gives handlers of pytest a formatter of its own after the first error that names a place in SQL, so
``caplog.text`` has another form after such a test: tests look at the records.
"""

from __future__ import annotations

import logging


def logged_error(record: logging.LogRecord) -> str:
    """``Class: message`` of the error that was logged with a record; empty where there was none."""
    if record.exc_info is None or record.exc_info[1] is None:
        return ""
    error = record.exc_info[1]
    return f"{type(error).__name__}: {error}"
