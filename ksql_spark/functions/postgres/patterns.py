"""Patterns of PostgreSQL's TO_CHAR, TO_TIMESTAMP and TO_DATE: one table of their elements.

A pattern is a constant. TO_CHAR becomes a concatenation with a text for each element; TO_TIMESTAMP becomes a
regular expression with a group for each. A constant that is read becomes a constant, which look-ups need.
PostgreSQL's documentation (9.8, Data Type Formatting Functions) and its answers decide.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ksql_spark.errors import KsqlError
from ksql_spark.functions.postgres.functions import refused, refusing
from ksql_spark.functions.spark_text import let, string
from ksql_spark.regexes import groups_of
from ksql_spark.types import SqlType

_MONTHS = tuple(calendar.month_name[n] for n in range(1, 13))
_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
#: places in the names of months and days are padded to
_WIDTH = 9


class Element(NamedTuple):
    """What a word of a pattern stands for.

    Args:
        text: Spark SQL text of its number, or of its words, over a TIMESTAMP.
        width: how many digits a number has at least, and words have places; 0: they are not padded.
        is_words: whether it is words, and no number.
        reads: the part of a time that TO_TIMESTAMP reads; "": it does not.
        of: the names in the order of their numbers, where it reads names.
    """

    text: str
    width: int = 0
    is_words: bool = False
    reads: str = ""
    of: tuple[str, ...] = ()


_YEAR = "if(year({0}) > 0, year({0}), 1 - year({0}))"
_ISO_YEAR = "extract(yearofweek FROM {0})"
_MS = "pmod(unix_millis({0}), 1000L)"
_NOON = "if(hour({0}) < 12, 'AM', 'PM')"


def _chosen(names: Sequence[str], number: str) -> str:
    return f"element_at(array({', '.join(map(string, names))}), cast({number} as int))"


def _words(word: str, names: Sequence[str], number: str, width: int, reads: str = "") -> dict[str, Element]:
    """A word in upper case, with a capital, and in lower case."""
    text = _chosen(names, number)
    return {
        word.upper(): Element(f"upper({text})", width, True, reads, tuple(names)),
        word.capitalize(): Element(text, width, True, reads, tuple(names)),
        word.lower(): Element(f"lower({text})", width, True, reads, tuple(names)),
    }


def _short(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name[:3] for name in names)


#: words of numbers, which have the same meaning in lower case
_NUMBERS: dict[str, Element] = {
    "YYYY": Element(_YEAR, 4, reads="year"),
    "YYY": Element(f"{_YEAR} % 1000", 3, reads="year"),
    "YY": Element(f"{_YEAR} % 100", 2, reads="year"),
    "Y": Element(f"{_YEAR} % 10", 1, reads="year"),
    "IYYY": Element(_ISO_YEAR, 4),
    "IYY": Element(f"{_ISO_YEAR} % 1000", 3),
    "IY": Element(f"{_ISO_YEAR} % 100", 2),
    "I": Element(f"{_ISO_YEAR} % 10", 1),
    "CC": Element(f"(({_YEAR} - 1) div 100 + 1) * if(year({{0}}) > 0, 1, -1)", 2),
    "Q": Element("quarter({0})", 1),
    "MM": Element("month({0})", 2, reads="month"),
    "WW": Element("(dayofyear({0}) - 1) div 7 + 1", 2),
    "W": Element("(day({0}) - 1) div 7 + 1", 1),
    "IW": Element("weekofyear({0})", 2),
    "DDD": Element("dayofyear({0})", 3, reads="day of year"),
    "IDDD": Element("(weekofyear({0}) - 1) * 7 + extract(dow_iso FROM {0})", 3),
    "DD": Element("day({0})", 2, reads="day"),
    "D": Element("dayofweek({0})", 1),
    "ID": Element("extract(dow_iso FROM {0})", 1),
    "J": Element("unix_date(cast({0} as date)) + 2440588", 1),
    "HH24": Element("hour({0})", 2, reads="hour"),
    "HH12": Element("pmod(hour({0}) + 11, 12) + 1", 2, reads="hour of 12"),
    "HH": Element("pmod(hour({0}) + 11, 12) + 1", 2, reads="hour of 12"),
    "MI": Element("minute({0})", 2, reads="minute"),
    "SS": Element("second({0})", 2, reads="second"),
    "SSSSS": Element("(hour({0}) * 60 + minute({0})) * 60 + second({0})", 1, reads="second of day"),
    "SSSS": Element("(hour({0}) * 60 + minute({0})) * 60 + second({0})", 1, reads="second of day"),
    "MS": Element(_MS, 3, reads="fraction"),
    "US": Element(f"{_MS} * 1000", 6, reads="fraction"),
    "FF1": Element(f"{_MS} div 100", 1, reads="fraction"),
    "FF2": Element(f"{_MS} div 10", 2, reads="fraction"),
    "FF3": Element(_MS, 3, reads="fraction"),
    "FF4": Element(f"{_MS} * 10", 4, reads="fraction"),
    "FF5": Element(f"{_MS} * 100", 5, reads="fraction"),
    "FF6": Element(f"{_MS} * 1000", 6, reads="fraction"),
}
#: the elements of patterns, by their words
ELEMENTS: dict[str, Element] = {
    **_NUMBERS,
    **{word.lower(): element for word, element in _NUMBERS.items()},
    **_words("MONTH", _MONTHS, "month({0})", _WIDTH, "month"),
    **_words("MON", _short(_MONTHS), "month({0})", 0, "month"),
    **_words("DAY", _DAYS, "dayofweek({0})", _WIDTH, "name of day"),
    **_words("DY", _short(_DAYS), "dayofweek({0})", 0, "name of day"),
    "RM": Element(_chosen(_ROMAN, "month({0})"), 4, True),
    "rm": Element(f"lower({_chosen(_ROMAN, 'month({0})')})", 4, True),
    **{word: Element(_NOON, 0, True, "half of day", ("AM", "PM")) for word in ("AM", "PM")},
    **{word: Element(f"lower({_NOON})", 0, True, "half of day", ("AM", "PM")) for word in ("am", "pm")},
}  # fmt: skip
_MOST_CHARACTERS = 500
_LONGEST = max(map(len, ELEMENTS))


class Piece(NamedTuple):
    """A part of a pattern: an element, or text that stands for itself.

    Args:
        text: as it is written.
        element: None: it is text.
        is_bare: FM is before it: it is not padded.
        ordinal: TH or th behind it; "": neither.
    """

    text: str
    element: Element | None = None
    is_bare: bool = False
    ordinal: str = ""


def pieces(pattern: str) -> Iterator[Piece]:
    """The parts of a pattern.

    Raises:
        KsqlError: VALUE_REFUSED for letters that are no element.

    >>> [piece.text for piece in pieces('FMDay, "T"HH24')]
    ['Day', ', ', 'T', 'HH24']
    """
    at = 0
    if len(pattern) > _MOST_CHARACTERS:
        raise refused(
            "0A000", f"A pattern has at most {_MOST_CHARACTERS} characters; this one has {len(pattern)}."
        )
    while at < len(pattern):
        if pattern[at] == '"':
            end = at + 1
            while end < len(pattern) and pattern[end] != '"':
                end += 2 if pattern[end] == "\\" else 1
            yield Piece(re.sub(r"\\(.)", r"\1", pattern[at + 1 : end]))
            at = end + 1
            continue
        if not (pattern[at].isascii() and pattern[at].isalpha()):
            end = at
            while end < len(pattern) and pattern[end] != '"' and not pattern[end].isalpha():
                end += 1
            yield Piece(pattern[at : max(end, at + 1)])
            at = max(end, at + 1)
            continue
        is_bare, first = False, at
        while pattern[at : at + 2].upper() in ("FM", "FX", "TM") and pattern[at + 2 : at + 3].isalpha():
            is_bare |= pattern[at : at + 2].upper() != "FX"
            at += 2
        sizes = range(min(_LONGEST, len(pattern) - at), 0, -1)
        word = next((pattern[at : at + n] for n in sizes if pattern[at : at + n] in ELEMENTS), None)
        if word is None:
            raise _unknown(pattern, first if at >= len(pattern) else at)
        at += len(word)
        ordinal = pattern[at : at + 2] if pattern[at : at + 2] in ("TH", "th") else ""
        at += len(ordinal)
        yield Piece(word, ELEMENTS[word], is_bare, ordinal)


def _unknown(pattern: str, at: int) -> KsqlError:
    found = re.match(r"[A-Za-z]+", pattern[at:])
    word = found[0] if found else pattern[at:]
    return refused(
        "0A000",
        f'The pattern "{pattern}" has an element that is not known: "{word}", at character {at + 1}. '
        'Text that stands for itself is in double quotes: "T".',
    )


def _ordinal(number: str, word: str) -> str:
    """Spark SQL text: ``st``, ``nd``, ``rd`` or ``th`` for a number's text."""
    endings = ("th", "st", "nd", "rd")
    th, st, nd, rd = (string(one.upper() if word == "TH" else one) for one in endings)
    last = f"right({number}, 1)"
    case = f"case {last} when '1' then {st} when '2' then {nd} when '3' then {rd} else {th} end"
    return f"if({number} rlike '1.$', {th}, {case})"


def written(moment: str, pattern: str) -> str:
    """Spark SQL text of TO_CHAR of a TIMESTAMP. Raises KsqlError VALUE_REFUSED."""
    parts = list(pieces(pattern))

    def part(piece: Piece, m: str) -> str:
        if piece.element is None:
            return string(piece.text)
        text, width = piece.element.text.format(m), 0 if piece.is_bare else piece.element.width
        if piece.element.is_words:
            return f"rpad({text}, {width}, ' ')" if width else text
        number = f"format_string('%0{width}d', cast({text} as bigint))" if width > 1 else f"string({text})"
        return (
            let(number, lambda n: f"concat({n}, {_ordinal(n, piece.ordinal)})") if piece.ordinal else number
        )

    return let(moment, lambda m: f"concat({', '.join(part(piece, m) for piece in parts) or string('')})")


# ---- reading ---------------------------------------------------------------------------------------------

#: parts of a time that are read -> the least and the greatest number
_RANGES = {
    "month": (1, 12), "day": (1, 31), "day of year": (1, 366), "hour": (0, 23), "hour of 12": (1, 12),
    "minute": (0, 59), "second": (0, 59), "second of day": (0, 86_399),
}  # fmt: skip


class Reader:
    """Reads times by a pattern.

    Raises:
        KsqlError: VALUE_REFUSED: the pattern has an element that is not known, or is not read.
    """

    def __init__(self, pattern: str) -> None:
        self._pieces = list(pieces(pattern))
        self._elements: list[Piece] = []
        for piece in self._pieces:
            if piece.element is not None:
                if not piece.element.reads:
                    raise refused(
                        "0A000", f'The element "{piece.text}" of a pattern is only written, not read.'
                    )
                self._elements.append(piece)
        #: of a whole text; what is behind it is ignored
        self.regex = self._regex()

    def _regex(self) -> str:
        rest = ""
        for at in reversed(range(len(self._pieces))):
            piece = self._pieces[at]
            if piece.element is None:
                rest = "".join(_separator(one) for one in piece.text) + rest
                continue
            if piece.element.of:
                group = f"((?i:{'|'.join(sorted(map(re.escape, piece.element.of), key=len, reverse=True))}))"
            else:
                following = self._pieces[at + 1].text[:1] if at + 1 < len(self._pieces) else ""
                is_free = piece.is_bare or not following or not following.isalnum()
                digits = len(piece.text) if piece.text[:2].upper() not in ("HH", "FF") else 2
                group = r"([0-9]{1,9})" if is_free else f"([0-9]{{{digits}}})"
            rest = f"(?:\\s*$|\\s*{group}{rest})"
        return f"^{rest}"

    def constant(self, text: str) -> str | None:
        """The time that a text has, as KSQL writes it: ``2026-01-01T00:00:00.000``.

        Returns:
            None: Spark has to find it, or to fail.
        """
        found = groups_of(self.regex, text)
        given = {} if found is None else self._given(found)
        numbers = {
            name: int(value) for name, value in given.items() if name not in ("half of day", "fraction")
        }
        is_plain = 0 < numbers.get("year", 0) < 10_000 and not {"day of year", "second of day"} & given.keys()
        if not is_plain or any(not low <= numbers.get(n, low) <= high for n, (low, high) in _RANGES.items()):
            return None
        year, month, day = numbers["year"], numbers.get("month", 1), numbers.get("day", 1)
        if day > calendar.monthrange(year, month)[1]:
            return None
        hour = numbers.get("hour", 0)
        if "hour of 12" in numbers:
            hour = numbers["hour of 12"] % 12 + 12 * (given.get("half of day") == "2")
        clock = f"{hour:02}:{numbers.get('minute', 0):02}:{numbers.get('second', 0):02}"
        return f"{year:04}-{month:02}-{day:02}T{clock}.{given.get('fraction', '')[:3]:0<3}"

    def _given(self, groups: Sequence[str | None]) -> dict[str, str]:
        """The parts that a text has; names as their numbers, and years with all digits."""
        given: dict[str, str] = {}
        for piece, group in zip(self._elements, groups, strict=True):
            element = piece.element
            if group is None or element is None:
                continue
            if element.of:
                names = [name.upper() for name in element.of]
                group = str(names.index(group.upper()) + 1)
            elif element.reads == "year" and piece.text.upper() != "YYYY" and len(group) < 4:
                number = int(group)
                group = str(
                    number
                    + (2000 if number < (520 if len(group) == 3 else 70) else 1900 if number < 100 else 1000)
                )
            elif element.reads == "fraction":
                group = group.ljust(element.width, "0")
            given[element.reads] = group
        return given

    def text(self, value: str, type_: SqlType) -> str:
        """Spark SQL text of the TIMESTAMP that a text has, which fails where it has none."""
        groups: dict[str, tuple[Piece, str]] = {}
        for place, piece in enumerate(self._elements, 1):
            assert piece.element is not None, "it has a group"
            group = f"coalesce(ksql.regexp_extract({string(self.regex)}, {{0}}, {place}), '')"
            groups[piece.element.reads] = (piece, group)

        def part(reads: str, missing: int) -> str:
            return _number(*groups[reads], missing) if reads in groups else str(missing)

        hour = part("hour", 0)
        if "hour of 12" in groups:
            hour = f"({part('hour of 12', 12)} % 12 + 12 * ({part('half of day', 1)} - 1))"
        fraction = "0"
        if "fraction" in groups and (element := groups["fraction"][0].element) is not None:
            fraction = f"{part('fraction', 0)} / {10**element.width}"
        second = f"cast({part('second', 0)} + {fraction} as decimal(8, 6))"
        days = f"{part('year', 0)}, {part('month', 1)}, {part('day', 1)}"
        made = f"make_timestamp({days}, {hour}, {part('minute', 0)}, {second})"
        if "day of year" in groups:
            made = f"({made} + make_dt_interval({part('day of year', 1)} - 1))"
        if "second of day" in groups:
            made = f"({made} + make_dt_interval(0, 0, 0, {part('second of day', 0)}))"
        ranges = [
            f"{part(reads, low)} not between {low} and {high}"
            for reads, (low, high) in _RANGES.items()
            if reads in groups
        ]
        wrong = refusing("22007", "concat('invalid value for the pattern: \"', {0}, '\"')", type_)
        out = refusing("22008", "concat('date/time field value out of range: \"', {0}, '\"')", type_)
        is_other = f"ksql.regexp_extract({string(self.regex)}, {{0}}, 0) is null"
        whole = (
            f"if({{0}} is null, NULL, if({is_other}, {wrong}, "
            f"if({' or '.join(ranges) or 'false'}, {out}, coalesce({made}, {out}))))"
        )
        return let(value, lambda v: whole.replace("{0}", v))


def _number(piece: Piece, group: str, missing: int) -> str:
    """Spark SQL text: the number that an element reads from its group; ``missing``: the group is empty."""
    assert piece.element is not None, "it has a group"
    if piece.element.of:
        names = ", ".join(string(name.upper()) for name in piece.element.of)
        number = f"cast(array_position(array({names}), upper({group})) as int)"
    elif piece.element.reads == "fraction":
        number = f"cast(rpad({group}, greatest(length({group}), {piece.element.width}), '0') as int)"
    else:
        number = f"cast({group} as int)"
    if piece.element.reads == "year" and piece.text.upper() != "YYYY":
        century = f"if({number} < 70, 2000, if({number} < 100, 1900, if({number} < 520, 2000, 1000)))"
        number = f"if(length({group}) < 4, {number} + {century}, {number})"
    return f"if({group} = '', {missing}, {number})"


def _separator(one: str) -> str:
    """Regular expression of what a character between elements stands for in a text that is read."""
    return r"." if one.isalnum() else r"[^0-9A-Za-z]?"
