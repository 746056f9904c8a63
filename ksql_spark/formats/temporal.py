"""DATE, TIME and TIMESTAMP as the numbers that DELIMITED and JSON write (reference §5.2)."""

from __future__ import annotations

from ksql_spark.types import BIGINT, DATE, INTEGER, TIME, TIMESTAMP, SqlType

#: days, milliseconds of the day, milliseconds since the epoch
NUMBER_OF: dict[SqlType, SqlType] = {DATE: INTEGER, TIME: INTEGER, TIMESTAMP: BIGINT}


def to_number(text: str, type_: SqlType) -> str:
    """Spark SQL text: the serialized number of a DATE, TIME or TIMESTAMP; other values unchanged."""
    if type_ == DATE:
        return f"unix_date({text})"
    return f"unix_millis({text})" if type_ == TIMESTAMP else text
