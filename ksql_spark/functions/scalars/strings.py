"""Functions on strings and byte strings (reference §4.2).

Positions count UTF-16 code units, as in ksqlDB, and regular expressions are Java's. Where Spark's functions
count or match differently, ours are used (Utf16Functions.java, PatternFunctions.java).
"""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.functions.scalars.arithmetic import joined
from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spark_text import unless_null, variable
from ksql_spark.functions.spec import (
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
from ksql_spark.types import BYTES, STRING, SqlType

Types = Sequence[SqlType]

NO_BYTES = "cast(NULL as binary)"

#: no limit for a count
MAX_LENGTH = str(2**31 - 1)

NULL_STRING, _NULL_BYTES = Typed(None, STRING), Typed(None, BYTES)


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
    counts = (position, args[2] if len(args) == 3 else MAX_LENGTH)
    return unless_null(counts, f"ksql.substring({value}, {', '.join(counts)})")


def _left(args: Sequence[str], _: Types) -> str:
    return unless_null([args[1]], f"ksql.substring({args[0]}, 1, {args[1]})")


def _right(args: Sequence[str], _: Types) -> str:
    text, count = args
    # position 0 means the first character
    return unless_null(
        [count], f"if({count} > 0, ksql.substring({text}, (- {count}), {MAX_LENGTH}), left({text}, 0))"
    )


def _pad(function: str) -> Lowering:
    def lower(args: Sequence[str], types: Types) -> str:
        value, size, padding = args
        if types[0] == BYTES:
            empty = f"octet_length({padding}) = 0"
            too_long = f"{size} > octet_length({value}) and not ksql.bytes_fit(cast({size} as bigint))"
            wrong = f"{size} < 0 or {empty} or ({too_long})"
            return f"if({wrong}, {NO_BYTES}, {function}({value}, {size}, {padding}))"
        return unless_null([size], f"ksql.{function}({value}, {size}, {padding})")

    return lower


def _can_pad(args: Sequence[str], _: Types) -> str:
    value, size, padding = args
    return f"coalesce({value} is not null and {size} >= 0 and octet_length({padding}) > 0, false)"


def _instr(args: Sequence[str], _: Types) -> str:
    text, part = args[:2]
    counts = (*args[2:], "1", "1")[:2]
    return unless_null(counts, f"ksql.position({text}, {part}, {', '.join(counts)})")


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


# ---- specs -----------------------------------------------------------------------------------------------

TEXT = {"text": "any text"}

COUNT = {"count": "how many characters"}


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
        parameters=TEXT,
        aliases=aliases,
        limits=BY_ARGUMENTS,
    )


SPECS: tuple[Spec, ...] = (
    scalar(
        "CONCAT",
        Category.STRING,
        "Concatenates the arguments; NULLs are skipped.",
        (signature("value STRING... -> STRING"), signature("value BYTES... -> BYTES")),
        joined,
        Example(("a", NULL_STRING, "b"), "ab"),
        Example((NULL_STRING, NULL_STRING), ""),
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
        Example((", ", "a", NULL_STRING, "b"), "a, b"),
        Example((NULL_STRING, "a"), None),
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
        Example(("b", "a", NULL_STRING, "b"), 3),
        Example(("x", "a"), 0),
        Example((NULL_STRING, "a"), 0),
        parameters={"text": "what to look for", "value": "where to look"},
    ),
    scalar(
        "INITCAP",
        Category.STRING,
        "The text with the first letter of each word in upper case and all others in lower case.",
        (signature("text STRING -> STRING"),),
        lambda args, _: f"ksql.initial_capitals({args[0]})",
        Example(("the   Quick br0wn fOx",), "The   Quick Br0wn Fox"),
        Example((" a\tb",), "A\tB"),
        Example(("istanbul ISTANBUL ışık",), "Istanbul Istanbul Işık"),
        parameters=TEXT,
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
        Example((NULL_STRING, "or"), 0),
        parameters=TEXT
        | {
            "part": "what to look for",
            "position": "where to start; negative positions count from the end and search backwards",
            "occurrence": "which match",
        },
        aliases=("STRPOS",),
    ),
    _text_function(
        "LCASE",
        "The text in lower case.",
        "lower({})",
        Example(("Abc",), "abc"),
        Example(("IİıẞΑΣ",), "ii̇ıßας"),
        aliases=("LOWER",),
    ),
    _text_function(
        "UCASE",
        "The text in upper case.",
        "upper({})",
        Example(("Abc",), "ABC"),
        Example(("iıİßŞά",), "IIİSSŞΆ"),
        aliases=("UPPER",),
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
        parameters=TEXT | {"bytes": "any bytes"},
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
        parameters=TEXT | {"part": "what to replace", "replacement": "with what"},
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
        parameters=TEXT | {"pattern": "a regular expression", "replacement": "with what"},
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
        parameters=TEXT | {"pattern": "a regular expression"},
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
        parameters=TEXT | {"bytes": "any bytes", "delimiter": "what stands between"},
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
        Example(("a=1", ";", NULL_STRING), None),
        parameters=TEXT | {"entry": "separates entries", "assign": "separates keys from values"},
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
        Example((NULL_STRING, 2), None),
        parameters=TEXT | COUNT,
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
        Example((NULL_STRING, 2), None),
        parameters=TEXT | COUNT,
        is_ours=True,
        limits=BY_ARGUMENTS,
    ),
)
