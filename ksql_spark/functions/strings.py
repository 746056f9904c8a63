"""Functions on strings and byte strings (reference §4.2).

Positions count UTF-16 code units, as in ksqlDB, and regular expressions are Java's. Where Spark's functions
count or match differently, ours are used (Utf16Functions.java, PatternFunctions.java).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ksql_spark.functions.arithmetic import joined
from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spark_text import attempt, let, literal_text, string, unless_null, variable
from ksql_spark.functions.spec import (
    ALL_LIMITS,
    BY_ARGUMENTS,
    MAX_BYTES,
    MAX_ELEMENTS,
    Category,
    Example,
    Lowering,
    Spec,
    Typed,
    scalar,
)
from ksql_spark.types import BYTES, INTEGER, STRING, SqlType

Types = Sequence[SqlType]
_NO_BYTES = "cast(NULL as binary)"
#: no limit for a count
_MAX_LENGTH = str(2**31 - 1)
_NULL_STRING, _NULL_BYTES = Typed(None, STRING), Typed(None, BYTES)

#: a regular expression, as Spark SQL literal
_NOT_ASCII = string(r"[^\x00-\x7F]")

# ---- characters and encodings ----------------------------------------------------------------------------


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
    return _chosen(encoding, ways, _NO_BYTES)


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


# ---- concatenation ---------------------------------------------------------------------------------------


def _concat_ws(args: Sequence[str], _: Types) -> str:
    return f"ksql.join({args[0]}, array({', '.join(args[1:])}))"


# ---- positions -------------------------------------------------------------------------------------------


def _length(args: Sequence[str], types: Types) -> str:
    return f"octet_length({args[0]})" if types[0] == BYTES else f"ksql.length({args[0]})"


def _substring(args: Sequence[str], types: Types) -> str:
    value, position = args[:2]
    if types[0] == BYTES:
        if not position.isdigit():
            # Spark counts the length from before the start; so the start is adjusted first
            position = f"if({position} < 0, greatest(octet_length({value}) + {position} + 1, 1), {position})"
        return f"substring({', '.join((value, position, *args[2:]))})"
    counts = (position, args[2] if len(args) == 3 else _MAX_LENGTH)
    return unless_null(counts, f"ksql.substring({value}, {', '.join(counts)})")


def _left(args: Sequence[str], _: Types) -> str:
    return unless_null([args[1]], f"ksql.substring({args[0]}, 1, {args[1]})")


def _right(args: Sequence[str], _: Types) -> str:
    text, count = args
    # position 0 means the first character
    return unless_null(
        [count], f"if({count} > 0, ksql.substring({text}, (- {count}), {_MAX_LENGTH}), left({text}, 0))"
    )


def _pad(function: str) -> Lowering:
    def lower(args: Sequence[str], types: Types) -> str:
        value, size, padding = args
        if types[0] == BYTES:
            empty = f"octet_length({padding}) = 0"
            too_long = f"{size} > octet_length({value}) and not ksql.bytes_fit(cast({size} as bigint))"
            wrong = f"{size} < 0 or {empty} or ({too_long})"
            return f"if({wrong}, {_NO_BYTES}, {function}({value}, {size}, {padding}))"
        return unless_null([size], f"ksql.{function}({value}, {size}, {padding})")

    return lower


def _can_pad(args: Sequence[str], _: Types) -> str:
    value, size, padding = args
    return f"coalesce({value} is not null and {size} >= 0 and octet_length({padding}) > 0, false)"


def _instr(args: Sequence[str], _: Types) -> str:
    text, part = args[:2]
    counts = (*args[2:], "1", "1")[:2]
    return unless_null(counts, f"ksql.position({text}, {part}, {', '.join(counts)})")


# ---- masks -----------------------------------------------------------------------------------------------

_DEFAULT_MASKS = ("'X'", "'x'", "'n'", "'-'")


def _mask(args: Sequence[str], _: Types) -> str:
    """(text[, upper, lower, digit, other])"""
    return f"ksql.mask({', '.join((args[0], _MAX_LENGTH, *(args[1:] or _DEFAULT_MASKS)))})"


def _mask_part(function: str) -> Lowering:
    """(text, count[, upper, lower, digit, other])"""

    def lower(args: Sequence[str], _: Types) -> str:
        masks = ", ".join(args[2:] or _DEFAULT_MASKS)
        return unless_null(args[1:2], f"ksql.{function}({args[0]}, {args[1]}, {masks})")

    return lower


# ---- regular expressions and splitting -------------------------------------------------------------------


def _extract(function: str) -> Lowering:
    """(pattern, text[, group])"""

    def lower(args: Sequence[str], _: Types) -> str:
        group = args[2] if len(args) == 3 else "0"
        return unless_null([group], f"ksql.{function}({args[0]}, {args[1]}, {group})")

    return lower


def _split(args: Sequence[str], types: Types) -> str:
    text, delimiter = args
    if types[0] == STRING:
        return f"ksql.split({text}, {delimiter})"
    # one character per byte, both ways
    pieces = f"ksql.split(decode({text}, 'ISO-8859-1'), decode({delimiter}, 'ISO-8859-1'))"
    p = variable(pieces)
    return f"transform({pieces}, {p} -> encode({p}, 'ISO-8859-1'))"


def _can_split_to_map(args: Sequence[str], _: Types) -> str:
    text, entry, assign = args
    return f"coalesce({text} is not null and {entry} <> '' and {assign} <> '' and {entry} <> {assign}, false)"


def _uuid(args: Sequence[str], _: Types) -> str:
    if not args:
        return "uuid()"
    groups = string("(.{8})(.{4})(.{4})(.{4})(.{12})")
    return (
        f"if(octet_length({args[0]}) = 16, "
        f"regexp_replace(lower(hex({args[0]})), {groups}, '$1-$2-$3-$4-$5'), NULL)"
    )


# ---- specs -----------------------------------------------------------------------------------------------

_TEXT = {"text": "any text"}
_ENCODING = {"encoding": "hex, utf8, ascii or base64"}
_MASKS = {
    "upper": "the mask for upper-case letters; NULL keeps them",
    "lower": "the mask for lower-case letters; NULL keeps them",
    "digit": "the mask for digits; NULL keeps them",
    "other": "the mask for all other characters; NULL keeps them",
}
_COUNT = {"count": "how many characters"}


def _text_function(
    name: str, description: str, function: str, *examples: Example, aliases: tuple[str, ...] = ()
) -> Spec:
    return scalar(
        name,
        Category.STRING,
        description,
        (signature("text STRING -> STRING"),),
        lambda args, _: function.format(args[0]),
        *examples,
        parameters=_TEXT,
        aliases=aliases,
        limits=BY_ARGUMENTS,
    )


def _mask_spec(name: str, description: str, *examples: Example) -> Spec:
    return scalar(
        name,
        Category.STRING,
        description,
        (
            signature("text STRING, count INTEGER -> STRING"),
            signature(
                "text STRING, count INTEGER, upper STRING, lower STRING, digit STRING, other STRING -> STRING"
            ),
        ),
        _mask_part(name.lower()),
        *examples,
        parameters=_TEXT | _COUNT | _MASKS,
        can_fail=True,
        limits=BY_ARGUMENTS,
    )


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
        "CONCAT",
        Category.STRING,
        "Concatenates the arguments; NULLs are skipped.",
        (signature("value STRING... -> STRING"), signature("value BYTES... -> BYTES")),
        joined,
        Example(("a", _NULL_STRING, "b"), "ab"),
        Example((_NULL_STRING, _NULL_STRING), ""),
        Example((b"\x01", b"\x02"), b"\x01\x02"),
        parameters={"value": "what to join"},
        limits=(MAX_BYTES,),
        failed=lambda args, _: "true",
    ),
    scalar(
        "CONCAT_WS",
        Category.STRING,
        "Concatenates the values with a separator; NULL values are skipped.",
        (
            signature("separator STRING, value STRING... -> STRING"),
            signature("separator BYTES, value BYTES... -> BYTES"),
        ),
        _concat_ws,
        Example((", ", "a", _NULL_STRING, "b"), "a, b"),
        Example((_NULL_STRING, "a"), None),
        Example((b"\x00", b"\x01", _NULL_BYTES, b"\x02"), b"\x01\x00\x02"),
        parameters={"separator": "the separator", "value": "what to join"},
        limits=(MAX_BYTES,),
        failed=lambda args, _: f"{args[0]} is not null",
    ),
    scalar(
        "ELT",
        Category.STRING,
        "The n-th of the other arguments; NULL if it does not exist.",
        (signature("n INTEGER, value STRING... -> STRING"),),
        lambda args, _: f"elt({', '.join(args)})",
        Example((2, "a", "b"), "b"),
        Example((3, "a", "b"), None),
        Example((0, "a", "b"), None),
        parameters={"n": "from 1", "value": "the candidates"},
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "FIELD",
        Category.STRING,
        "The position of a text among the other arguments, from 1; 0 if it is not among them.",
        (signature("text STRING, value STRING... -> INTEGER"),),
        lambda args, _: f"cast(coalesce(array_position(array({', '.join(args[1:])}), {args[0]}), 0) as int)",
        Example(("b", "a", _NULL_STRING, "b"), 3),
        Example(("x", "a"), 0),
        Example((_NULL_STRING, "a"), 0),
        parameters={"text": "what to look for", "value": "where to look"},
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
        parameters=_TEXT
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
        parameters=_TEXT | _ENCODING,
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
        "INITCAP",
        Category.STRING,
        "The text with the first letter of each word in upper case and all others in lower case.",
        (signature("text STRING -> STRING"),),
        lambda args, _: f"ksql.initial_capitals({args[0]})",
        Example(("the   Quick br0wn fOx",), "The   Quick Br0wn Fox"),
        Example((" a\tb",), "A\tB"),
        parameters=_TEXT,
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "INSTR",
        Category.STRING,
        "The position of a part in a text, from 1; 0 if the text does not contain it.",
        (
            signature("text STRING, part STRING -> INTEGER"),
            signature("text STRING, part STRING, position INTEGER -> INTEGER"),
            signature("text STRING, part STRING, position INTEGER, occurrence INTEGER -> INTEGER"),
        ),
        _instr,
        Example(("corporate floor", "or"), 2),
        Example(("corporate floor", "or", 3), 5),
        Example(("corporate floor", "or", 4, 2), 14),
        Example(("corporate floor", "or", -4), 5),
        Example(("corporate floor", "or", -4, 2), 2),
        Example(("short", "or", 40), 0),
        Example((_NULL_STRING, "or"), 0),
        parameters=_TEXT
        | {
            "part": "what to look for",
            "position": "where to start; negative positions count from the end and search backwards",
            "occurrence": "which match",
        },
        aliases=("STRPOS",),
    ),
    _text_function(
        "LCASE", "The text in lower case.", "lower({})", Example(("Abc",), "abc"), aliases=("LOWER",)
    ),
    _text_function(
        "UCASE", "The text in upper case.", "upper({})", Example(("Abc",), "ABC"), aliases=("UPPER",)
    ),
    _text_function(
        "TRIM",
        "The text without leading and trailing blanks and control characters.",
        "ksql.trim({})",
        Example((" \n a b\t",), "a b"),
    ),
    scalar(
        "LEN",
        Category.STRING,
        "The length of a text in UTF-16 code units, or of BYTES in bytes.",
        (signature("text STRING -> INTEGER"), signature("bytes BYTES -> INTEGER")),
        _length,
        Example(("Übermensch",), 10),
        Example(("a😀",), 3),
        Example((b"\x00\x01",), 2),
        parameters=_TEXT | {"bytes": "any bytes"},
        aliases=("LENGTH", "CHAR_LENGTH", "CHARACTER_LENGTH"),
    ),
    *(
        scalar(
            name,
            Category.STRING,
            f"The value padded {where} to a length, or cut to it.",
            (
                signature("value STRING, length INTEGER, padding STRING -> STRING"),
                signature("value BYTES, length INTEGER, padding BYTES -> BYTES"),
            ),
            _pad(name.lower()),
            *examples,
            Example(("abc", 2, "x"), "ab"),
            Example(("abc", 5, ""), None),
            Example(("abc", -1, "x"), None),
            parameters={"value": "what to fill up", "length": "how long", "padding": "with what"},
            limits=(MAX_BYTES,),
            failed=_can_pad,
        )
        for name, where, examples in (
            (
                "LPAD",
                "on the left",
                (Example(("abc", 7, "xy"), "xyxyabc"), Example((b"a", 2, b"\0"), b"\0a")),
            ),
            (
                "RPAD",
                "on the right",
                (Example(("abc", 6, "xy"), "abcxyx"), Example((b"a", 2, b"\0"), b"a\0")),
            ),
        )
    ),
    scalar(
        "MASK",
        Category.STRING,
        "The text with each character replaced by a mask for its kind.",
        (
            signature("text STRING -> STRING"),
            signature("text STRING, upper STRING, lower STRING, digit STRING, other STRING -> STRING"),
        ),
        _mask,
        Example(("My Test $123",), "Xx-Xxxx--nnn"),
        Example(("aB1-", "Q", _NULL_STRING, "9", "*"), "aQ9*"),
        Example(("", "Q", "q", "9", "*"), ""),
        Example(("aB1-", "QQ", "q", "9", "*"), None),
        parameters=_TEXT | _MASKS,
        limits=BY_ARGUMENTS,
    ),
    _mask_spec(
        "MASK_LEFT",
        "The text with its first characters masked.",
        Example(("aB1-cd", 4), "xXn-cd"),
        Example(("ab", 5), "xx"),
        Example(("ab", -1), None),
    ),
    _mask_spec(
        "MASK_RIGHT",
        "The text with its last characters masked.",
        Example(("aB1-cd", 3), "aB1-xx"),
        Example(("ab", 5), "xx"),
    ),
    _mask_spec(
        "MASK_KEEP_LEFT",
        "The text masked except for its first characters.",
        Example(("aB1-cd", 2), "aBn-xx"),
    ),
    _mask_spec(
        "MASK_KEEP_RIGHT",
        "The text masked except for its last characters.",
        Example(("aB1-cd", 2), "xXn-cd"),
        Example(("aB1-cd", 2, "A", "b", "c", "d"), "bAcdcd"),
    ),
    _text_function(
        "MD5",
        "The MD5 digest of the text in hex digits.",
        "md5({})",
        Example(("abc",), "900150983cd24fb0d6963f7d28e17f72"),
    ),
    scalar(
        "REPLACE",
        Category.STRING,
        "The text with all occurrences of a part replaced.",
        (signature("text STRING, part STRING, replacement STRING -> STRING"),),
        lambda args, _: f"ksql.replace({', '.join(args)})",
        Example(("a.b.c", ".", "-"), "a-b-c"),
        parameters=_TEXT | {"part": "what to replace", "replacement": "with what"},
        limits=(MAX_BYTES,),
    ),
    scalar(
        "REGEXP_EXTRACT",
        Category.REGULAR_EXPRESSION,
        "The first match of a regular expression, or one of its groups; NULL if there is no match.",
        (
            signature("pattern STRING, text STRING -> STRING"),
            signature("pattern STRING, text STRING, group INTEGER -> STRING"),
        ),
        _extract("regexp_extract"),
        Example(("b.", "abcbd"), "bc"),
        Example(("(.*) (.*)", "steven zhang", 2), "zhang"),
        Example(("(.*) (.*)", "agavra", 2), None),
        Example(("(.*) (.*)", "steven zhang", 3), None),
        Example(("(", "steven zhang"), None),
        parameters={"pattern": "a regular expression", "text": "any text", "group": "which group; 0: all"},
        can_fail=True,
        failed=lambda args, _: f"ksql.regexp_gives_up({args[0]}, {args[1]})",
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "REGEXP_EXTRACT_ALL",
        Category.REGULAR_EXPRESSION,
        "All matches of a regular expression, or of one of its groups.",
        (
            signature("pattern STRING, text STRING -> ARRAY<STRING>"),
            signature("pattern STRING, text STRING, group INTEGER -> ARRAY<STRING>"),
        ),
        _extract("regexp_extract_all"),
        Example(("test.", "some_test_string_testabab"), ["test_", "testa"]),
        Example(("test.", "nothing"), []),
        Example(("(\\w+) (\\w*)", "apurva mehta agavra ", 2), ["mehta", ""]),
        Example(("(\\w+)", "a", 2), None),
        Example(("[", "a"), None),
        parameters={"pattern": "a regular expression", "text": "any text", "group": "which group; 0: all"},
        can_fail=True,
        limits=(MAX_ELEMENTS, MAX_BYTES),
    ),
    scalar(
        "REGEXP_REPLACE",
        Category.REGULAR_EXPRESSION,
        "The text with all matches of a regular expression replaced; $1 stands for a group.",
        (signature("text STRING, pattern STRING, replacement STRING -> STRING"),),
        lambda args, _: f"ksql.regexp_replace({', '.join(args)})",
        Example(("abc", "(b)", "<$1>"), "a<b>c"),
        Example(("abc", "(b", "x"), None),
        Example(("abc", "b", "$1"), None),
        parameters=_TEXT | {"pattern": "a regular expression", "replacement": "with what"},
        can_fail=True,
        limits=(MAX_BYTES,),
    ),
    scalar(
        "REGEXP_SPLIT_TO_ARRAY",
        Category.REGULAR_EXPRESSION,
        "Splits a text at the matches of a regular expression.",
        (signature("text STRING, pattern STRING -> ARRAY<STRING>"),),
        lambda args, _: f"ksql.regexp_split({', '.join(args)})",
        Example(("a1b22c", "[0-9]"), ["a", "b", "", "c"]),
        Example(("abc", ""), ["a", "b", "c"]),
        Example(("abc", "["), None),
        parameters=_TEXT | {"pattern": "a regular expression"},
        can_fail=True,
        limits=(MAX_ELEMENTS,),
    ),
    scalar(
        "SPLIT",
        Category.STRING,
        "Splits a text or bytes at a delimiter; an empty delimiter gives single characters.",
        (
            signature("text STRING, delimiter STRING -> ARRAY<STRING>"),
            signature("bytes BYTES, delimiter BYTES -> ARRAY<BYTES>"),
        ),
        _split,
        Example((".a..b.", "."), ["", "a", "", "b", ""]),
        Example(("abc", ""), ["a", "b", "c"]),
        Example((b"\xff\x00\x01", b"\x00"), [b"\xff", b"\x01"]),
        parameters=_TEXT | {"bytes": "any bytes", "delimiter": "what stands between"},
        limits=(MAX_ELEMENTS,),
    ),
    scalar(
        "SPLIT_TO_MAP",
        Category.MAP,
        "Splits a text such as a=1;b=2 into a map.",
        (signature("text STRING, entry STRING, assign STRING -> MAP<STRING, STRING>"),),
        lambda args, _: f"ksql.split_to_map({', '.join(args)})",
        Example(("a=1;b=2=x;c;a=3", ";", "="), {"a": "3", "b": "2"}),
        Example(("a=1", "=", "="), None),
        Example(("a=1", ";", _NULL_STRING), None),
        parameters=_TEXT | {"entry": "separates entries", "assign": "separates keys from values"},
        limits=(MAX_ELEMENTS,),
        failed=_can_split_to_map,
    ),
    scalar(
        "SUBSTRING",
        Category.STRING,
        "A part of a text or of bytes from a position, with an optional maximum length.",
        (
            signature("value STRING, position INTEGER -> STRING"),
            signature("value STRING, position INTEGER, length INTEGER -> STRING"),
            signature("value BYTES, position INTEGER -> BYTES"),
            signature("value BYTES, position INTEGER, length INTEGER -> BYTES"),
        ),
        _substring,
        Example(("stream", 2), "tream"),
        Example(("stream", 2, 3), "tre"),
        Example(("stream", -3), "eam"),
        Example(("abc", -5, 3), "abc"),
        Example(("abc", 0, 2), "ab"),
        Example(("abc", 2, -1), ""),
        Example(("abc", 9), ""),
        Example((b"\x01\x02\x03", -2, 1), b"\x02"),
        parameters={
            "value": "any text or bytes",
            "position": "from 1, or from -1 at the end",
            "length": "the maximum length",
        },
        aliases=("SUBSTR",),
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "LEFT",
        Category.STRING,
        "The first characters of a text.",
        (signature("text STRING, count INTEGER -> STRING"),),
        _left,
        Example(("stream", 2), "st"),
        Example(("stream", 9), "stream"),
        Example(("stream", -1), ""),
        Example((_NULL_STRING, 2), None),
        parameters=_TEXT | _COUNT,
        is_ours=True,
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "RIGHT",
        Category.STRING,
        "The last characters of a text.",
        (signature("text STRING, count INTEGER -> STRING"),),
        _right,
        Example(("stream", 2), "am"),
        Example(("stream", 9), "stream"),
        Example(("stream", 0), ""),
        Example((_NULL_STRING, 2), None),
        parameters=_TEXT | _COUNT,
        is_ours=True,
        limits=BY_ARGUMENTS,
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
