"""Live views of a push query at the prompt: a log of changes, a table that updates in place, and charts."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import ConditionalContainer, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.output import Output

from ksql_spark.shell.client import ClientError
from ksql_spark.shell.output.chart import Chart
from ksql_spark.shell.output.console import Form
from ksql_spark.shell.output.exports import EXPORTS
from ksql_spark.shell.output.figures import behind
from ksql_spark.shell.output.live import LiveTable
from ksql_spark.shell.output.rows import Column, shown_columns, value_at
from ksql_spark.shell.output.text import TOMBSTONE, clip, clip_start
from ksql_spark.shell.prompt.repl import PROMPT
from ksql_spark.shell.session import QueryView, Session, duration

if TYPE_CHECKING:
    from ksql_spark.shell.resuming import Frames

#: between two looks at what has arrived, and the span of the rate
TICK_S = 0.05
RATE_S = 2.0
#: between two questions for the figures of other queries
FIGURES_S = 2.0
#: between two charts, which take longer to draw than tables
CHART_S = 0.2
#: how many rows `w` writes at most: the last ones
MOST_SEEN = 100_000
#: how long the bottom line shows what was done
SAID_S = 5.0
LOG, TABLE, BARS, LINES = "log", "table", "bars", "lines"
#: a key acts if no other comes within this time: other keys are text for the next prompt. People who type
#: fast have 0.1 s between keys, others 0.2 s
ALONE_S = 0.25
#: how many rows that came while the table was shown are logged after it
MOST_UNLOGGED = 1000


def explained(session: Session, text: str) -> Mapping[str, Any]:
    """The description of a push query; {} if nobody may know."""
    try:
        answer = session.client.run(f"EXPLAIN {text}", session.settings)
    except ClientError:
        return {}
    return next((one["queryDescription"] for one in answer if one.get("queryDescription")), {})


class LiveQuery:
    """Shows the rows of one push query until it ends or the user ends it.

    Args:
        session: the session.
        stream: the query's frames.
        view: prints the log.
        key: the key of the table.
        input: by default the terminal.
        output: by default the terminal.
        sources: what it reads, for the lag and the errors of the queries that write these.
    """

    def __init__(
        self,
        session: Session,
        stream: Frames,
        view: QueryView,
        key: Sequence[str] = (),
        input: Input | None = None,
        output: Output | None = None,
        *,
        sources: Sequence[str] = (),
    ) -> None:
        self._session = session
        self._console = session.console
        self._stream = stream
        self._view = view
        self._key = key
        self._sources = sources
        #: how far the queries are that write the sources
        self._behind = ""
        self._is_over = threading.Event()
        self._table: LiveTable | None = None
        self._chart: Chart | None = None
        self._seen: deque[Mapping[str, Any]] = deque(maxlen=MOST_SEEN)
        #: what was said last, such as the name of a file, and until when it is shown
        self._notice: tuple[str, float] = ("", 0.0)
        self._drawn_at = 0.0
        self._columns: Sequence[Column] = ()
        self._early, view.early = view.early or [], None
        self._mode = LOG
        self._is_paused = self._is_ended_by_user = False
        #: what was typed for the next prompt
        self._typed: list[KeyPress] = []
        #: a key that acts if it stays alone, and the timer that decides
        self._waiting: tuple[KeyPress, asyncio.TimerHandle] | None = None
        self._began = time.monotonic()
        self._arrivals: deque[tuple[float, int]] = deque()
        self._unlogged: deque[Mapping[str, Any]] = deque(maxlen=MOST_UNLOGGED)
        self._picture = ""
        self._app: Application[None] = Application(
            layout=Layout(
                HSplit(
                    [
                        ConditionalContainer(
                            Window(
                                FormattedTextControl(lambda: ANSI(self._picture)),
                                dont_extend_height=True,
                            ),
                            Condition(lambda: self._mode != LOG),
                        ),
                        Window(FormattedTextControl(self._bottom), height=1),
                    ]
                )
            ),
            key_bindings=self._bindings(),
            erase_when_done=True,
            input=input,
            output=output,
        )

    def run(self) -> None:
        """Show rows until the end. Raises KeyboardInterrupt if the user ends the query."""
        try:
            self._app.run(pre_run=self._start)
        finally:
            self._is_over.set()
            if (waiting := self._stop_waiting()) is not None:
                self._typed.append(waiting)
            store_typeahead(self._app.input, [*self._typed, *get_typeahead(self._app.input)])
        if self._mode == TABLE and self._table is not None:
            self._console.write(self._table.text(self._console, self._height, now=float("inf")))
        elif self._mode != LOG:
            self._draw()
            self._console.line(self._picture)
        if self._is_ended_by_user:
            raise KeyboardInterrupt

    def _start(self) -> None:
        self._app.create_background_task(self._pump())
        if self._sources:
            # a thread that nobody waits for: Ctrl-C has to work while the server does not answer
            threading.Thread(target=self._follow, name="figures", daemon=True).start()

    def _follow(self) -> None:
        """Ask for the figures of the queries before this one, until the end."""
        while not self._is_over.is_set():
            with contextlib.suppress(ClientError, RuntimeError):  # RuntimeError: the client was closed
                self._behind = behind(self._session.client.graph(), self._sources)
            self._is_over.wait(FIGURES_S)

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        @bindings.add("c-c")
        @bindings.add("<sigint>")
        def _(event: KeyPressEvent) -> None:
            self._end()

        @bindings.add(Keys.Any)
        def _(event: KeyPressEvent) -> None:
            self._press(event.key_sequence[0])

        return bindings

    def _press(self, press: KeyPress) -> None:
        """Let a key act that stays alone, or comes twice; add any other to the text for the next prompt."""
        waiting = self._stop_waiting()
        if waiting is not None and waiting.data == press.data:
            self._acts[waiting.data]()
        elif waiting is not None:  # it was the beginning of a text
            self._typed.append(waiting)
        act = None if press.key == Keys.BracketedPaste else self._acts.get(press.data)
        if act is not None and not self._typed:

            def act_alone() -> None:
                self._waiting = None
                act()

            self._waiting = press, asyncio.get_running_loop().call_later(ALONE_S, act_alone)
        elif press.key in (Keys.Backspace, Keys.ControlH):
            self._typed = self._typed[:-1]
        elif press.key in (Keys.ControlU, Keys.Escape):
            self._typed.clear()
        elif press.key in (Keys.ControlM, Keys.ControlJ):
            if self._typed:  # else it only makes room in the output
                self._typed.append(press)
        elif press.data.isprintable() or press.key == Keys.BracketedPaste:
            self._typed.append(press)

    def _stop_waiting(self) -> KeyPress | None:
        """The key that waits to act alone, which does so no more, or None."""
        if self._waiting is None:
            return None
        press, timer = self._waiting
        timer.cancel()
        self._waiting = None
        return press

    @property
    def _acts(self) -> Mapping[str, Callable[[], None]]:
        """What a key does that is pressed alone."""
        return {
            "q": self._end,
            "t": lambda: self._show_as(LOG if self._mode == TABLE else TABLE),
            "c": lambda: self._show_as(
                LINES if self._mode == BARS or (self._mode != LINES and not self._key) else BARS
            ),
            "n": self._next_column,
            "w": self._write_file,
            "p": self._pause,
            " ": self._pause,
        }

    def _end(self) -> None:
        self._is_ended_by_user = True
        if not self._app.is_done:
            self._app.exit()

    def _next_column(self) -> None:
        if self._chart is not None:
            self._chart.next_column()
            self._draw()

    def _write_file(self) -> None:
        self._notice = self._write(), time.monotonic() + SAID_S

    def _pause(self) -> None:
        self._is_paused = not self._is_paused

    def _show_as(self, mode: str) -> None:
        """Change the view; the log gets what came while another was shown."""
        before, self._mode = self._mode, mode
        if before == LOG:
            run_in_terminal(self._view.end)
        elif mode == LOG and self._unlogged:
            rows = list(self._unlogged)
            self._unlogged.clear()
            run_in_terminal(lambda: self._view.print(rows))
        self._draw()

    def _write(self) -> str:
        """Write the rows that were seen to a file in the current folder, as CSV; return the line to show."""
        path = Path(time.strftime("ksql-spark-%Y%m%d-%H%M%S.csv"))
        names = [column.name for column in self._columns]
        export = EXPORTS[Form.CSV]
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(export.header(names, ()))
                for row in self._seen:
                    missing = TOMBSTONE if row.get("tombstone") else None
                    values = (value_at(row, index) for index in range(len(names)))
                    file.write(export.row(names, [missing if one is None else one for one in values]))
        except OSError as error:
            return f"Cannot write {path}: {error.strerror}."
        count = len(self._seen)
        return f"{count:,} row{'' if count == 1 else 's'} written to {path.absolute()}"

    async def _pump(self) -> None:
        """Take what has arrived, until the end."""
        while True:
            await asyncio.sleep(TICK_S)
            if not self._is_paused:
                frames = self._stream.read(0)
                if frames is None:
                    break
                rows = self._view.take(self._session.limited(frames, self._view.count))
                await self._show(rows)
                if self._view.error is not None or self._session.is_over(self._view.count, self._began):
                    break
            self._app.invalidate()
        if not self._app.is_done:
            self._app.exit()

    async def _show(self, rows: Sequence[Mapping[str, Any]]) -> None:
        if self._table is None and self._view.header is not None:
            self._columns = shown_columns(self._view.header)
            self._table, self._chart = LiveTable(self._columns, self._key), Chart(self._columns, self._key)
            self._take(self._early)
        self._take(rows)
        self._arrivals.append((time.monotonic(), len(rows)))
        if self._mode != LOG:
            self._unlogged += rows
            if self._mode == TABLE or time.monotonic() - self._drawn_at > CHART_S:
                self._draw()
        elif rows or not self._view.has_begun:
            await run_in_terminal(lambda: self._view.print(rows))
        if self._view.note:
            self._notice = self._view.note, time.monotonic() + SAID_S
            await run_in_terminal(self._view.print_note)

    def _take(self, rows: Sequence[Mapping[str, Any]]) -> None:
        if self._table is not None and self._chart is not None:
            self._seen += rows
            self._table.take(rows)
            self._chart.take(rows)

    def _draw(self) -> None:
        text = ""
        self._drawn_at = time.monotonic()
        if self._mode == TABLE and self._table is not None:
            text = self._table.text(self._console, self._height)
        elif self._chart is not None:
            text = self._chart.text(self._console, self._height, is_bars=self._mode == BARS)
        self._picture = text.rstrip("\n")

    @property
    def _height(self) -> int:
        """The lines of the screen above the bottom line."""
        return self._app.output.get_size().rows - 2

    def _bottom(self) -> ANSI:
        now, columns = time.monotonic(), self._app.output.get_size().columns
        if self._typed:
            return ANSI(self._typed_line(columns))
        while self._arrivals and self._arrivals[0][0] < now - RATE_S:
            self._arrivals.popleft()
        span = min(RATE_S, max(now - self._began, TICK_S))
        rate = sum(count for _, count in self._arrivals) / span
        rate_text, elapsed = f"{rate:,.0f} rows/s", duration(now - self._began)
        parts = [self._view.counted, rate_text, elapsed]
        if self._mode == TABLE and self._table is not None and self._key:
            parts.append(f"{len(self._table):,} keys")
        if self._behind:
            parts.append(self._behind)
        if self._mode in (BARS, LINES) and self._chart is not None and self._chart.column:
            parts.append(self._chart.column)
        if self._is_paused:
            parts.append("paused")
        text, until = self._notice
        if now < until:
            return ANSI(clip(text, columns, self._console.ellipsis))
        keys = [f"t {LOG if self._mode == TABLE else TABLE}", f"c {LINES if self._mode == BARS else BARS}"]
        if self._mode in (BARS, LINES) and self._chart is not None and len(self._chart.numbers) > 1:
            keys.append("n column")
        keys += [f"p {'go on' if self._is_paused else 'pause'}", "w write", "q end"]
        # what a narrow terminal shows last: the other figures and keys
        for least in (elapsed, "w write", self._behind, rate_text, "n column", *keys[-3:-2], *keys[1:2]):
            if len(" · ".join(parts)) + 3 + len(" · ".join(keys)) <= columns:
                break
            for shown in (parts, keys):
                if least in shown:
                    shown.remove(least)
        line = f"{' · '.join(parts)}   {' · '.join(keys)}"
        return ANSI(self._console.dim(clip(line, columns, self._console.ellipsis)))

    def _typed_line(self, columns: int) -> str:
        """The end of what was typed, and how it gets to the prompt."""
        hint = "   Ctrl-C ends the query"
        text = " ".join("".join(press.data for press in self._typed).splitlines())
        shown = clip_start(text, max(10, columns - len(hint) - len(PROMPT)), self._console.ellipsis)
        return f"{PROMPT}{shown}{self._console.dim(hint)}"
