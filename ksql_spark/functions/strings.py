"""Functions on strings and byte strings (reference §4.2).

Positions count code points in Spark, UTF-16 units in ksqlDB: they differ beyond the Basic Multilingual Plane
only, and LEN is exact there too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ksql_spark.functions.operators import from_entries
from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spark_text import attempt, let, literal_text, string, variable
from ksql_spark.functions.spec import Category, Example, Lowering, Spec, Typed, scalar
from ksql_spark.types import BYTES, INTEGER, STRING, SqlType

Types = Sequence[SqlType]
_NO_TEXT, _NO_BYTES = "cast(NULL as string)", "cast(NULL as binary)"
_NULL_STRING, _NULL_BYTES = Typed(None, STRING), Typed(None, BYTES)

#: regular expressions, as Spark SQL literals
_NOT_ASCII, _WORDS = string(r"[^\x00-\x7F]"), string(r"\S+\s*")
_UPPER, _LOWER, _DIGIT = string(r"\p{Lu}"), string(r"\p{Ll}"), string(r"\p{Nd}")

# ---- characters and encodings ----------------------------------------------------------------------------


def _chr(args: Sequence[str], types: Types) -> str:
    if types[0] == INTEGER:
        # Spark's chr stops at 255
        return let(
            args[0],
            lambda n: f"if({n} < 0 or {n} > 1114111, NULL, decode(unhex(lpad(hex({n}), 8, '0')), 'UTF-32'))",
        )
    escape, prefix = string(r"^(\\u[0-9A-Fa-f]{4})+$"), string("\\u")
    decoded = f"decode(unhex(replace({{s}}, {prefix}, '')), 'UTF-16BE')"
    return let(
        args[0],
        lambda s: f"if({s} rlike {escape}, {attempt(decoded.format(s=s))}, NULL)",
    )


def _hex_to_bytes(text: str) -> str:
    """Hex digits, plain, as 0x... or as X'...'; an odd number of plain ones is an error."""

    def read(s: str) -> str:
        quotes = string("^[xX]'.*'$")
        quoted = f"{s} rlike {quotes}"
        return (
            f"(case when {s} like '0x%' then unhex(substr({s}, 3)) "
            f"when {quoted} then unhex(substr({s}, 3, length({s}) - 3)) "
            f"when length({s}) % 2 = 0 then unhex({s}) end)"
        )

    return let(text, read)


def _to_bytes(text: str, encoding: str) -> str:
    ascii_only = f"regexp_replace({text}, {_NOT_ASCII}, '?')"
    return (
        f"(case lower({encoding}) when 'utf8' then cast({text} as binary) "
        f"when 'hex' then {_hex_to_bytes(text)} when 'ascii' then cast({ascii_only} as binary) "
        f"when 'base64' then try_to_binary({text}, 'base64') end)"
    )


def _from_bytes(data: str, encoding: str) -> str:
    ascii_text = f"regexp_replace(decode({data}, 'ISO-8859-1'), {_NOT_ASCII}, '\ufffd')"
    return (
        f"(case lower({encoding}) when 'utf8' then cast({data} as string) when 'hex' then lower(hex({data})) "
        f"when 'ascii' then {ascii_text} when 'base64' then base64({data}) end)"
    )


def _encode(args: Sequence[str], _: Types) -> str:
    text, source, target = args
    same = f"lower({source}) = lower({target})"
    coded = let(_to_bytes(text, source), lambda b: _from_bytes(b, target))
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


def _concat(args: Sequence[str], types: Types) -> str:
    if types[0] == BYTES:
        filled = [f"coalesce({a}, X'')" for a in args]
        return f"concat({', '.join(filled)})"
    return f"concat_ws('', {', '.join(args)})"


def _concat_ws(args: Sequence[str], types: Types) -> str:
    if types[0] == STRING:
        return f"concat_ws({', '.join(args)})"
    separator, values = args[0], f"array({', '.join(args[1:])})"
    x, y, z = (variable(values, n) for n in "xyz")
    joined = (
        f"aggregate(filter({values}, {x} -> {x} is not null), {_NO_BYTES}, "
        f"({y}, {z}) -> if({y} is null, {z}, concat({y}, {separator}, {z})), {y} -> coalesce({y}, X''))"
    )
    return f"if({separator} is null, NULL, {joined})"


def _initcap(args: Sequence[str], _: Types) -> str:
    words = f"regexp_extract_all({args[0]}, {_WORDS}, 0)"
    w = variable(words)
    return f"array_join(transform({words}, {w} -> concat(upper(left({w}, 1)), lower(substr({w}, 2)))), '')"


# ---- positions -------------------------------------------------------------------------------------------


def _length(args: Sequence[str], types: Types) -> str:
    if types[0] == BYTES:
        return f"octet_length({args[0]})"
    return let(
        args[0],
        lambda s: (
            f"if(octet_length({s}) = length({s}), length({s}), "
            f"cast(octet_length(encode({s}, 'UTF-16BE')) div 2 as int))"
        ),
    )


def _substring(args: Sequence[str], types: Types) -> str:
    value, position = args[:2]
    rest = "".join(f", {a}" for a in args[2:])
    if position.isdigit():
        return f"substring({value}, {position}{rest})"
    length = "octet_length" if types[0] == BYTES else "length"
    # Spark counts a length from before the start; here the start is moved to it first
    start = f"if({position} < 0, greatest({length}({value}) + {position} + 1, 1), {position})"
    return f"substring({value}, {start}{rest})"


def _pad(function: str) -> Lowering:
    def lower(args: Sequence[str], types: Types) -> str:
        value, size, padding = args
        empty = f"octet_length({padding}) = 0"
        nothing = _NO_BYTES if types[0] == BYTES else _NO_TEXT
        return f"if({size} < 0 or {empty}, {nothing}, {function}({value}, {size}, {padding}))"

    return lower


def _instr(args: Sequence[str], _: Types) -> str:
    text, part = args[:2]
    if len(args) == 2:
        return f"coalesce(instr({text}, {part}), 0)"
    position = args[2]
    if len(args) == 3 and position.isdigit():
        return f"coalesce(locate({part}, {text}, {position}), 0)"
    occurrence = args[3] if len(args) == 4 else "1"
    i = variable(text, part)
    found = (
        f"filter(sequence(1, greatest(length({text}), 1)), {i} -> "
        f"substring({text}, {i}, length({part})) = {part} and "
        f"if({position} > 0, {i} >= {position}, {i} <= length({text}) + {position} + 1))"
    )
    nth = f"if({position} > 0, {occurrence}, -{occurrence})"
    valid = f"{occurrence} > 0 and {position} <> 0 and abs({position}) <= length({text})"
    return f"if({valid}, coalesce(try_element_at({found}, {nth}), 0), 0)"


# ---- masks -----------------------------------------------------------------------------------------------

_CLASSES = ((r"[^\p{Lu}\p{Ll}\p{Nd}]", "-"), (r"\p{Lu}", "X"), (r"\p{Ll}", "x"), (r"\p{Nd}", "n"))


def _mask(text: str, masks: Sequence[str]) -> str:
    """Every character by its class; ``masks``: none, or upper, lower, digit, other."""
    if not masks:
        for pattern, mask in _CLASSES:
            text = f"regexp_replace({text}, {string(pattern)}, '{mask}')"
        return text
    upper, lower, digit, other = masks
    c = variable(text, *masks)
    chosen = (
        f"coalesce(case when {c} rlike {_UPPER} then {upper} "
        f"when {c} rlike {_LOWER} then {lower} "
        f"when {c} rlike {_DIGIT} then {digit} else {other} end, {c})"
    )
    # a NULL mask is no wrong one
    wrong = " or ".join(f"coalesce(length({m}) <> 1, false)" for m in masks)
    masked = f"array_join(transform(split({text}, ''), {c} -> {chosen}), '')"
    return f"if({wrong}, NULL, if({text} = '', '', {masked}))"


def _mask_part(kind: str) -> Lowering:
    """Mask or keep the first or last n characters."""

    def lower(args: Sequence[str], _: Types) -> str:
        n, masks = args[1], args[2:]

        def built(s: str) -> str:
            first, after = f"left({s}, {n})", f"substring({s}, {n} + 1)"
            before = f"left({s}, greatest(length({s}) - {n}, 0))"
            last = f"right({s}, {n})"
            parts = {
                "LEFT": (_mask(first, masks), after),
                "RIGHT": (before, _mask(last, masks)),
                "KEEP_LEFT": (first, _mask(after, masks)),
                "KEEP_RIGHT": (_mask(before, masks), last),
            }[kind]
            return f"if({n} < 0, NULL, concat({parts[0]}, {parts[1]}))"

        return let(args[0], built)

    return lower


# ---- regular expressions and splitting -------------------------------------------------------------------

_INTEGER_TEXT = re.compile(r"-?\d+|\(-\d+\)")
_GROUP = re.compile(r"\\Q.*?\\E|\\.|\[(?:\\.|[^\]\\])*\]|(\((?!\?)|\(\?<(?![=!]))", re.DOTALL)


def _groups(pattern: str) -> int | None:
    """How many groups the regular expression in a string literal has; None for other texts."""
    plain = literal_text(pattern)
    return None if plain is None else sum(1 for m in _GROUP.finditer(plain) if m.group(1))


def _is_plain(pattern: str) -> bool:
    """True for a constant regular expression that Java surely takes: Python does, and it is simple."""
    plain = literal_text(pattern)
    if plain is None or re.search(r"\(\?|\[[^\]]*\[|&&|\\[a-zA-Z0-9]", re.sub(r"\\[dDwWsSbB]", "", plain)):
        return False
    try:
        re.compile(plain)
    except re.error:
        return False
    return True


def _per_row(pattern: str, text: str) -> str:
    """``pattern`` as Spark compiles it row by row: nothing can catch the error of a bad constant."""
    return f"concat({pattern}, left({text}, 0))"


def _guarded(text: str, pattern: str, group: str | None, lower: Callable[[str], str]) -> str:
    """``lower(pattern)``, or NULL where Spark would stop the query for the pattern or the group."""
    if _is_plain(pattern) and (group is None or _INTEGER_TEXT.fullmatch(group)):
        return lower(pattern)
    pattern = _per_row(pattern, text)
    trial = f"regexp_extract('', {pattern}, {group or '0'})"
    return f"if({attempt(trial)} is null, NULL, {lower(pattern)})"


def _extract(args: Sequence[str], _: Types) -> str:
    pattern, text = args[:2]
    group = args[2] if len(args) == 3 else "0"
    if _is_beyond(pattern, group):
        return _NO_TEXT

    def found(s: str) -> str:
        return _guarded(
            s, pattern, group, lambda p: f"if({s} rlike {p}, regexp_extract({s}, {p}, {group}), NULL)"
        )

    return let(text, found)


def _extract_all(args: Sequence[str], _: Types) -> str:
    pattern, text = args[:2]
    group = args[2] if len(args) == 3 else "0"
    if _is_beyond(pattern, group):
        return "cast(NULL as array<string>)"
    return let(
        text, lambda s: _guarded(s, pattern, group, lambda p: f"regexp_extract_all({s}, {p}, {group})")
    )


def _replace(args: Sequence[str], _: Types) -> str:
    text, pattern, replacement = args
    plain = literal_text(replacement)
    if plain is not None and not re.search(r"[$\\]", plain) and _is_plain(pattern):
        return f"regexp_replace({text}, {pattern}, {replacement})"
    return let(text, lambda s: attempt(f"regexp_replace({s}, {_per_row(pattern, s)}, {replacement})"))


def _is_beyond(pattern: str, group: str) -> bool:
    """True for a constant group that a constant pattern does not have: Spark refuses it."""
    groups = _groups(pattern)
    number = group.strip("()")
    if groups is None or not re.fullmatch(r"-?\d+", number):
        return False
    return not 0 <= int(number) <= groups


def quoted(text: str) -> str:
    """Spark SQL text: ``text`` as a regular expression that matches it literally."""
    begin, end = string(r"\Q"), string(r"\E")
    return f"concat({begin}, {text}, {end})"


def split_text(text: str, delimiter: str) -> str:
    """Spark SQL text: the pieces between literal delimiters; characters for an empty one."""
    return f"if({delimiter} = '', split({text}, ''), split({text}, {quoted(delimiter)}, -1))"


def _split(args: Sequence[str], types: Types) -> str:
    text, delimiter = args
    if types[0] == STRING:
        return split_text(text, delimiter)
    # one character for each byte, there and back
    pieces = split_text(f"decode({text}, 'ISO-8859-1')", f"decode({delimiter}, 'ISO-8859-1')")
    p = variable(pieces)
    return f"transform({pieces}, {p} -> encode({p}, 'ISO-8859-1'))"


def _split_to_map(args: Sequence[str], _: Types) -> str:
    text, entry, assign = args
    e = variable(text, entry, assign)
    pairs = f"filter({split_text(text, entry)}, {e} -> instr({e}, {assign}) > 0)"
    parts = f"split({e}, {quoted(assign)}, -1)"
    built = from_entries(f"transform({pairs}, {e} -> struct({parts}[0] as key, {parts}[1] as value))")
    # a NULL separator makes the condition NULL, which must not let an empty map through
    return f"if(coalesce({entry} <> '' and {assign} <> '' and {entry} <> {assign}, false), {built}, NULL)"


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
_BLANKS = "".join(f"\\u{i:04x}" for i in range(0x21))
_MASKS = {
    "upper": "what upper-case letters become; NULL keeps them",
    "lower": "what lower-case letters become; NULL keeps them",
    "digit": "what digits become; NULL keeps them",
    "other": "what everything else becomes; NULL keeps it",
}
_COUNT = {"count": "how many characters"}


def _text_function(name: str, description: str, function: str, *examples: Example) -> Spec:
    return scalar(
        name,
        Category.STRING,
        description,
        (signature("text STRING -> STRING"),),
        lambda args, _: function.format(args[0]),
        *examples,
        parameters=_TEXT,
    )


def _mask_spec(name: str, kind: str, description: str, *examples: Example) -> Spec:
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
        _mask_part(kind),
        *examples,
        parameters=_TEXT | _COUNT | _MASKS,
    )


def _number_from_bytes(name: str, type_: str, size: int, read: Any, *examples: Example) -> Spec:
    return scalar(
        name,
        Category.CONVERSIONS,
        f"The {type_} in {size} bytes; other lengths give NULL.",
        (signature(f"bytes BYTES -> {type_}"), signature(f"bytes BYTES, order STRING -> {type_}")),
        lambda args, _: _ordered_bytes(args, size, read),
        *examples,
        parameters={"bytes": f"{size} bytes", "order": "BIG_ENDIAN (if absent) or LITTLE_ENDIAN"},
    )


SPECS: tuple[Spec, ...] = (
    scalar(
        "CHR",
        Category.STRING,
        "The character with a code point, or of an escape such as \\u004b.",
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
    ),
    scalar(
        "CONCAT",
        Category.STRING,
        "The arguments one after another; NULLs are skipped.",
        (signature("value STRING... -> STRING"), signature("value BYTES... -> BYTES")),
        _concat,
        Example(("a", _NULL_STRING, "b"), "ab"),
        Example((_NULL_STRING, _NULL_STRING), ""),
        Example((b"\x01", b"\x02"), b"\x01\x02"),
        parameters={"value": "what to join"},
    ),
    scalar(
        "CONCAT_WS",
        Category.STRING,
        "The values one after another, with a separator between; NULL values are skipped.",
        (
            signature("separator STRING, value STRING... -> STRING"),
            signature("separator BYTES, value BYTES... -> BYTES"),
        ),
        _concat_ws,
        Example((", ", "a", _NULL_STRING, "b"), "a, b"),
        Example((_NULL_STRING, "a"), None),
        Example((b"\x00", b"\x01", _NULL_BYTES, b"\x02"), b"\x01\x00\x02"),
        parameters={"separator": "what to put between", "value": "what to join"},
    ),
    scalar(
        "ELT",
        Category.STRING,
        "The n-th of the other arguments; NULL where there is none.",
        (signature("n INTEGER, value STRING... -> STRING"),),
        lambda args, _: f"elt({', '.join(args)})",
        Example((2, "a", "b"), "b"),
        Example((3, "a", "b"), None),
        Example((0, "a", "b"), None),
        parameters={"n": "from 1", "value": "the candidates"},
    ),
    scalar(
        "FIELD",
        Category.STRING,
        "The position of a text among the other arguments, from 1; 0 where it is not there.",
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
        "Text from one encoding in another.",
        (signature("text STRING, source STRING, target STRING -> STRING"),),
        _encode,
        Example(("4578616d706C6521", "hex", "ascii"), "Example!"),
        Example(("X'4578'", "hex", "utf8"), "Ex"),
        Example(("0x457", "hex", "base64"), "BFc="),
        Example(("Ελ", "ascii", "hex"), "3f3f"),
        Example(("zpU=", "base64", "ascii"), "\ufffd\ufffd"),
        Example(("a", "utf8", "utf8"), None),
        Example(("a", "utf8", "latin"), None),
        parameters=_TEXT | {"source": "hex, utf8, ascii or base64", "target": "another one of them"},
    ),
    scalar(
        "TO_BYTES",
        Category.CONVERSIONS,
        "The bytes that a text stands for in an encoding.",
        (signature("text STRING, encoding STRING -> BYTES"),),
        lambda args, _: _to_bytes(args[0], args[1]),
        Example(("21", "hex"), b"!"),
        Example(("é", "utf8"), b"\xc3\xa9"),
        Example(("IQ==", "base64"), b"!"),
        Example(("zz", "hex"), None),
        parameters=_TEXT | _ENCODING,
    ),
    scalar(
        "FROM_BYTES",
        Category.CONVERSIONS,
        "Bytes as text in an encoding.",
        (signature("bytes BYTES, encoding STRING -> STRING"),),
        lambda args, _: _from_bytes(args[0], args[1]),
        Example((b"!", "hex"), "21"),
        Example((b"\xc3\xa9", "utf8"), "é"),
        Example((b"!", "base64"), "IQ=="),
        parameters={"bytes": "any bytes"} | _ENCODING,
    ),
    scalar(
        "INITCAP",
        Category.STRING,
        "The text with the first letter of each word in upper case, the others in lower case.",
        (signature("text STRING -> STRING"),),
        _initcap,
        Example(("the   Quick br0wn fOx",), "The   Quick Br0wn Fox"),
        Example((" a\tb",), "A\tB"),
        parameters=_TEXT,
    ),
    scalar(
        "INSTR",
        Category.STRING,
        "Where a part begins in a text, from 1; 0 where it is not there.",
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
            "position": "where to begin; negative ones count from the end and search backwards",
            "occurrence": "which match",
        },
    ),
    _text_function("LCASE", "The text in lower case.", "lower({})", Example(("Abc",), "abc")),
    _text_function("UCASE", "The text in upper case.", "upper({})", Example(("Abc",), "ABC")),
    _text_function(
        "TRIM",
        "The text without blanks and control characters at its ends.",
        f"trim(both '{_BLANKS}' from {{}})",
        Example((" \n a b\t",), "a b"),
    ),
    scalar(
        "LEN",
        Category.STRING,
        "The length of a text in UTF-16 units, or of bytes.",
        (signature("text STRING -> INTEGER"), signature("bytes BYTES -> INTEGER")),
        _length,
        Example(("Übermensch",), 10),
        Example(("a😀",), 3),
        Example((b"\x00\x01",), 2),
        parameters=_TEXT | {"bytes": "any bytes"},
    ),
    *(
        scalar(
            name,
            Category.STRING,
            f"The value filled up {where} to a length, or cut to it.",
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
        "The text with each character replaced by a mark of its kind.",
        (
            signature("text STRING -> STRING"),
            signature("text STRING, upper STRING, lower STRING, digit STRING, other STRING -> STRING"),
        ),
        lambda args, _: _mask(args[0], args[1:]),
        Example(("My Test $123",), "Xx-Xxxx--nnn"),
        Example(("aB1-", "Q", _NULL_STRING, "9", "*"), "aQ9*"),
        Example(("", "Q", "q", "9", "*"), ""),
        Example(("aB1-", "QQ", "q", "9", "*"), None),
        parameters=_TEXT | _MASKS,
    ),
    _mask_spec(
        "MASK_LEFT",
        "LEFT",
        "The text with its first characters masked.",
        Example(("aB1-cd", 4), "xXn-cd"),
        Example(("ab", 5), "xx"),
        Example(("ab", -1), None),
    ),
    _mask_spec(
        "MASK_RIGHT",
        "RIGHT",
        "The text with its last characters masked.",
        Example(("aB1-cd", 3), "aB1-xx"),
        Example(("ab", 5), "xx"),
    ),
    _mask_spec(
        "MASK_KEEP_LEFT",
        "KEEP_LEFT",
        "The text masked but for its first characters.",
        Example(("aB1-cd", 2), "aBn-xx"),
    ),
    _mask_spec(
        "MASK_KEEP_RIGHT",
        "KEEP_RIGHT",
        "The text masked but for its last characters.",
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
        lambda args, _: f"replace({', '.join(args)})",
        Example(("a.b.c", ".", "-"), "a-b-c"),
        parameters=_TEXT | {"part": "what to replace", "replacement": "with what"},
    ),
    scalar(
        "REGEXP_EXTRACT",
        Category.REGULAR_EXPRESSION,
        "The first match of a regular expression, or one of its groups; NULL where there is none.",
        (
            signature("pattern STRING, text STRING -> STRING"),
            signature("pattern STRING, text STRING, group INTEGER -> STRING"),
        ),
        _extract,
        Example(("b.", "abcbd"), "bc"),
        Example(("(.*) (.*)", "steven zhang", 2), "zhang"),
        Example(("(.*) (.*)", "agavra", 2), None),
        Example(("(.*) (.*)", "steven zhang", 3), None),
        Example(("(", "steven zhang"), None),
        parameters={"pattern": "a regular expression", "text": "any text", "group": "which group; 0: all"},
    ),
    scalar(
        "REGEXP_EXTRACT_ALL",
        Category.REGULAR_EXPRESSION,
        "All matches of a regular expression, or of one of its groups.",
        (
            signature("pattern STRING, text STRING -> ARRAY<STRING>"),
            signature("pattern STRING, text STRING, group INTEGER -> ARRAY<STRING>"),
        ),
        _extract_all,
        Example(("test.", "some_test_string_testabab"), ["test_", "testa"]),
        Example(("test.", "nothing"), []),
        Example(("(\\w+) (\\w*)", "apurva mehta agavra ", 2), ["mehta", ""]),
        Example(("(\\w+)", "a", 2), None),
        Example(("[", "a"), None),
        parameters={"pattern": "a regular expression", "text": "any text", "group": "which group; 0: all"},
    ),
    scalar(
        "REGEXP_REPLACE",
        Category.REGULAR_EXPRESSION,
        "The text with all matches of a regular expression replaced; $1 stands for a group.",
        (signature("text STRING, pattern STRING, replacement STRING -> STRING"),),
        _replace,
        Example(("abc", "(b)", "<$1>"), "a<b>c"),
        Example(("abc", "(b", "x"), None),
        Example(("abc", "b", "$1"), None),
        parameters=_TEXT | {"pattern": "a regular expression", "replacement": "with what"},
    ),
    scalar(
        "REGEXP_SPLIT_TO_ARRAY",
        Category.REGULAR_EXPRESSION,
        "The pieces of a text between matches of a regular expression.",
        (signature("text STRING, pattern STRING -> ARRAY<STRING>"),),
        lambda args, _: let(args[0], lambda s: _guarded(s, args[1], None, lambda p: f"split({s}, {p}, -1)")),
        Example(("a1b22c", "[0-9]"), ["a", "b", "", "c"]),
        Example(("abc", ""), ["a", "b", "c"]),
        Example(("abc", "["), None),
        parameters=_TEXT | {"pattern": "a regular expression"},
    ),
    scalar(
        "SPLIT",
        Category.STRING,
        "The pieces of a text or of bytes between delimiters; single characters for an empty delimiter.",
        (
            signature("text STRING, delimiter STRING -> ARRAY<STRING>"),
            signature("bytes BYTES, delimiter BYTES -> ARRAY<BYTES>"),
        ),
        _split,
        Example((".a..b.", "."), ["", "a", "", "b", ""]),
        Example(("abc", ""), ["a", "b", "c"]),
        Example((b"\xff\x00\x01", b"\x00"), [b"\xff", b"\x01"]),
        parameters=_TEXT | {"bytes": "any bytes", "delimiter": "what stands between"},
    ),
    scalar(
        "SPLIT_TO_MAP",
        Category.MAP,
        "A map from text such as a=1;b=2.",
        (signature("text STRING, entry STRING, assign STRING -> MAP<STRING, STRING>"),),
        _split_to_map,
        Example(("a=1;b=2=x;c;a=3", ";", "="), {"a": "3", "b": "2"}),
        Example(("a=1", "=", "="), None),
        Example(("a=1", ";", _NULL_STRING), None),
        parameters=_TEXT | {"entry": "what stands between entries", "assign": "between key and value"},
    ),
    scalar(
        "SUBSTRING",
        Category.STRING,
        "The part of a text or of bytes from a position, up to a length.",
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
            "length": "how much at most",
        },
    ),
    scalar(
        "UUID",
        Category.STRING,
        "A new random UUID, or the one in 16 bytes.",
        (signature("-> STRING"), signature("bytes BYTES -> STRING")),
        _uuid,
        Example((bytes(range(16)),), "00010203-0405-0607-0809-0a0b0c0d0e0f"),
        Example((b"\x00",), None),
        parameters={"bytes": "16 bytes"},
        is_deterministic=False,
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
