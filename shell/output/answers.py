"""Prints the entities that a request returned, in each output format (reference §8.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ksql_spark.shell.output.console import Console, Form
from ksql_spark.shell.output.entities import ENTITIES, Entity, command_done, one_line, unknown
from ksql_spark.shell.output.exports import EXPORTS
from ksql_spark.shell.output.flow import Tree, draw_tree
from ksql_spark.shell.output.table import Table, draw, draw_vertically
from ksql_spark.shell.output.text import fold, json_text, safe, width


def show(entities: Sequence[Entity], console: Console) -> None:
    """Print the entities that a request returned, in the console's current format."""
    SHOWN[console.form](entities, console)


def _show_json(entities: Sequence[Entity], console: Console) -> None:
    """The entities as the server returned them."""
    if entities:
        console.line(json_text(list(entities), indent=2))


def _show_json_lines(entities: Sequence[Entity], console: Console) -> None:
    """The entities as the server returned them, a line each."""
    for entity in entities:
        console.line(json_text(dict(entity)))


def _show_lines(entities: Sequence[Entity], console: Console) -> None:
    """The rows of the entities' tables as lines of the format; what has no table as lines of text."""
    export = EXPORTS[console.form]
    for entity in entities:
        parts = list(ENTITIES.get(str(entity.get("@type")), unknown)(entity))
        tables = [part for part in parts if isinstance(part, Table)]
        for number, one in enumerate(tables):
            if number:
                console.line()
            console.write(export.header(one.headers, one.right))
            console.write("".join(export.row(one.headers, row) for row in one.rows))
        for part in [] if tables else parts:
            console.line(draw_tree(part, console) if isinstance(part, Tree) else str(part))
        _warn(entity, console)


def _show_text(entities: Sequence[Entity], console: Console) -> None:
    """Tables and lines."""
    drawn = draw_vertically if console.form is Form.VERTICAL else draw
    for entity in entities:
        if len(entities) > 1 and entity.get("statementText"):
            console.line()
            console.line(console.cyan(safe(one_line(entity["statementText"]))))
        if console.is_brief and "commandStatus" in entity:
            console.line(one_line(command_done(entity)))
            _warn(entity, console)
            continue
        for part in ENTITIES.get(str(entity.get("@type")), unknown)(entity):
            match part:
                case Table():
                    cells = [[safe(cell) for cell in row] for row in part.rows]
                    console.line(drawn(replace(part, rows=cells), console))
                case Tree():
                    console.line(draw_tree(part, console))
                case _:
                    console.line(_wrapped(safe(part), console.columns))
        _warn(entity, console)


def _warn(entity: Entity, console: Console) -> None:
    for warning in entity.get("warnings") or []:
        console.warning(str(warning.get("message", "")))


def _wrapped(text: str, columns: int | None) -> str:
    """``text`` with lines of at most ``columns``, broken at words; what follows is indented."""
    lines = []
    for line in text.split("\n"):
        if columns is None or width(line) <= columns:
            lines.append(line)
            continue
        indent = 23 if line[20:23] == " : " else len(line) - len(line.lstrip()) + 2
        space = " " * min(indent, columns // 3)
        first = fold(line, columns)[0]
        lines.append(first)
        lines += [space + more for more in fold(line[len(first) :].lstrip(" "), columns - len(space))]
    return "\n".join(lines)


#: every output format
SHOWN: dict[Form, Callable[[Sequence[Entity], Console], None]] = {
    Form.TABULAR: _show_text,
    Form.VERTICAL: _show_text,
    Form.JSON: _show_json,
    Form.NDJSON: _show_json_lines,
    Form.CSV: _show_lines,
    Form.TSV: _show_lines,
    Form.MARKDOWN: _show_lines,
}
