"""``%load_ext ksql_spark``: the magics ``%ksql`` and ``%%ksql`` of IPython, Jupyter and VS Code."""

from __future__ import annotations

import argparse
import html
import io
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from IPython.core.completer import (
    CompletionContext,
    SimpleCompletion,
    SimpleMatcherResult,
    context_matcher,
)
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.display import display

import ksql_spark
from ksql_spark import client, grammar
from ksql_spark.client.database import Database
from ksql_spark.shell.client import Client
from ksql_spark.shell.output import answers
from ksql_spark.shell.output.chart import Chart
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.output.live import LiveTable, key_of
from ksql_spark.shell.output.rows import columns_of
from ksql_spark.shell.prompt.completion import complete
from ksql_spark.shell.prompt.metadata import MetadataCache

#: how often a live table is drawn, seconds; and how high it is
_DRAW_S = 0.25
_LINES = 24
_CHART_COLUMNS = 100
_BARS, _LINES_OVER_TIME = "bars", "lines"
_OPTIONS = ("--connect", "--limit", "--timeout", "--chart")
#: the options at the beginning of a line, with their values
_LEADING = re.compile(rf"(?:\s*(?:{'|'.join(_OPTIONS)})(?:[ =]+[^\s;]+)?(?=\s|$))*")
#: what IPython calls our completion
_MATCHER = "ksql"
_CELL = re.compile(r"\s*%%ksql\b(?P<statement>.*)", re.DOTALL)
_LINE = re.compile(r"(?:.*\n)?(?:[\w\s,]+=)?\s*%ksql\b(?P<statement>[^\n]*)", re.DOTALL)
#: an option that is being written, behind others
_OPTION = re.compile(rf"{_LEADING.pattern}\s*(?P<option>--\w*)")


class Shown:
    """Text in the shell's form, for all that displays."""

    def __init__(self, text: str) -> None:
        self.text = text.rstrip("\n")

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


class StatementFailed(Exception):
    """A statement failed, and so did its cell. The server's message has the place with a caret."""

    def _render_traceback_(self) -> list[str]:
        # a stack trace would hide the message
        return [str(self)]


@magics_class
class KsqlMagics(Magics):
    """The magics, and their connection."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self.database: Database | None = None
        self._metadata: MetadataCache | None = None

    @no_var_expand
    @line_cell_magic
    def ksql(self, line: str, cell: str | None = None) -> Any:
        """Run statements of KSQL; the last one's result is that of the cell.

        %ksql SELECT …;             one line
        %%ksql [--timeout SECONDS] [--limit ROWS] [--chart bars|lines]
                                    a cell of statements; a push query ends after so long, or so many rows;
                                    it is drawn as bars by key, or as lines over time
        %ksql --connect [URL]       use this server; without a URL, the one that runs here, or its own engine

        A pull query gives a pandas.DataFrame if pandas is installed. A push query gives a table that updates
        in place until the cell is interrupted. A cell fails with the first statement that fails.
        """
        options, text = _options(line, cell)
        result: Any = None
        if options.connect is not None:
            result = Shown(f"Connected to {self.connect(options.connect or None).url}")
        try:
            for piece in grammar.split(text):
                if result is not None:
                    display(result)  # type: ignore[no-untyped-call]
                result = self._run(piece, options)
        except client.Error as error:
            if result is not None:
                display(result)  # type: ignore[no-untyped-call]
            raise StatementFailed(str(error)) from None
        return result

    def connect(self, url: str | None) -> Database:
        """Use a server from now on; without a URL as ksql_spark.connect(). Raises UsageError."""
        self.close()
        try:
            self.database = ksql_spark.connect(url, report=_Progress())
        except client.Error as error:
            raise UsageError(str(error)) from None
        self._metadata = MetadataCache(Client(self.database.url))
        self._metadata.refresh()
        return self.database

    def close(self) -> None:
        """End the connection, and an engine that it started."""
        if self._metadata is not None:
            self._metadata.close()
        if self.database is not None:
            self.database.close()
        self.database = self._metadata = None

    def _run(self, piece: grammar.StatementText, options: argparse.Namespace) -> Any:
        database, text = self.database or self.connect(None), f"{piece.text};"
        if piece.is_query:
            if not piece.is_push and find_spec("pandas") is not None:
                return database.sql(text).df(options.limit)
            _live(database, piece, options)
            return None
        answer = database.connection.run(text)
        if self._metadata is not None:
            self._metadata.refresh()
        return _Answer(answer) if answer else None

    def complete(self, text: str) -> Iterator[str]:
        """Yield what may stand at the end of ``text`` in place of its last word."""
        cell = _CELL.fullmatch(text) or _LINE.fullmatch(text)
        if cell is None:
            return
        if (option := _OPTION.fullmatch(cell["statement"])) is not None:
            yield from (one for one in _OPTIONS if one.startswith(option["option"]))
        elif self._metadata is not None:
            for candidate in complete(cell["statement"], self._metadata.current):
                yield candidate.text


class _Answer(Shown):
    """The results of statements that are not queries; ``entities`` are those of the REST API."""

    def __init__(self, answer: Sequence[Mapping[str, Any]]) -> None:
        out = io.StringIO()
        answers.show([dict(one) for one in answer], Console(out, tty=False))
        super().__init__(out.getvalue())
        self.entities = list(answer)


def _options(line: str, cell: str | None) -> tuple[argparse.Namespace, str]:
    """The options of a magic, and its statements. Raises UsageError."""
    parser = _Parser(prog="%ksql", add_help=False, allow_abbrev=False)
    parser.add_argument("--connect", metavar="URL", nargs="?", const="")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--timeout", type=float)
    parser.add_argument("--chart", choices=(_BARS, _LINES_OVER_TIME))
    leading = _LEADING.match(line)
    end = leading.end() if leading is not None else 0
    options = parser.parse_args(line[:end].split())
    if cell is not None and line[end:].strip():
        raise UsageError(
            f"%%ksql takes options in its first line, and statements below it: {line[end:].strip()}"
        )
    return options, line[end:] if cell is None else cell


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise UsageError(message)


class _Progress:
    """Shows the progress of a start in one place of a notebook."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._last = ""

    def __call__(self, text: str) -> None:
        words = text.partition(" (")[0]
        if words == self._last:
            return
        self._last = words
        if self._handle is None:
            self._handle = display(Shown(text), display_id=True)  # type: ignore[no-untyped-call]
        if self._handle is not None:
            self._handle.update(Shown(text))


def _live(database: Database, piece: grammar.StatementText, options: argparse.Namespace) -> None:
    """Show the rows of a query while they come, as a table or a chart.

    The rows of a table are shown by their key, each with its latest values, the others in their order.
    Interrupting the cell ends the query.
    """
    limit, timeout, text = options.limit, options.timeout, f"{piece.text};"
    keys: list[str] = []
    if piece.is_push:
        (explained,) = database.connection.run(f"EXPLAIN {text}")
        keys = key_of(explained.get("queryDescription") or {})
    began = time.monotonic()
    count = 0
    view: _View | None = None
    handle: Any = None
    frames = database.connection.frames(text)
    try:
        while (arrived := frames.read(_DRAW_S)) is not None:
            for frame in arrived:
                if "header" in frame:
                    view = _View(str(frame["header"].get("schema", "")), keys, options.chart)
                elif "errorMessage" in frame:
                    raise client.DatabaseError(str(frame["errorMessage"].get("message")))
                elif "row" in frame and view is not None and (limit is None or count < limit):
                    view.take(frame["row"])
                    count += 1
            if view is not None:
                page = Shown(f"{view.text()}{count} rows")
                if handle is None:
                    handle = display(page, display_id=True)  # type: ignore[no-untyped-call]
                elif arrived:
                    handle.update(page)
            is_over = timeout is not None and time.monotonic() - began >= timeout
            if is_over or (limit is not None and count >= limit):
                break
    except KeyboardInterrupt:
        pass  # that is how a cell ends a push query
    finally:
        frames.close()


class _View:
    """The rows of a push query as a table, or as a chart.

    Args:
        schema: of the header frame.
        keys: names of the columns by which rows are updated.
        chart: bars or lines, or None for a table.
    """

    def __init__(self, schema: str, keys: Sequence[str], chart: str | None) -> None:
        columns = columns_of(schema)
        self._is_bars = chart == _BARS
        self._chart = None if chart is None else Chart(columns, keys)
        self._table = LiveTable(columns, keys)
        self._console = Console(io.StringIO(), tty=chart is not None, columns=_CHART_COLUMNS)
        self._console.colours = False

    def take(self, row: Mapping[str, Any]) -> None:
        """Apply a row frame."""
        (self._table if self._chart is None else self._chart).take([row])

    def text(self) -> str:
        """The current text of the view."""
        if self._chart is None:
            return self._table.text(self._console, _LINES)
        return self._chart.text(self._console, _LINES, is_bars=self._is_bars) + "\n"


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Called by %load_ext ksql_spark."""
    magics = KsqlMagics(shell)
    shell.register_magics(magics)

    @context_matcher(identifier=_MATCHER)  # type: ignore[untyped-decorator]
    def completions(context: CompletionContext) -> SimpleMatcherResult:
        lines = context.full_text.split("\n")
        line = lines[context.cursor_line][: context.cursor_position]
        candidates = list(magics.complete("\n".join([*lines[: context.cursor_line], line])))
        return {
            "completions": [SimpleCompletion(text, type="ksql") for text in candidates],
            "suppress": bool(candidates),
        }

    assert shell.Completer is not None, "an InteractiveShell has one"
    shell.Completer.custom_matchers.append(completions)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Called by %unload_ext ksql_spark."""
    completer = shell.Completer
    completer.custom_matchers = [
        one for one in completer.custom_matchers if one.matcher_identifier != _MATCHER
    ]
    magics = shell.magics_manager.registry.get(KsqlMagics.__name__)
    if isinstance(magics, KsqlMagics):
        magics.close()
