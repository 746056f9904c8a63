"""Lines in DELIMITED (reference §5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    Decimal,
    SqlType,
)
from tests.formats.records.record import Bad, Record, plain


def _line(line: str, types: Sequence[SqlType], values: Sequence[Any] | Bad, **more: Any) -> Record:
    names = [chr(ord("A") + i) for i in range(len(types))]
    row = values if isinstance(values, Bad) else dict(zip(names, values, strict=True))
    columns = dict(zip(names, types, strict=True))
    return plain(f"{line!r} as {', '.join(map(str, types))}", "DELIMITED", line, columns, row, **more)


_ALL = (INTEGER, BIGINT, DOUBLE, BOOLEAN, STRING, Decimal(4, 2), BYTES, DATE, TIMESTAMP)
_MIXED = (STRING, INTEGER, STRING)
_NUMBERS = (INTEGER, INTEGER)
DELIMITED = [
    _line("-7,8000000000,2.5,TRUE,naïve,1.5,AQI=,3,4", _ALL,
          [-7, 8000000000, 2.5, True, "naïve", 1.5, "AQI=", 3, 4]),
    _line(",,,,,,,,", _ALL, [None] * 9),
    *(
        _line(line, _MIXED, values)
        for line, values in (
            ('"x" ,1,y', ["x", 1, "y"]), ('x,1,"y" \t', ["x", 1, "y"]),
            ('"a ""b""\t",1,', ['a "b"\t', 1, None]), ('\r\n"x\ny",1,z\r\nrest', ["x\ny", 1, "z"]),
            ('"",1,a"b', [None, 1, 'a"b']), (' a ,1,5" disk', [" a ", 1, '5" disk']),
            ('"a,""b""\nc" ,1,d', ['a,"b"\nc', 1, "d"]), ('"a\r\nb",1,"c\rd"\n', ["a\r\nb", 1, "c\rd"]),
        )
    ),
    *(_line(line, [STRING], ["a"]) for line in ("a\n", "a\r\n", "a\r", "\ra", "a\rb,c", 'a\n"', '"a"\r\n')),
    *(_line(line, [STRING], [line]) for line in ("#a", "\0a", "'a'", "\\a")),
    _line("yes", [BOOLEAN], [False]),
    _line("1\ta,b", [INTEGER, STRING], [1, "a,b"], delimiter="TAB"),
    _line("1é2", _NUMBERS, [1, 2], delimiter="é"),
    _line("1😀2", _NUMBERS, [1, 2], delimiter="😀"),
    _line("-0.0", [Decimal(4, 2)], [0]),
    *(
        _line(line, types, Bad(reason))
        for line, types, reason in (
            ("", _NUMBERS, ""), ("\n", _NUMBERS, ""),
            ("1", _NUMBERS, "Unexpected field count"), ("1,2,3", _NUMBERS, "Unexpected field count"),
            ("x,2", _NUMBERS, ""), ("1,2147483648", _NUMBERS, ""), ("1.0,2", _NUMBERS, ""),
            ('"1,2', _NUMBERS, ""), ('"1"x,2', _NUMBERS, ""), ('"x" y,1,z', _MIXED, ""),
            ('"a', [STRING], ""), ('"a""', [STRING], ""), ('"a""b', [STRING], ""), ('"a"b"', [STRING], ""),
            ("1e999999999", [Decimal(4, 2)], ""), ("-1E999999999", [Decimal(4, 2)], ""),
            ("1e-999999999", [Decimal(4, 2)], ""), ("123", [Decimal(4, 2)], ""),
            ("1.555", [Decimal(4, 2)], ""), ("é", [BYTES], ""), ("tTHU=", [BYTES], ""),
        )
    ),
]  # fmt: skip
