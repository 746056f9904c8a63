"""The Accept header: what a client would take, and how gladly."""

from __future__ import annotations


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
