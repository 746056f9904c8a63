"""Records in JSON, as other producers write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
)
from tests.formats.records.record import BAD, MS, Bad, Record, plain

_ROW = Struct((Field("ID", INTEGER), Field("D", DATE)))
_CHANGE = Struct((Field("BEFORE", _ROW), Field("AFTER", _ROW)))


def _json(name: str, data: str | bytes, columns: Mapping[str, SqlType], row: Any) -> Record:
    return plain(name, "JSON", data, columns, row)


_ONE = {"A": INTEGER}
_NESTED = {"A": Struct((Field("X", INTEGER),))}
JSON = [
    _json("byte order mark", b'\xef\xbb\xbf{"A":1}', _ONE, {"A": 1}),
    _json("UTF-16", '{"A":"x"}'.encode("utf-16"), {"A": STRING}, {"A": "x"}),
    _json("a member twice", '{"A":1,"A":2}', _ONE, {"A": 2}),
    _json("a member twice, first of another type", '{"A":"x","A":2}', _ONE, {"A": 2}),
    _json("a member twice, first an object", '{"A":{"A":[1]},"A":2}', _ONE, {"A": 2}),
    _json("a member twice, last of another type", '{"A":1,"A":"x"}', _ONE, BAD),
    _json("a member twice in a STRUCT", '{"A":{"X":"q","X":3}}', _NESTED, {"A": {"X": 3}}),
    _json("a member twice in a MAP", '{"A":{"X":[],"X":3}}', {"A": Map(STRING, INTEGER)}, {"A": {"X": 3}}),
    _json("a bad entry in a MAP", '{"A":{"X":3,"Y":[]}}', {"A": Map(STRING, INTEGER)}, BAD),
    _json("a member twice in a text", '{"A":[{"x":1,"y":"\\n","x":2}]}', {"A": STRING},
          {"A": '[{"x":2,"y":"\\n"}]'}),
    _json("numbers in a text", '{"A":[-0,-0.0,1.10,1e2,{"x":-0}]}', {"A": STRING},
          {"A": '[0, 0.0, 1.10, 1E+2, {"x":0}]'}),
    _json("-0 as a text", '{"A":-0,"B":-0.0}', {"A": STRING, "B": STRING}, {"A": "0", "B": "0.0"}),
    _json("half of a character", '{"A":"\\ud83dx"}', {"A": STRING}, {"A": "?x"}),
    _json("half of a character in a name", '{"A":1,"\\ud83d":2}', _ONE, BAD),
    _json("half of a character in a MAP", '{"A":{"\\ud83d":2}}', {"A": Map(STRING, INTEGER)}, BAD),
    _json("halves of a character as UTF-8", b'{"A":"\xed\xa0\xbd\xed\xb8\x80"}', {"A": STRING}, BAD),
    _json("a character as UTF-8 and escaped", '{"A":"😀\\ud83d\\ude00"}', {"A": STRING},
          {"A": "😀😀"}),
    _json("blanks that only Python takes", '{"A":"1\u00a0"}', {"A": Decimal(10, 2)}, BAD),
    _json("a zero with an exponent", '{"A":0e052990707}', _ONE, {"A": 0}),
    _json("1e400", '{"A":1e400}', {"A": DOUBLE}, BAD),
    _json("1e400 in another member", '{"A":1,"B":1e400}', _ONE, {"A": 1}),
    _json("NaN", '{"A":1,"B":NaN}', _ONE, BAD),
    _json("NaN as text", '{"A":"NaN"}', {"A": DOUBLE}, {"A": "NaN"}),
    _json("1000 digits", f'{{"A":{"1" * 1000}}}', {"A": STRING}, {"A": "1" * 1000}),
    _json("1001 digits", f'{{"A":{"1" * 1001}}}', {"A": STRING}, BAD),
    _json("1001 digits in another member", f'{{"A":1,"B":{"1" * 1001}}}', _ONE, BAD),
    _json("1001 decimals in another member", f'{{"A":1,"B":0.{"1" * 1000}}}', _ONE, BAD),
    _json("1001 digits in a text", f'{{"A":1,"B":"{"1" * 1001}"}}', _ONE, {"A": 1}),
    _json("exponents", '{"A":1e3,"B":1.0,"C":1E+2}', {"A": INTEGER, "B": INTEGER, "C": BIGINT},
          {"A": 1000, "B": 1, "C": 100}),
    *(
        _json(f"{depth} levels in {name}", f'{{{before}"{name}":{"[" * depth}{"]" * depth}}}', {"A": STRING},
              {"A": ("[" * depth + "]" * depth) if name == "A" else None} if depth < 1000 else BAD)
        for depth, before in ((101, ""), (999, '"C":"[",'), (1000, ""), (20_000, "")) for name in "AB"
    ),
    _json("objects in a text", '{"A":%s}' % ('{"x":[' * 499 + "]}" * 499), {"A": STRING},
          {"A": '{"x":[' * 499 + "]}" * 499}),
    _json("many lists", '{"A":[[]' + ",[]" * 1999 + "]}", {"A": Array(Array(STRING))},
          {"A": [[]] * 2000}),
    *(
        _json(f"an object and {rest!r}", b'{"A":1}' + rest, _ONE, {"A": 1})
        for rest in (b'{"A":2}', b" x", b"}", b"\n", b'"', b"\xff", b"\0", b"[" * 3000, b"1" * 3000)
    ),
    *(
        plain(f"bare {name}", "JSON", data, {"A": type_}, row if row is BAD else {"A": row}, wrapped=False)
        for name, type_, data, row in (
            ("number and text", INTEGER, b'1 "x"', 1), ("number and byte", INTEGER, b"1\xff", BAD),
            ("number and comma", INTEGER, b"1,2", BAD), ("number and letter", INTEGER, b"1x", BAD),
            ("number and levels", INTEGER, b"1 " + b"[" * 1001, 1),
            ("text and levels", STRING, b'"x"' + b"[" * 1001, "x"),
            ("texts", STRING, b'"x""y"', "x"), ("lists", Array(INTEGER), b"[1][2]", [1]),
            ("true and comma", BOOLEAN, b"true,", True), ("true and letter", BOOLEAN, b"truex", BAD),
            ("true and brace", BOOLEAN, b"true}", True), ("true and DEL", BOOLEAN, b"true\x7f", BAD),
            ("true and no ASCII", BOOLEAN, "trueé".encode(), BAD),
            ("UTF-16", STRING, '"x"'.encode("utf-16-le"), "x"),
            ("true and byte", BOOLEAN, b"true\xff", BAD),
            ("true and false", BOOLEAN, b"true false", True),
        )
    ),
    # ---- values that fit although they are written in another way
    *(
        _json(f"{data} as {type_}", data, {"A": type_}, {"A": value})
        for data, type_, value in (
            ('{"a": 1}', INTEGER, 1), ('{"A": -2147483648}', INTEGER, -(2**31)), ('{"A": 1.9}', INTEGER, 1),
            ('{"A": 2147483647.9}', INTEGER, 2**31 - 1), ('{"A": " 12 "}', INTEGER, 12),
            ('{"A": 1e18}', BIGINT, 10**18), ('{"A": 1e-999999999}', BIGINT, 0),
            ('{"A": "1.5"}', DOUBLE, 1.5), ('{"A": 3}', DOUBLE, 3.0), ('{"A": 1e-999999999}', DOUBLE, 0.0),
            ('{"A": "1.5"}', Decimal(4, 2), 1.5), ('{"A": 0e999999999}', Decimal(4, 2), 0),
            ('{"A": 12e0}', Decimal(4, 2), 12), ('{"A": "19000"}', DATE, 19000), ('{"A": 5}', TIMESTAMP, 5),
            ('{"A": " 1623067935 "}', TIMESTAMP, 1623067935), ('{"A": ["-1", 2]}', Array(TIMESTAMP), [-1, 2]),
            ('{"A": {"f": 1}}', Struct((Field("F", INTEGER), Field("G", STRING))), {"F": 1, "G": None}),
            ('{"A": "x"}', STRING, "x"), ('{"A": true}', STRING, "true"), ('{"A": 1.50}', STRING, "1.50"),
            ('{"A": 1e5}', STRING, "1E+5"), ('{"A": 0.0000001}', STRING, "1E-7"),
            ('{"A": {"x": [1, "a"]}}', STRING, '{"x":[1,"a"]}'), ('{"A": [1, "a"]}', STRING, "[1, a]"),
            ('{"A": {"x": 1.50, "y": [1e5]}}', STRING, '{"x":1.50,"y":[1E+5]}'),
            ('{"A": {"x": 12345678901234567.891}}', STRING, '{"x":12345678901234567.891}'),
            ('{"A": [1.50, {"x": 0.10}]}', STRING, '[1.50, {"x":0.10}]'),
            ('{"A": ""}', STRING, ""), ('{"A": "a \\"quoted\\" one"}', STRING, 'a "quoted" one'),
            ('{"A": "\\u00fc and \\n"}', STRING, "ü and \n"), ('{"A": "Zürich 東京"}', STRING, "Zürich 東京"),
            ('{"A": "\\ud83d\\ude00"}', STRING, "😀"), ('{"A": "\\ud800"}', STRING, "?"),
        )
    ),
    # ---- values that do not fit; both decoders say where
    *(
        _json(f"{data} as {type_}", data, {"A": type_}, Bad(reason))
        for data, type_, reason in (
            ('{"A": "x"}', INTEGER, "$.A"), ('{"A": "1.5"}', INTEGER, "$.A"), ('{"A": 1}', BOOLEAN, "$.A"),
            ('{"A": true}', INTEGER, "$.A"), ('{"A": []}', INTEGER, "$.A"),
            ('{"A": 3000000000}', INTEGER, "$.A"), ('{"A": -2147483649}', INTEGER, "$.A"),
            ('{"A": 2147483648.0}', INTEGER, "$.A"), ('{"A": 9223372036854775808}', BIGINT, "$.A"),
            ('{"A": 1e19}', BIGINT, "$.A"), ('{"A": 1%s}' % ("0" * 400), DOUBLE, "$.A"),
            ('{"A": 1.555}', Decimal(4, 2), "$.A"), ('{"A": 123.5}', Decimal(4, 2), "$.A"),
            ('{"A": "1e999999999"}', Decimal(38, 2), "$.A"), ('{"A": 1e-999999999}', Decimal(38, 2), "$.A"),
            ('{"A": "2020-01-01"}', DATE, "$.A"), ('{"A": 3000000000}', DATE, "$.A"),
            ('{"A": 3000000000}', TIME, "$.A"), ('{"A": 9223372036854776}', TIMESTAMP, "$.A"),
            ('{"A": "9223372036854776"}', TIMESTAMP, "$.A"), ('{"A": "1.5"}', TIMESTAMP, "$.A"),
            ('{"A": "*"}', BYTES, "$.A"), ('{"A": "é"}', BYTES, "$.A"), ('{"A": 1}', Array(BIGINT), "$.A"),
            ('{"A": {"B": [1, "x"]}}', Struct((Field("B", Array(BIGINT)),)), "$.A.B[1]"),
            ("[1]", INTEGER, ""), ("[]", INTEGER, ""), ("1", INTEGER, ""), ("", INTEGER, ""),
            ("{", INTEGER, ""), ('{"A": 1', INTEGER, ""), ('{"A": NaN}', DOUBLE, ""),
            ('{"A": "\\x"}', STRING, ""), ('{"A": "a\nb"}', STRING, ""), ('{"A": "\\ud8"}', STRING, ""),
            ('{"A": "no end', STRING, ""),
            ('{"A": 1e9999999999999999999999}', DOUBLE, ""), ('{"A": 1e-9999999999}', BIGINT, ""),
            ('{"A": 0e-9999999999}', Decimal(4, 2), ""),
        )
    ),
    *(
        _json(f"{data} as {type_}", data, {"A": type_}, BAD)
        for type_ in (INTEGER, BIGINT, DOUBLE, Decimal(38, 2), DATE, TIMESTAMP)
        for data in ('{"A": 1e999999999}', '{"A": -1E999999999}', '{"A": 1e400}')
    ),
    # ---- names in another case
    *(
        _json(f"{data} as {list(columns)}", data, columns, row)
        for data, columns, row in (
            ('{"id": 1, "Name": "x"}', {"ID": INTEGER, "Name": STRING}, {"ID": 1, "Name": "x"}),
            ('{"a": 2}', {"a": INTEGER}, {"a": 2}), ('{"A": 2}', {"a": INTEGER}, {"a": None}),
            ('{"a": 1, "A": 2}', _ONE, {"A": 2}), ('{"A": 2, "a": 1}', _ONE, {"A": 2}),
            ('{"x": {"A": [1, {}]}}', _ONE, {"A": None}),
            ('{"a": "x", "b": 2}', {"A": BOOLEAN}, BAD),
            ('{"r": {"a": "x", "b": 2}}', {"R": Struct((Field("A", INTEGER),))}, BAD),
        )
    ),
    *(
        _json(f"{data}", data, _ONE, row)
        for other in ('"x"', '{"b": [1]}', "[{}, 2]", "1e99", "99999999999")
        for data, row in (
            (f'{{"a": {other}, "A": 2}}', {"A": 2}), (f'{{"A": 2, "a": {other}}}', {"A": 2}),
            (f'{{"a": {other}, "b": 2}}', BAD),
        )
    ),
    *(
        _json(f"{data} of 70 columns", data, {f"C{i}": INTEGER for i in range(70)},
              {f"C{i}": 1 if i == 69 else None for i in range(70)})
        for data in ('{"C69": 1, "c69": 2}', '{"c69": 2, "C69": 1}')
    ),
    _json("a DECIMAL of many digits", '{"A": 100000000000000000.10}', {"A": Decimal(20, 2)},
          {"A": 100000000000000000.10}),
    plain("bare -0.0", "JSON", "-0.0", {"A": Decimal(4, 2)}, {"A": 0.0}, wrapped=False),
    _json("a byte order mark and a byte", b'\xef\xbb\xbf{"A":1}\xff', _ONE, {"A": 1}),
    _json("many quotes in a text without an end", '{"A":' + "[" * 101 + '"' + '\\"' * 20_000, {"A": STRING},
          BAD),
    _json("schema and payload of Connect", '{"schema":{"type":"struct"},"payload":{"x":5}}',
          {"PAYLOAD": Struct((Field("X", INTEGER),))}, {"PAYLOAD": {"X": 5}}),
    _json("an envelope of Debezium", '{"before":null,"after":{"id":7,"d":19000},"ts_ms":1700000000123}',
          {"BEFORE": _ROW, "AFTER": _ROW, "TS_MS": TIMESTAMP},
          {"BEFORE": None, "AFTER": {"ID": 7, "D": 19000}, "TS_MS": MS}),
    _json("a structured CloudEvent", '{"specversion":"1.0","time":"2020-01-01T00:00Z","data_base64":"AQ=="}',
          {"TIME": STRING, "DATA_BASE64": BYTES}, {"TIME": "2020-01-01T00:00Z", "DATA_BASE64": "AQ=="}),
]  # fmt: skip
