"""Serialization formats: which columns they support, how they encode and decode (reference §5)."""

from __future__ import annotations

from ksql_spark.errors import KsqlError, nearest
from ksql_spark.formats.base import BadRecord, Format
from ksql_spark.formats.capabilities import CAPABILITIES
from ksql_spark.formats.delimited import DelimitedFormat
from ksql_spark.formats.json import JsonFormat
from ksql_spark.formats.kafka import KafkaFormat
from ksql_spark.formats.none import NoneFormat

#: every format by name
FORMATS: dict[str, Format] = {
    f.name: f for f in (DelimitedFormat(), JsonFormat(), KafkaFormat(), NoneFormat())
}


def lookup(name: str, delimiter: str | None = None) -> Format:
    """The format called ``name``, in any case.

    Args:
        name: from KEY_FORMAT, VALUE_FORMAT or FORMAT.
        delimiter: KEY_DELIMITER or VALUE_DELIMITER, for DELIMITED only.

    Raises:
        KsqlError: FORMAT_UNKNOWN; INVALID_STATEMENT for a delimiter that cannot be used.
    """
    found = FORMATS.get(name.strip().upper())
    if found is None:
        near = nearest(name, FORMATS)
        known = ", ".join(sorted(FORMATS))
        raise KsqlError(
            "FORMAT_UNKNOWN",
            name=name,
            hint=f"{f'Did you mean {near}? ' if near else ''}The formats are {known}.",
        )
    if delimiter is None:
        return found
    if not isinstance(found, DelimitedFormat):
        reason = f"{found.name} does not support the following configs: [delimiter]"
        raise KsqlError("INVALID_STATEMENT", reason=reason)
    return found.with_delimiter(delimiter)


__all__ = ["CAPABILITIES", "FORMATS", "BadRecord", "Format", "lookup"]
