"""Functions on URLs (reference §4.7)."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spark_text import string, variable
from ksql_spark.functions.spec import ALL_LIMITS, BY_ARGUMENTS, Category, Example, Spec, scalar
from ksql_spark.types import SqlType

Types = Sequence[SqlType]

_URL = "http://user@www.test.com:8080/a%20b?one=a&two=x%20y&three&one=c#frag"


def _part(url: str, part: str) -> str:
    return f"try_parse_url({url}, '{part}')"


def _decoded(text: str) -> str:
    # java.net.URI decodes %XX, and keeps +
    return f"try_url_decode(replace({text}, '+', '%2B'))"


def _port(args: Sequence[str], _: Types) -> str:
    # without a host that java.net.URI accepts, for example with an underscore in it, there is no port either
    authority = f"if({_part(args[0], 'HOST')} is null, NULL, {_part(args[0], 'AUTHORITY')})"
    return f"cast(nullif(regexp_extract({authority}, {string(':([0-9]+)$')}, 1), '') as int)"


def _parameter(args: Sequence[str], _: Types) -> str:
    url, name = args
    p = variable(url, name)
    # as in ksqlDB, the query is decoded before it is split
    pairs = f"split({_decoded(_part(url, 'QUERY'))}, '&')"
    pair = f"filter({pairs}, {p} -> substring_index({p}, '=', 1) = {name})[0]"
    return f"substr({pair}, length({name}) + 2)"


def _extract(name: str, description: str, lowered: str, *examples: Example) -> Spec:
    """``lowered``: a part of parse_url."""
    is_decoded = lowered in ("REF", "PATH", "QUERY")
    return scalar(
        f"URL_EXTRACT_{name}",
        Category.URL,
        description,
        (signature("url STRING -> STRING"),),
        lambda args, _: _decoded(_part(args[0], lowered)) if is_decoded else _part(args[0], lowered),
        *examples,
        parameters={"url": "a URL"},
        limits=BY_ARGUMENTS,
    )


SPECS: tuple[Spec, ...] = (
    scalar(
        "URL_DECODE_PARAM",
        Category.URL,
        "Decodes a form-encoded parameter.",
        (signature("text STRING -> STRING"),),
        lambda args, _: f"try_url_decode({args[0]})",
        Example(("%3Ffoo+%24bar",), "?foo $bar"),
        Example(("%zz",), None),
        parameters={"text": "encoded text"},
        can_fail=True,
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "URL_ENCODE_PARAM",
        Category.URL,
        "Form-encodes a text as a URL parameter.",
        (signature("text STRING -> STRING"),),
        lambda args, _: f"url_encode({args[0]})",
        Example(("?foo $bar",), "%3Ffoo+%24bar"),
        parameters={"text": "any text"},
        can_fail=True,
        limits=ALL_LIMITS,
        grows=True,
    ),
    _extract("FRAGMENT", "The fragment of a URL, after the #.", "REF", Example((_URL,), "frag")),
    _extract("HOST", "The host of a URL.", "HOST", Example((_URL,), "www.test.com"), Example(("a b",), None)),
    _extract("PATH", "The path of a URL.", "PATH", Example((_URL,), "/a b"), Example(("http://t.com",), "")),
    _extract(
        "PROTOCOL",
        "The protocol of a URL.",
        "PROTOCOL",
        Example((_URL,), "http"),
        Example(("www.confluent.io",), None),
    ),
    _extract("QUERY", "The query of a URL.", "QUERY", Example(("http://t.com/?a=b&c",), "a=b&c")),
    scalar(
        "URL_EXTRACT_PORT",
        Category.URL,
        "The port in a URL; NULL if it has none.",
        (signature("url STRING -> INTEGER"),),
        _port,
        Example((_URL,), 8080),
        Example(("http://test@confluent.io",), None),
        Example(("http://my_host:80/a",), None),
        parameters={"url": "a URL"},
    ),
    scalar(
        "URL_EXTRACT_PARAMETER",
        Category.URL,
        "The value of the first parameter with a name in a URL's query; empty if it has no value.",
        (signature("url STRING, name STRING -> STRING"),),
        _parameter,
        Example((_URL, "one"), "a"),
        Example((_URL, "two"), "x y"),
        Example((_URL, "three"), ""),
        Example((_URL, "four"), None),
        Example(("http://t.com/?a%20b=c%20d", "a b"), "c d"),
        Example(("http://t.com/?a%20b=c%20d", "a%20b"), None),
        Example(("http://t.com/?a=1%26b=2", "b"), "2"),
        Example(("http://t.com/?a=b=c&d", "a"), "b=c"),
        parameters={"url": "a URL", "name": "which parameter"},
        limits=BY_ARGUMENTS,
    ),
)
