"""The Accept header: what a client would take, and how gladly."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import Scope


def qualities(header: str) -> list[tuple[str, float]]:
    """The media ranges of an Accept header in lower case, each with its quality; an invalid one counts as 0.

    >>> qualities("text/html, */*;q=0.8")
    [('text/html', 1.0), ('*/*', 0.8)]
    """
    ranges = []
    for part in header.split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        q = next((p[2:] for p in parameters if p.startswith("q=")), "1")
        try:
            quality = float(q)
        except ValueError:
            quality = 0.0
        ranges.append((name.lower(), quality))
    return ranges


def prefers_page(scope: Scope) -> bool:
    """Whether a client would rather have HTML than JSON: a browser that opens a page, by its Accept.

    >>> prefers_page({"type": "http", "headers": [(b"accept", b"text/html,application/xml;q=0.9,*/*;q=0.8")]})
    True
    >>> prefers_page({"type": "http", "headers": [(b"accept", b"application/json, text/html;q=0.5")]})
    False
    >>> prefers_page({"type": "http", "headers": [(b"accept", b"*/*")]})
    False
    """
    weights = dict(qualities(",".join(Headers(scope=scope).getlist("accept"))))
    html = weights.get("text/html", 0.0)
    return html > 0 and html >= max(weights.get("application/json", 0.0), weights.get("*/*", 0.0))
