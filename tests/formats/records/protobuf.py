"""Records in PROTOBUF, as other producers write them."""

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
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
)
from tests.formats.records.record import (
    BAD,
    Bad,
    Record,
    framed,
    plain,
    protobuf,
    record,
    sized,
    whole,
)

_PROTO2 = """syntax = "proto2"; message M {
  enum E { X = 1; Y = 2; }
  optional int32 a = 1 [default = -5]; optional string b = 2 [default = "it's \\"x\\""];
  optional bool c = 3 [default = true]; optional E e = 4 [default = Y];
  optional double d = 5 [default = -1.5e3];
  optional sint64 s = 6 [default = -7]; optional fixed32 f = 7 [default = 0xFF]; optional int32 n = 8;
}"""
_DEFAULTED: dict[str, SqlType] = {
    "A": INTEGER, "B": STRING, "C": BOOLEAN, "E": STRING, "D": DOUBLE, "S": BIGINT, "F": BIGINT, "N": INTEGER,
}  # fmt: skip
_ONE_OF = """message M {
  oneof c { int32 x = 1; int32 y = 2; N n = 300; }
  M m = 4; repeated M l = 5; map<string, M> t = 6; message N {}
}"""
_CHOSEN: dict[str, SqlType] = {"C_0": Struct((Field("X", INTEGER),))}
_IN_ONE = Struct((Field("C_0", _CHOSEN["C_0"]),))
_ENTRY = Map(STRING, Struct((Field("S", STRING),)))
_ONE: dict[str, SqlType] = {"A": INTEGER}


def _protobuf(name: str, fields: str, columns: Mapping[str, SqlType], body: str, row: Any) -> Record:
    """A record in hexadecimal digits of a message of version 3."""
    schema = f'syntax = "proto3"; message M {{ {fields} }}'
    return protobuf(name, schema, columns, bytes.fromhex(body), row)


PROTOBUF = [
    protobuf("defaults of proto2", _PROTO2, _DEFAULTED, b"",
              {"A": -5, "B": 'it\'s "x"', "C": True, "E": "Y", "D": -1500.0, "S": -7, "F": 255, "N": None}),
    protobuf("instead of defaults of proto2", _PROTO2, {"A": INTEGER, "E": STRING},
              whole(1, 0) + whole(4, 1), {"A": 0, "E": "X"}),
    *(
        protobuf(name, f'syntax = "proto3"; {text}', _ONE, whole(1, 5), {"A": 5})
        for name, text in {
            "hexadecimal numbers of fields": "message M { int32 a = 0x1; }",
            "comments anywhere": "message M { int32 /* it's */ a = 1 /* b */ ; // c }\n }",
            "a comment before a brace": "message M { int32 a = 1; /* ü */ }",
            "comments in texts": 'option java_package = "/* // 0x1"; message M { int32 a = 1; }',
        }.items()
    ),
    protobuf("a byte order mark", '\ufeffsyntax = "proto3"; message M { int32 a = 1; }', _ONE,
              whole(1, 5), {"A": 5}),
    protobuf("packed and not packed",
              'syntax = "proto3"; message M { repeated int32 a = 1; repeated bool b = 2 [packed = true]; }',
              {"A": Array(INTEGER), "B": Array(BOOLEAN)},
              whole(1, 5) + sized(1, b"\6\7") + whole(2, 1) + whole(1, 8),
              {"A": [5, 6, 7, 8], "B": [True]}),
    protobuf("maps of messages",
              'syntax = "proto3"; message M { map<int64, V> m = 1; message V { string s = 1; } }',
              {"M": _ENTRY}, sized(1, whole(1, 5) + sized(2, sized(1, b"x"))), {"M": {"5": {"S": "x"}}}),
    protobuf("wrappers",
              "message M { optional google.protobuf.Int64Value a = 1;"
              " optional google.protobuf.BoolValue b = 2; }",
              {"A": BIGINT, "B": BOOLEAN}, sized(1, b""), {"A": 0, "B": None}),
    *(
        protobuf(f"oneof with {name}", f'syntax = "proto3"; {_ONE_OF}', columns, body, row)
        for name, columns, body, row in (
            ("a declared alternative", _CHOSEN, whole(1, 5), {"C_0": {"X": 5}}),
            ("no alternative", _CHOSEN, b"", {"C_0": None}),
            ("an undeclared one", _CHOSEN, whole(2, 5), {"C_0": {"X": None}}),
            ("an undeclared message", _CHOSEN, sized(300, b""), {"C_0": {"X": None}}),
            ("another type of number", _CHOSEN, sized(2, b"\5"), {"C_0": None}),
            ("two, the last undeclared", _CHOSEN, whole(1, 5) + whole(2, 5), {"C_0": {"X": None}}),
            ("two, the last declared", _CHOSEN, whole(2, 5) + whole(1, 5), {"C_0": {"X": 5}}),
            ("a column of its own", {**_CHOSEN, "Y": INTEGER}, whole(2, 5), {"C_0": {"X": None}, "Y": 5}),
            ("a column of its own before", {"Y": INTEGER, **_CHOSEN}, whole(2, 5),
             {"Y": 5, "C_0": {"X": None}}),
            ("an undeclared one in a message", {"M": _IN_ONE}, sized(4, whole(2, 5)),
             {"M": {"C_0": {"X": None}}}),
            ("an undeclared one in a list", {"L": Array(_IN_ONE)},
             sized(5, whole(2, 5)) + sized(5, b"") + sized(5, whole(1, 5)),
             {"L": [{"C_0": {"X": None}}, {"C_0": None}, {"C_0": {"X": 5}}]}),
            ("an undeclared one in a map", {"T": Map(STRING, _IN_ONE)},
             sized(6, sized(1, b"k") + sized(2, whole(2, 5))), {"T": {"k": {"C_0": {"X": None}}}}),
            ("a column that is not a STRUCT", {"C_0": STRING}, whole(1, 5), BAD),
        )
    ),
    protobuf("Any", 'syntax = "proto3"; message M { google.protobuf.Any a = 1; }',
              {"A": Struct((Field("TYPE_URL", STRING), Field("VALUE", BYTES)))},
              sized(1, sized(1, b"t/x") + sized(2, b"\1")), {"A": {"TYPE_URL": "t/x", "VALUE": "AQ=="}}),
    protobuf("TimeOfDay as INTEGER", "message M { optional google.type.TimeOfDay t = 1; }", {"T": INTEGER},
             sized(1, whole(3, 1)), BAD),
    _protobuf("unknown fields", "M inner = 1; int64 a = 2; string other = 3;", {"A": BIGINT, "MORE": STRING},
              "0a020a00 1005 1a0178 980600 a30608 01a406", {"A": 5, "MORE": None}),
    _protobuf("a field of another wire type", "int32 a = 1;", _ONE, "0a0178", {"A": 0}),
    _protobuf("a number that is not in an enum", "E e = 1; enum E { NONE = 0; }", {"E": STRING}, "0809",
              {"E": "9"}),
    *(
        _protobuf(f"{name} {body}", "string a = 1; int64 b = 2; google.type.Date c = 3;", columns, body, row)
        for name, columns, body, row in (
            ("a text that is cut off", {"A": STRING}, "0a05616263", Bad("It is not a Protobuf message")),
            ("a text that is no UTF-8", {"A": STRING}, "0a01ff", BAD),
            ("a number that is too large", {"B": INTEGER}, "108080808010", BAD),
            ("an empty date", {"C": DATE}, "1a00", {"C": None}),
            ("a date of month 13", {"C": DATE}, "1a02100d", Bad("no date of year 0, month 13, day 0")),
            ("30 February", {"C": DATE}, "1a0708e70f1002181e", Bad("no date of year 2023, month 2, day 30")),
            ("a group that ends", {"A": STRING}, "0c", BAD), ("a field 0", {"A": STRING}, "8000", BAD),
            ("a text as INTEGER", _ONE, "", Bad("A is of the Protobuf type string, which does not fit")),
        )
    ),
    *(
        _protobuf(body, "string a = 1; int64 b = 2; repeated int32 c = 3;",
                  {"A": STRING, "B": BIGINT, "C": Array(INTEGER)}, body, row)
        for body, row in (
            (f"10 {'ff' * 9}01 1001 10 {'ff' * 9}01", {"A": "", "B": -1, "C": []}),
            # lengths and numbers that do not end
            *((begin + "80" * 9 + "01" + end, BAD) for begin, end in
              (("0a", ""), ("1a", ""), ("7a", ""), ("7b7a", "7c"))),
            *((begin + "ff" * 10 + "1801" * 7, BAD) for begin in ("10", "18", "78")),
        )
    ),
    # such as google.type.Money, which serializers do not register
    *(
        _protobuf(f"types that are not there, {list(columns)}",
                  "google.type.Money m = 1; google.protobuf.Struct s = 2; int32 a = 3;", columns,
                  "0a021001 1200 1805", row)
        for columns, row in ((_ONE, {"A": 5}), ({"M": INTEGER}, BAD))
    ),
    *(
        protobuf(f"edition 2023 {feature}",
                 f"edition = '2023'; {feature} message M {{ int32 a = 1; string b = 2; }}",
                 {"A": INTEGER, "B": STRING}, whole(1, 5), {"A": 5, "B": absent})
        for feature, absent in (("", None), ("option features.field_presence = IMPLICIT;", ""))
    ),
    *(
        record(f"PROTOBUF place {place!r}", serde, data[:5] + place + data[6:], row)
        for serde, data in [framed("message M { optional int32 a = 1; }", "PROTOBUF", _ONE, b"\0\x08\5")]
        for place, row in ((b"\0", {"A": 5}), (b"\1", Bad("place")), (b"\2\x08", BAD))
    ),
    *(
        plain(name, "PROTOBUF_NOSR", data, {"A": type_}, row if row is BAD else {"A": row})
        for name, data, type_, row in (
            ("a decimal whose scale no number has", b"\x0a\x0c\x0a\1\5\x18\x80\x80\x80\x80\xf8\xff\xff\xff\1",
             Decimal(10, 2), BAD),
            # fields of another wire type are skipped, as unknown ones are
            ("a number for a text in a map", b"\x0a\5\x0a\1k\x10\7", Map(STRING, Decimal(4, 1)), {"k": None}),
            ("a field without its value", b"\x08", INTEGER, BAD), ("a group", b"\x0b", INTEGER, BAD),
            ("a text that is cut off", b"\x0a\5abc", STRING, BAD),
        )
    ),
    *(
        plain(f"{data!r}", "PROTOBUF", data, _ONE, BAD) for data in (b"x", b"\0\0\0\x27\x0f\0")
    ),
]  # fmt: skip
