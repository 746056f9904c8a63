"""Functions that encode: characters by code, texts and numbers as bytes (reference §4.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ksql_spark.functions.scalars.strings import NO_BYTES, TEXT, Types
from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spark_text import attempt, let, literal_text, string, unless_null
from ksql_spark.functions.spec import (
    ALL_LIMITS,
    BY_ARGUMENTS,
    Category,
    Example,
    Spec,
    scalar,
)
from ksql_spark.types import INTEGER

#: a regular expression, as Spark SQL literal
_NOT_ASCII = string(r"[^\x00-\x7F]")


def _chr(args: Sequence[str], types: Types) -> str:
    if types[0] == INTEGER:
        # Spark's chr stops at 255
        return unless_null(args, f"ksql.code_point({args[0]})")
    escape, prefix = string(r"^(\\u[0-9A-Fa-f]{4})+$"), string("\\u")
    decoded = f"decode(unhex(replace({{s}}, {prefix}, '')), 'UTF-16BE')"
    return let(
        args[0],
        lambda s: f"if({s} rlike {escape}, {attempt(decoded.format(s=s))}, NULL)",
    )


def _hex_to_bytes(text: str) -> str:
    """Hex digits, plain, as 0x... or as X'...'; an odd number of digits is an error except after 0x."""

    def read(s: str) -> str:
        # X and the quotes are three more characters
        quotes = string("^[xX]'.*'$")
        quoted = f"{s} rlike {quotes}"
        return (
            f"(case when {s} like '0x%' then unhex(substr({s}, 3)) when length({s}) % 2 = 1 "
            f"then if({quoted}, unhex(substr({s}, 3, length({s}) - 3)), NULL) else unhex({s}) end)"
        )

    return let(text, read)


def _to_bytes(text: str, encoding: str) -> str:
    ascii_only = f"regexp_replace({text}, {_NOT_ASCII}, '?')"
    ways = {
        "utf8": f"cast({text} as binary)",
        "hex": _hex_to_bytes(text),
        "ascii": f"cast({ascii_only} as binary)",
        "base64": f"try_to_binary({text}, 'base64')",
    }
    return _chosen(encoding, ways, NO_BYTES)


def _from_bytes(data: str, encoding: str, *, hexadecimal: Callable[[str], str]) -> str:
    ways = {
        "utf8": f"try_validate_utf8(cast({data} as string))",
        "hex": hexadecimal(data),
        "ascii": f"regexp_replace(decode({data}, 'ISO-8859-1'), {_NOT_ASCII}, '\ufffd')",
        "base64": f"base64({data})",
    }
    return _chosen(encoding, ways, "cast(NULL as string)")


def _chosen(encoding: str, ways: Mapping[str, str], nothing: str) -> str:
    """One of ``ways`` by the name of an encoding, which is nearly always a constant."""
    constant = literal_text(encoding)
    if constant is not None:
        return ways.get(constant.lower(), nothing)
    cases = " ".join(f"when '{name}' then {way}" for name, way in ways.items())
    return f"(case lower({encoding}) {cases} end)"


def _upper_hex(data: str) -> str:
    return f"hex({data})"


def _lower_hex(data: str) -> str:
    return f"lower(hex({data}))"


def _encode(args: Sequence[str], _: Types) -> str:
    text, source, target = args
    constants = literal_text(source), literal_text(target)
    same = f"lower({source}) = lower({target})"
    if constants[0] is not None and constants[1] is not None:
        same = "true" if constants[0].lower() == constants[1].lower() else "false"
    coded = let(_to_bytes(text, source), lambda b: _from_bytes(b, target, hexadecimal=_lower_hex))
    return f"if({same}, NULL, {coded})"


def _ordered_bytes(args: Sequence[str], size: int, read: Any) -> str:
    data = args[0]
    if len(args) == 2:
        little = f"when 'LITTLE_ENDIAN' then reverse({data})"
        data = f"(case upper({args[1]}) when 'BIG_ENDIAN' then {data} {little} end)"
    return let(data, lambda b: f"if(octet_length({b}) = {size}, {read(b)}, NULL)")


def _bigint(data: str) -> str:
    return f"cast(conv(hex({data}), 16, -10) as bigint)"


def _uuid(args: Sequence[str], _: Types) -> str:
    if not args:
        return "uuid()"
    groups = string("(.{8})(.{4})(.{4})(.{4})(.{12})")
    return (
        f"if(octet_length({args[0]}) = 16, "
        f"regexp_replace(lower(hex({args[0]})), {groups}, '$1-$2-$3-$4-$5'), NULL)"
    )


_ENCODING = {"encoding": "hex, utf8, ascii or base64"}


def _number_from_bytes(name: str, type_: str, size: int, read: Any, *examples: Example) -> Spec:
    return scalar(
        name,
        Category.CONVERSIONS,
        f"The {type_} in {size} bytes; NULL for other lengths.",
        (signature(f"bytes BYTES -> {type_}"), signature(f"bytes BYTES, order STRING -> {type_}")),
        lambda args, _: _ordered_bytes(args, size, read),
        *examples,
        parameters={"bytes": f"{size} bytes", "order": "BIG_ENDIAN (default) or LITTLE_ENDIAN"},
        can_fail=True,
    )


SPECS: tuple[Spec, ...] = (
    scalar(
        "CHR",
        Category.STRING,
        "The character of a code point, or of an escape such as \\u004b.",
        (signature("code INTEGER -> STRING"), signature("escape STRING -> STRING")),
        _chr,
        Example((75,), "K"),
        Example((99000,), "𘊸"),
        Example((-1,), None),
        Example(("\\u597d",), "好"),
        Example(("\\ud820\\udeb8",), "𘊸"),
        Example(("75",), None),
        Example(("\\ud820",), None),
        parameters={"code": "a Unicode code point", "escape": "one or more of \\uXXXX"},
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "ENCODE",
        Category.CONVERSIONS,
        "Converts text from one encoding to another.",
        (signature("text STRING, source STRING, target STRING -> STRING"),),
        _encode,
        Example(("4578616d706C6521", "hex", "ascii"), "Example!"),
        Example(("X'4578'", "hex", "utf8"), "Ex"),
        Example(("0x457", "hex", "base64"), "BFc="),
        Example(("X'457'", "hex", "base64"), None),
        Example(("Ελ", "ascii", "hex"), "3f3f"),
        Example(("zpU=", "base64", "ascii"), "\ufffd\ufffd"),
        Example(("a", "utf8", "utf8"), None),
        Example(("a", "utf8", "latin"), None),
        parameters=TEXT
        | {
            "source": "hex, utf8, ascii or base64",
            "target": "the target encoding: hex, utf8, ascii or base64",
        },
        can_fail=True,
        limits=ALL_LIMITS,
        grows=True,
    ),
    scalar(
        "TO_BYTES",
        Category.CONVERSIONS,
        "Decodes a text in an encoding to bytes.",
        (signature("text STRING, encoding STRING -> BYTES"),),
        lambda args, _: _to_bytes(args[0], args[1]),
        Example(("21", "hex"), b"!"),
        Example(("é", "utf8"), b"\xc3\xa9"),
        Example(("IQ==", "base64"), b"!"),
        Example(("zz", "hex"), None),
        parameters=TEXT | _ENCODING,
        can_fail=True,
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "FROM_BYTES",
        Category.CONVERSIONS,
        "Encodes bytes as text.",
        (signature("bytes BYTES, encoding STRING -> STRING"),),
        lambda args, _: _from_bytes(args[0], args[1], hexadecimal=_upper_hex),
        Example((b"\x0a\xff", "hex"), "0AFF"),
        Example((b"\xc3\xa9", "utf8"), "é"),
        Example((b"a\xff", "utf8"), None),
        Example((b"!", "base64"), "IQ=="),
        Example((b"012" * 20, "base64"), "MDEy" * 20),
        parameters={"bytes": "any bytes"} | _ENCODING,
        can_fail=True,
        limits=ALL_LIMITS,
        grows=True,
    ),
    scalar(
        "UUID",
        Category.STRING,
        "A new random UUID, or the UUID in 16 bytes.",
        (signature("-> STRING"), signature("bytes BYTES -> STRING")),
        _uuid,
        Example((bytes(range(16)),), "00010203-0405-0607-0809-0a0b0c0d0e0f"),
        Example((b"\x00",), None),
        parameters={"bytes": "16 bytes"},
        is_deterministic=False,
        limits=BY_ARGUMENTS,
    ),
    _number_from_bytes(
        "INT_FROM_BYTES",
        "INTEGER",
        4,
        lambda b: f"cast({_bigint(b)} as int)",
        Example((b"\xff\xff\xff\xfe",), -2),
        Example((b"\x01\x00\x00\x00", "LITTLE_ENDIAN"), 1),
        Example((b"\x01",), None),
        Example((b"\x01\x00\x00\x00", "MIDDLE"), None),
    ),
    _number_from_bytes(
        "BIGINT_FROM_BYTES", "BIGINT", 8, _bigint, Example((b"\xff" * 8,), -1), Example((b"",), None)
    ),
    _number_from_bytes(
        "DOUBLE_FROM_BYTES",
        "DOUBLE",
        8,
        lambda b: f"ksql.kafka_double_decode({b})",
        Example((b"\x3f\xf8\0\0\0\0\0\0",), 1.5),
        Example((b"\0\0\0\0\0\0\xf8\x3f", "little_endian"), 1.5),
    ),
)
