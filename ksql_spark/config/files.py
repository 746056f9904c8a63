"""Reads properties from files and from the environment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ksql_spark.errors import KsqlError

#: variables of ksqlDB's images, of Kubernetes, or our own, that are not properties
_NO_PROPERTIES = re.compile(
    r"KSQL_(SPARK_.*|HISTORY|OPTS|HEAP_OPTS|JMX_(OPTS|PORT|HOSTNAME)|JVM_PERFORMANCE_OPTS|GC_LOG_OPTS|LOG4J_.*|LOGGING_.*"
    r"|CLASSPATH|HOME|DIR|LOG_DIR|CONFIG_DIR|DEBUG|CUB_.*|HOST_NAME|PORT(_.*)?|SERVICE_HOST|SERVICE_PORT.*|VERSION)"
)


def environment_properties(environ: Mapping[str, str]) -> dict[str, str]:
    """The properties that the environment sets, by the rule of ksqlDB's images.

    The first KSQL_ is removed, letters become lower case; ``_`` is a dot, ``__`` an underscore, ``___`` a
    dash.

    >>> environment_properties({"KSQL_LISTENERS": "http://0.0.0.0:8088", "KSQL_KSQL_SERVICE_ID": "a_"})
    {'listeners': 'http://0.0.0.0:8088', 'ksql.service.id': 'a_'}
    """
    separators = {"_": ".", "__": "_", "___": "-"}
    return {
        re.sub("___|__|_", lambda match: separators[match[0]], name.removeprefix("KSQL_").lower()): value
        for name, value in environ.items()
        if name.startswith("KSQL_") and not _NO_PROPERTIES.fullmatch(name)
    }


def read_properties(file: str | Path) -> dict[str, str]:
    """The names and values in a file with the syntax of Java's properties files.

    Raises:
        KsqlError: BAD_REQUEST if it cannot be read.
    """
    try:
        text = Path(file).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise KsqlError("BAD_REQUEST", reason=f"Cannot read the properties file {file}: {reason}.") from None
    return parse_properties(text)


def parse_properties(text: str) -> dict[str, str]:
    r"""The names and values in a text with the syntax of Java's properties files.

    >>> parse_properties("# a comment\nlisteners = http://h:1\nlong: a \\\n  b\n! another\nflag")
    {'listeners': 'http://h:1', 'long': 'a b', 'flag': ''}
    """
    properties = {}
    for line in _logical_lines(re.split(r"\r\n?|\n", text)):
        match = re.match(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", line, re.DOTALL)
        assert match is not None  # every part of it may be empty
        properties[_unescape(match[1])] = _unescape(match[2])
    return properties


def _logical_lines(lines: Iterable[str]) -> Iterator[str]:
    """Lines without comments and blank lines; a line that ends with a backslash is joined with the next."""
    joined: str | None = None
    for line in lines:
        stripped = line.lstrip(" \t\f")
        if joined is None and (not stripped or stripped[0] in "#!"):
            continue
        joined = (joined or "") + stripped
        trailing = len(joined) - len(joined.rstrip("\\"))
        if trailing % 2:
            joined = joined[:-1]
        else:
            yield joined
            joined = None
    if joined is not None:
        yield joined


def _unescape(text: str) -> str:
    named = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
    return re.sub(
        r"\\(?:u([0-9a-fA-F]{4})|(.))",
        lambda match: chr(int(match[1], 16)) if match[1] else named.get(match[2], match[2]),
        text,
        flags=re.DOTALL,
    )
