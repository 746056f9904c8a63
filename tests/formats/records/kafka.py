"""Values in KAFKA: what Kafka's own serializers write (reference §5.2)."""

from __future__ import annotations

import base64

from ksql_spark.types import BIGINT, BYTES, DOUBLE, INTEGER, STRING
from tests.formats.records.record import Bad, plain

_SIZE = Bad("bytes, and there are")
KAFKA = [
    plain(f"{data!r} as {type_}", "KAFKA", data, {"A": type_}, {"A": value}, wrapped=False)
    for data, type_, value in (
        (b"\xff\xff\xff\xfb", INTEGER, -5),
        (b"\0\0\1\0\0\0\0\0", BIGINT, 2**40),
        (b"\x40\x04\0\0\0\0\0\0", DOUBLE, 2.5),
        (b"", STRING, ""),
        ("é".encode(), STRING, "é"),
        (b"\0\xff", BYTES, base64.b64encode(b"\0\xff").decode()),
    )
]
KAFKA += [
    plain(f"{size} bytes as {type_}", "KAFKA", b"x" * size, {"A": type_}, _SIZE, wrapped=False)
    for type_, sizes in {INTEGER: (0, 1, 3, 5, 8), BIGINT: (0, 4, 9), DOUBLE: (0, 4, 7)}.items()
    for size in sizes
]
