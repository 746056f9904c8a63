"""A session with a server: settings in the client, and the execution of statements (§8.2).

Prompt, scripts and command line all use it; it prints results to the console.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ksql_spark.shell import statements
from ksql_spark.shell.client import Client, ClientError, ServerError, Settings
from ksql_spark.shell.output import answers, rows
from ksql_spark.shell.output.console import Console, Form
from ksql_spark.shell.quiet import Quiet, why_empty
from ksql_spark.shell.resuming import Frames, Resuming
from ksql_spark.shell.statements import Kind, StatementProblem

if TYPE_CHECKING:
    from ksql_spark import grammar

TICK_S = 0.1
#: how long a pull query's table waits for rows before it chooses its widths
FIRST_ROWS_S = 0.25
#: push queries that end sooner get no live view
LIVE_AFTER_S = 0.3
#: the error of a statement about a new version that is not ready yet, how long it is sent again, how often
UNFINISHED, READY_S, LOOK_S = 40901, 600.0, 0.5
#: statements that take longer say so
SLOW_S = 1.0
_PLAIN_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
#: a position in the server's messages: at the start of a line, because quoted statements are indented
_PLACE = re.compile(r"^line (\d+):(\d+)", re.M)


@dataclass(eq=False)
class Failure(Exception):
    """A statement that failed: its error, and the position in the text where the statement begins."""

    error: ClientError
    line: int
    column: int
    #: how many statements after it were skipped, or None if it was the only one
    skipped: int | None = None

    def __str__(self) -> str:
        return self.message

    @property
    def place(self) -> tuple[int, int]:
        """Line and column of the error in the whole text, or of the statement if the message has none."""
        match = _PLACE.search(str(self.error))
        if match is None:
            return self.line, self.column
        return _absolute(int(match[1]), int(match[2]), self.line, self.column)

    @property
    def message(self) -> str:
        """The error's text, with positions in the whole text."""

        def shifted(match: re.Match[str]) -> str:
            line, column = _absolute(int(match[1]), int(match[2]), self.line, self.column)
            return f"line {line}:{column}"

        return _PLACE.sub(shifted, str(self.error))

    def located(self, name: str) -> str:
        """``name:line:column: message`` for the script ``name``, without other positions in the message."""
        line, column = self.place
        message = re.sub(rf"{_PLACE.pattern}(: |\n|\Z)", "", self.message, count=1, flags=re.M)
        return f"{name}:{line}:{column}: {message}"

    def moved(self, lines: int) -> Failure:
        """The same failure with ``lines`` lines before the text."""
        return replace(self, line=self.line + lines)


def _absolute(line: int, column: int, first_line: int, first_column: int) -> tuple[int, int]:
    return first_line + line - 1, column + (first_column - 1 if line == 1 else 0)


class Session:
    """Runs statements and shows their results, with the settings of one user.

    Args:
        client: the client of the server.
        console: the console for answers.
        variables: variables from --define.
        properties: initial property overrides.
        row_limit: end queries after this many rows, or None for no limit.
        timeout_ms: end queries after this time, or None for no limit.
        before_request: called once before each request; waits for a server that is still starting.
    """

    def __init__(
        self,
        client: Client,
        console: Console,
        *,
        variables: Mapping[str, str] | None = None,
        properties: Mapping[str, str] | None = None,
        row_limit: int | None = None,
        timeout_ms: int | None = None,
        before_request: Callable[[], None] | None = None,
    ) -> None:
        self.client = client
        self.console = console
        self.variables = dict(variables or {})
        self.properties: dict[str, str] = dict(properties or {})
        self.row_limit = row_limit
        self.timeout_ms = timeout_ms
        self.before_request = before_request
        #: do not wait for earlier commands (request-pipelining ON)
        self.pipelining = False
        #: Ctrl-C ends only a running query; False in a script, which Ctrl-C ends completely
        self.interrupt_ends_query_only = True
        #: the last pull query
        self.last_pull: grammar.StatementText | None = None
        #: seconds that the last statement took
        self.last_took_s: float | None = None
        #: shows a push query that goes on; raises KeyboardInterrupt if the user ends it
        self.live: Callable[[Frames, QueryView], None] | None = None
        #: called with the id of a query that a statement has started
        self.on_start: Callable[[str], None] = lambda query_id: None
        #: whether Ctrl-C ended the last query
        self.was_interrupted = False
        #: prints results to a file instead of the screen
        self._file: Console | None = None
        #: warnings that have been shown
        self._warned: set[str] = set()
        #: the source of the last inserted rows, and their number
        self._inserted: tuple[str, int] | None = None

    @property
    def settings(self) -> Settings:
        """The settings for the next request."""
        return Settings(self.properties, self.variables, waits=not self.pipelining)

    @property
    def results(self) -> Console:
        """The console to which results go, or a file in the console's format."""
        if self._file is None:
            return self.console
        self._file.form, self._file.wrap = self.console.form, self.console.wrap
        self._file.column_width = self.console.column_width
        return self._file

    def send_results(self, path: Path | None) -> None:
        """Write results to a file from now on, or to the console again if None. Raises OSError."""
        opened = path.open("w", encoding="utf-8") if path is not None else None
        before, self._file = self._file, self.console.to_file(opened) if opened is not None else None
        if before is not None:
            before.close()

    def run(self, part: grammar.StatementText) -> None:
        """Run one statement and print its results.

        Raises:
            Failure: it failed.
        """
        try:
            match statements.kind_of(part):
                case Kind.PLAIN:
                    self._send(f"{part.text};")
                case Kind.QUERY:
                    self.query(part)
                case Kind.PRINT:
                    self.print_topic(f"{part.text};")
                case Kind.SET:
                    self.set(*statements.set_parts(part))
                case Kind.UNSET:
                    self.unset(statements.unset_name(part))
                case Kind.DEFINE:
                    self.define(*statements.define_parts(part))
                case Kind.UNDEFINE:
                    self.undefine(statements.undefine_name(part))
                case Kind.SHOW_VARIABLES:
                    self.show_variables()
                case Kind.COPY:
                    self.copy(statements.substitute(part.text, self.variables))
        except StatementProblem as problem:
            raise Failure(ClientError(str(problem)), part.line, part.column) from None
        except ClientError as error:
            raise Failure(error, part.line, part.column) from None

    def inserts_into(self, part: grammar.StatementText) -> tuple[str, int] | None:
        """The source to which ``part`` writes rows, and their number, if that should be reported; None for
        any other statement.
        """
        if not self.console.tty or not self.console.form.is_for_people:
            return None
        if part.verb != "INSERT":
            return None
        from ksql_spark import grammar
        from ksql_spark.grammar.statements.inserts import InsertValues

        try:
            tree = grammar.parse_statement(part, self.variables)
        except grammar.ParseFailed:
            return None  # the server reports the error
        return (tree.name, len(tree.rows)) if isinstance(tree, InsertValues) else None

    def count_inserted(self, target: str, count: int) -> None:
        """``count`` rows were written to ``target``."""
        if self._inserted is not None and self._inserted[0] != target:
            self.report_inserted()
        self._inserted = (target, (self._inserted[1] if self._inserted is not None else 0) + count)

    def report_inserted(self) -> None:
        """Report how many rows were written since the last report."""
        inserted, self._inserted = self._inserted, None
        if inserted is not None:
            target, count = inserted
            self.console.note(f"{count} row{'s' if count > 1 else ''} inserted into {target}")

    def _send(self, text: str) -> None:
        """Run ``text`` as one /ksql request and print the answer. Raises ClientError."""
        self._ready()
        began = time.monotonic()
        answer = self._answer(text)
        self.last_took_s = time.monotonic() - began
        for entity in answer:
            # the server repeats warnings about properties with each request; show each once
            warnings = {str(w.get("message", "")): w for w in entity.get("warnings") or []}
            entity["warnings"] = [w for message, w in warnings.items() if message not in self._warned]
            self._warned.update(warnings)
        self._add_rates(answer)
        with self.results.paging():
            answers.show(answer, self.results)
        for entity in answer:
            if query_id := (entity.get("commandStatus") or {}).get("queryId"):
                self.on_start(str(query_id))
            if self.console.form.is_for_people and (note := _started(entity)) is not None:
                self.console.note(note)
        if self.console.timing and self.last_took_s >= SLOW_S and self.console.form.is_for_people:
            self.console.note(f"({duration(self.last_took_s)})")

    def _answer(self, text: str) -> list[dict[str, Any]]:
        """The answer to a request, which is sent again while a new version is not ready for it."""
        deadline = time.monotonic() + READY_S
        what = self._what_waits(text)
        while True:
            try:
                with self.console.busy(what):
                    return self.client.run(text, self.settings)
            except ServerError as error:
                if error.code != UNFINISHED or time.monotonic() > deadline:
                    raise
                reason = error.message.splitlines()[0]
            until = time.monotonic() + LOOK_S
            try:
                while time.monotonic() < until:
                    self.console.status(f"waiting: {reason}")
                    time.sleep(TICK_S)
            except KeyboardInterrupt:
                raise KeyboardInterrupt("The statement has done nothing.") from None
            finally:
                self.console.clear_status()

    def _what_waits(self, text: str) -> str | Callable[[], str]:
        """What the status line says while a request runs."""
        if not text.lstrip().upper().startswith("FORGET"):
            return "running"
        from ksql_spark import grammar
        from ksql_spark.grammar.statements.lifecycle import Forget
        from ksql_spark.shell.waiting import Remaining

        try:
            tree = grammar.parse_statement(grammar.split(text)[0], self.variables)
        except grammar.ParseFailed:
            return "running"  # the server reports the error
        return Remaining(self.client, tree.name) if isinstance(tree, Forget) else "running"

    def _add_rates(self, answer: Sequence[dict[str, Any]]) -> None:
        """Add the graph with the rates to EXPLAIN of a running query, for people."""
        for entity in answer:
            described = entity.get("queryDescription") or {}
            if described.get("state") and self.console.form.is_for_people:
                with contextlib.suppress(ClientError):  # an old server, or users who may not see it
                    described["graph"] = self.client.graph()

    def query(self, part: grammar.StatementText) -> None:
        """Run a SELECT and print its rows as they arrive; Ctrl-C ends it.

        Raises:
            ClientError: it failed.
            KeyboardInterrupt: Ctrl-C, in a script.
        """
        self._ready()
        is_push, text = part.is_push, f"{part.text};"
        self.last_pull = self.last_pull if is_push else part
        began = time.monotonic()
        with self.console.busy():
            stream: Frames
            # with a LIMIT, the rest would be counted anew
            if is_push and self.live is not None and not part.has("LIMIT"):
                stream = Resuming(self.client, text, self.settings)
            else:
                stream = self.client.query(text, self.settings)
        if is_push and part.has("JOIN") and self.console.form.is_for_people:
            stream = Quiet(stream, self.client)
        view = QueryView(self.results, is_push, text)
        with self.results.paging() if not is_push else contextlib.nullcontext():
            self._show_stream(stream, view)
        if not is_push and not view.count and view.error is None:
            self._explain_empty(text)
        self._report_end(view, "Query terminated", began)

    def _explain_empty(self, text: str) -> None:
        """Say why a pull query may have found nothing yet, to people."""
        if not self.console.form.is_for_people:
            return
        from ksql_spark import grammar
        from ksql_spark.grammar.nodes import AliasedSource

        # an old server, users who may not see it, or a text that only the server can read
        with contextlib.suppress(ClientError, grammar.ParseFailed):
            (statement,) = grammar.parse(text, self.variables)
            sources = {one.source_name for one in statement.find_all(AliasedSource)}
            if why := why_empty(self.client.graph(), sources):
                self.console.note(why)

    def copy(self, text: str) -> None:
        """Run a COPY. Raises ClientError."""
        from ksql_spark.shell import copying

        self._ready()
        copy = copying.parsed(text)
        if copy.target is not None:
            (described,) = self.client.run(f"DESCRIBE {copy.target};", self.settings)
            fields = {one["name"]: one["schema"] for one in described["sourceDescription"]["fields"]}
            with self.console.busy(f"reading {copy.file.name}"):
                try:
                    count = self.client.insert(copy.target, copying.rows_of(copy.file, fields))
                except ServerError as error:
                    raise copying.refused(error, copy.file) from None
            self.console.note(f"{count} row{'' if count == 1 else 's'} inserted into {copy.target}")
            return
        assert copy.query is not None, "the other form"
        form, where = copy.form, self.console.form
        if copy.query.is_push:
            raise ClientError("COPY takes a pull query: a push query has no end.")
        before, self._file = self._file, None
        try:
            self.send_results(copy.file)
            self.console.form = form
            self.query(copy.query)
        except OSError as error:
            raise ClientError(f"Cannot write {copy.file}: {error.strerror}.") from None
        finally:
            self.console.form = where
            self.send_results(None)
            self._file = before

    def print_topic(self, text: str) -> None:
        """Run a PRINT; Ctrl-C ends it. Raises the same errors as query."""
        self._ready()
        began = time.monotonic()
        with self.console.busy():
            stream = self.client.print_topic(text, self.settings)
        view = _LinesView(self.results)
        self._show_stream(stream, view)
        self._report_end(view, "Topic printing ceased", began)

    def limited(self, frames: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
        """``frames`` up to the row limit, after ``count`` rows."""
        return frames if self.row_limit is None else _limited(frames, self.row_limit - count)

    def is_over(self, count: int, began: float) -> bool:
        """Whether a query that began at ``began`` and has returned ``count`` rows has reached a limit."""
        if self.row_limit is not None and count >= self.row_limit:
            return True
        return self.timeout_ms is not None and time.monotonic() >= began + self.timeout_ms / 1000

    def _show_stream(self, stream: Frames, view: View) -> None:
        began = time.monotonic()
        self.was_interrupted = False
        live = self._live_for(view, stream)
        try:
            while (frames := stream.read(TICK_S)) is not None:
                view.show(self.limited(frames, view.count))
                if self.is_over(view.count, began) or self.console.is_left:
                    break
                if live is not None and time.monotonic() - began > LIVE_AFTER_S and view.error is None:
                    self.console.clear_status()
                    live()
                    break
                if not frames and view.is_quiet:
                    self.console.status("Press CTRL-C to interrupt")
        except KeyboardInterrupt:
            self.was_interrupted = True
            if not self.interrupt_ends_query_only:
                raise
        finally:
            self.console.clear_status()
            stream.close()
            view.end()
        if view.error is not None:
            raise view.error

    def _live_for(self, view: View, stream: Frames) -> Callable[[], None] | None:
        """Shows a push query in a live view; None if it is to be printed."""
        live = self.live
        if live is None or self.console.plain or not isinstance(view, QueryView) or not view.is_push:
            return None
        if view.console is not self.console or self.console.form is not Form.TABULAR:
            return None
        view.early = []
        return lambda: live(stream, view)

    def _report_end(self, view: View, farewell: str, began: float) -> None:
        self.last_took_s = time.monotonic() - began
        if self.console.form.is_for_people:
            if view.final_message:
                self.console.note(view.final_message)
            details = f" ({view.counted}, {duration(self.last_took_s)})" if self.console.timing else ""
            self.console.note(farewell + details)

    def set(self, name: str, value: str) -> None:
        """SET: add an override for further requests, if the server accepts the property."""
        name, value = (statements.substitute(part, self.variables) for part in (name, value))
        self._ready()
        # the server validates property and value, and may return a warning
        others = {other: override for other, override in self.properties.items() if other != name}
        statement = f"SET {statements.quoted_text(name)} = {statements.quoted_text(value)};"
        for entity in self.client.run(statement, Settings(others)):
            self._warn(str(entity.get("message", "")))
        before = f" from '{self.properties[name]}'" if name in self.properties else ""
        self.properties[name] = value
        self.console.note(f"Successfully changed local property '{name}'{before} to '{value}'.")

    def _warn(self, message: str) -> None:
        self._warned.add(message)
        self.console.warning(message)

    def unset(self, name: str) -> None:
        """UNSET: remove an override."""
        if name not in self.properties:
            raise StatementProblem(
                f"Cannot unset local property '{name}', which was never set in this session."
            )
        self.console.note(
            f"Successfully unset local property '{name}' (value was '{self.properties.pop(name)}')."
        )

    def define(self, name: str, value: str) -> None:
        """DEFINE: set a variable; names are case-insensitive."""
        self.undefine(name, quiet=True)
        self.variables[name] = statements.substitute(value, self.variables)

    def undefine(self, name: str, quiet: bool = False) -> None:
        """UNDEFINE: remove a variable."""
        variable = next((variable for variable in self.variables if variable.upper() == name.upper()), None)
        if variable is not None:
            del self.variables[variable]
        elif not quiet:
            self.console.warning(f"Cannot undefine variable '{name}' which was never defined")

    def show_variables(self) -> None:
        """SHOW VARIABLES."""
        listed = [{"name": name, "value": value} for name, value in sorted(self.variables.items())]
        answers.show([{"@type": "variables", "variables": listed}], self.results)

    def _ready(self) -> None:
        if self.before_request is not None:
            self.before_request()


class View:
    """Prints the frames of a stream."""

    #: whether a status line may be shown
    is_quiet = True
    #: what it counts
    unit = "row"

    def __init__(self, console: Console) -> None:
        self.console = console
        self.count = 0
        self.error: ServerError | None = None
        self.final_message: str | None = None

    @property
    def counted(self) -> str:
        """Describe how much was shown, such as "1 row"."""
        return f"{self.count:,} {self.unit}{'' if self.count == 1 else 's'}"

    def show(self, frames: Sequence[Mapping[str, Any]]) -> None:
        """Print frames; called with [] if none arrived."""
        raise NotImplementedError

    def end(self) -> None:
        """Print what remains to be printed at the end."""


class _LinesView(View):
    """Shows the lines of a PRINT; it counts records, not what is said of their formats."""

    unit = "record"

    def show(self, frames: Sequence[Mapping[str, Any]]) -> None:
        """Print the lines."""
        lines = [frame["line"] for frame in frames if "line" in frame]
        self.error = next((ServerError(f["errorMessage"]) for f in frames if "errorMessage" in f), None)
        self.count += sum(line.startswith("rowtime: ") for line in lines)
        if lines:  # a carriage return would let the rest of its line replace the beginning
            self.console.write("".join(f"{line}\n" for line in lines).replace("\r", "\\r"))


class QueryView(View):
    """SELECT: header, rows, end."""

    def __init__(self, console: Console, is_push: bool, text: str) -> None:
        super().__init__(console)
        self.text = text
        self.is_push = is_push
        self.header: Mapping[str, Any] | None = None
        #: whether the header was printed
        self.has_begun = False
        #: what was said beside the rows
        self.note = ""
        #: the rows before a live view begins; None if there will be none
        self.early: list[Mapping[str, Any]] | None = None
        self._printer: rows.Printer | None = None
        self._first: list[Mapping[str, Any]] = []
        self._began = 0.0
        #: the width of the terminal for which the printer was made
        self._drawn_for: int | None = None

    def show(self, frames: Sequence[Mapping[str, Any]]) -> None:
        """Print the rows."""
        self.print(self.take(frames))
        self.print_note()

    def print_note(self) -> None:
        """Print the server's note, once."""
        note, self.note = self.note, ""
        if note:
            self.console.note(self.console.dim(note))

    def take(self, frames: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Record the notes in frames; return their rows."""
        arrived = []
        for frame in frames:
            if "row" in frame:
                arrived.append(frame["row"])
            elif "note" in frame:
                self.note = frame["note"]
            elif "header" in frame:
                self.header = frame["header"]
                self._began = time.monotonic()
            elif "errorMessage" in frame:
                self.error = ServerError(frame["errorMessage"])
            elif "finalMessage" in frame:
                self.final_message = str(frame["finalMessage"])
        self.count += len(arrived)
        if self.early is not None:
            self.early += arrived
        return arrived

    def print(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Print rows; those of a pull query are delayed for a moment, to choose the table's widths."""
        if self._printer is not None and self.console.columns == self._drawn_for:
            if rows:
                self._printer.rows(rows)
            return
        if self._printer is not None:
            self._printer = None  # the terminal has another width now: the table begins again
        self._first += rows
        if self.header is not None and (self.is_push or time.monotonic() - self._began > FIRST_ROWS_S):
            self._begin()

    def end(self) -> None:
        """Print delayed rows, and the table's lower edge; further rows begin another table."""
        if not self.has_begun and self.header is not None and (self._first or self.error is None):
            self._begin()
        if self._printer is not None:
            self._printer.footer()
            self._printer = None

    def _begin(self) -> None:
        assert self.header is not None
        self.has_begun = True
        self._drawn_for = self.console.columns
        self._printer = rows.printer(self.console, self.header, self._first, self.is_push)
        self._printer.header()
        if self._first:
            self._printer.rows(self._first)
        self._first = []


def _started(entity: Mapping[str, Any]) -> str | None:
    """Describe where to look after a statement that started a query; None if it started none."""
    query_id = (entity.get("commandStatus") or {}).get("queryId")
    if not query_id:
        return None
    from ksql_spark import grammar
    from ksql_spark.grammar.statements.inserts import InsertSelect
    from ksql_spark.grammar.statements.sources import CreateAsSelect

    how = f"EXPLAIN {query_id}; says how it runs."
    if not str(entity.get("commandId")).endswith("/create"):  # a new version, which may not write yet
        return how
    try:
        (tree,) = grammar.parse(str(entity.get("statementText") or ""))
    except (grammar.ParseFailed, ValueError):
        return how
    if not isinstance(tree, (CreateAsSelect, InsertSelect)):
        return how
    name = tree.name if _PLAIN_NAME.fullmatch(tree.name) else statements.quoted_name(tree.name)
    return f"SELECT * FROM {name} EMIT CHANGES; shows its rows, {how}"


def duration(seconds: float) -> str:
    """A time for people.

    >>> duration(0.0123), duration(2.34), duration(125)
    ('12 ms', '2.3 s', '2 min 5 s')
    """
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def _limited(frames: list[dict[str, Any]], rows_left: int) -> list[dict[str, Any]]:
    """``frames`` up to the row that reaches the limit."""
    shown = []
    for frame in frames:
        if "row" in frame or "line" in frame:
            if rows_left <= 0:
                break
            rows_left -= 1
        shown.append(frame)
    return shown
