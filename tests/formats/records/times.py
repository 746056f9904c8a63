"""Times of day in each format: from 00:00 to 24:00."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ksql_spark.types import (
    STRING,
    TIME,
    Array,
    Field,
    Map,
    Struct,
)
from tests.formats.records.record import BAD, Record, avro, long, number, plain, protobuf, sized, whole

_DAY_MS = 86_400_000
_TIMES = {"T": TIME, "S": Struct((Field("T", TIME),)), "A": Array(TIME), "M": Map(STRING, TIME)}


def _times(ms: int) -> Iterator[Record]:
    """A TIME in each format and at each place."""
    is_time = 0 <= ms <= _DAY_MS
    for name, member in {"T": ms, "S": {"T": ms}, "A": [0, ms], "M": {"k": ms}}.items():
        row = {name: member} if is_time else BAD
        yield plain(f"TIME {ms} in {name}", "JSON", json.dumps({name: member}), {name: _TIMES[name]}, row)
    row = {"T": ms} if is_time else BAD
    yield plain(f"TIME {ms} as text", "JSON", f'{{"T":"{ms}"}}', {"T": TIME}, row)
    for wrapped, format_ in ((True, "DELIMITED"), (False, "JSON")):
        yield plain(f"TIME {ms}", format_, str(ms), {"T": TIME}, row, wrapped=wrapped)
    value = ms if is_time else BAD
    yield avro(f"TIME {ms} as int", {"type": "int", "logicalType": "time-millis"}, TIME, number(ms), value)
    yield avro(f"TIME {ms} in a list", {"type": "array", "items": "int"}, Array(TIME),
                number(1) + number(ms) + number(0), [ms] if is_time else BAD)  # fmt: skip
    yield avro(f"TIME {ms} as long", long(logicalType="time-micros"), TIME, number(ms * 1000), value)
    yield protobuf(f"TIME {ms} as int32", 'syntax = "proto3"; message M { int32 t = 1; }', {"T": TIME},
                    whole(1, ms), row)  # fmt: skip
    seconds, rest = divmod(ms, 1000)
    yield protobuf(f"TIME {ms} as TimeOfDay", "message M { optional google.type.TimeOfDay t = 1; }",
                    {"T": TIME}, sized(1, whole(3, seconds) + whole(4, rest * 10**6)), row)  # fmt: skip


TIMES = [record for ms in (0, _DAY_MS, -1, 90_000_000) for record in _times(ms)]
