"""Tables of test files: rows of texts, with ``|`` between them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

Cells = list[str]
#: the value columns of a record that deletes its key
DELETED = "<deleted>"


def cell(value: Any) -> str:
    """A value of the REST API's form as it stands in a table."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        is_plain = value == value.strip() and value not in ("", "NULL") and value.isprintable()
        # a border is told from a | in a text by the quotes around it, so these must be in pairs
        is_plain = is_plain and not set(value) & set("|\\") and value.count('"') % 2 == 0
        return value if is_plain else json.dumps(value, ensure_ascii=False)
    return _json(value)


def _json(value: Any) -> str:
    """JSON with all digits of a DECIMAL, at any depth."""
    match value:
        case Decimal():
            return f"{value:f}"
        case list():
            return f"[{', '.join(map(_json, value))}]"
        case dict():
            return f"{{{', '.join(f'{_json(name)}: {_json(part)}' for name, part in value.items())}}}"
        case _:
            return json.dumps(value, ensure_ascii=False)


def split_row(text: str) -> Cells:
    """The cells of a table's line (a ``|`` inside of a quoted text is not a border)."""
    cells, current, is_quoted = [], "", False
    for character in text:
        if character == '"' and not current.endswith("\\"):
            is_quoted = not is_quoted
        if character == "|" and not is_quoted:
            cells.append(current.strip())
            current = ""
        else:
            current += character
    return [*cells, current.strip()]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table with its columns aligned."""
    every = [[*row, *[""] * (len(header) - len(row))] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in every) for i in range(len(header))]
    return [" | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in every]


def difference(header: Sequence[str], expected: Sequence[Cells], actual: Sequence[Cells]) -> str:
    """The expected rows, and the actual ones below them."""
    titles, rows = [""], list[Cells]()
    for title, some in (("EXPECTED", expected), ("ACTUAL", actual)):
        rows += some or [["(no row)"]]
        titles += [title, *[""] * (len(rows) - len(titles))]
    lines = table(header, rows)
    return "\n".join(f"  {title:<8}  {line}".rstrip() for title, line in zip(titles, lines, strict=True))
