"""Live views of a push query at the prompt: a log of changes, and a table that updates in place."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import ConditionalContainer, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.output import Output

from ksql_spark.shell.client import ClientError, FrameStream
from ksql_spark.shell.output.live import LiveTable, key_of
from ksql_spark.shell.output.rows import columns_of
from ksql_spark.shell.session import QueryView, Session, duration

#: between two looks at what has arrived, and the span of the rate
TICK_S = 0.05
RATE_S = 2.0
#: how many rows that came while the table was shown are logged after it
MOST_UNLOGGED = 1000


def key_of_result(session: Session, text: str) -> list[str]:
    """The key of what a push query returns; [] if it has none, or nobody may know."""
    try:
        answer = session.client.run(f"EXPLAIN {text}", session.settings)
    except ClientError:
        return []
    return next((key_of(one["queryDescription"]) for one in answer if one.get("queryDescription")), [])


class LiveQuery:
    """Shows the rows of one push query until it ends or the user ends it.

    Args:
        session: the session.
        stream: the query's frames.
        view: prints the log.
        key: the key of the table.
        input: by default the terminal.
        output: by default the terminal.
    """

    def __init__(
        self,
        session: Session,
        stream: FrameStream,
        view: QueryView,
        key: Sequence[str] = (),
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self._session = session
        self._console = session.console
        self._stream = stream
        self._view = view
        self._key = key
        self._table: LiveTable | None = None
        self._early, view.early = view.early or [], None
        self._is_table = self._is_paused = self._is_ended_by_user = False
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
                            Condition(lambda: self._is_table),
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
        self._app.run(pre_run=self._start)
        if self._is_table and self._table is not None:
            self._console.write(self._table.text(self._console, self._height, now=float("inf")))
        if self._is_ended_by_user:
            raise KeyboardInterrupt

    def _start(self) -> None:
        self._app.create_background_task(self._pump())

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        @bindings.add("c-c")
        @bindings.add("q")
        @bindings.add("<sigint>")
        def _(event: KeyPressEvent) -> None:
            self._is_ended_by_user = True
            event.app.exit()

        @bindings.add("t")
        def _(event: KeyPressEvent) -> None:
            self._is_table = not self._is_table
            if self._is_table:
                run_in_terminal(self._view.end)
            elif self._unlogged:
                rows = list(self._unlogged)
                self._unlogged.clear()
                run_in_terminal(lambda: self._view.print(rows))
            self._draw()

        @bindings.add("p")
        @bindings.add(" ")
        def _(event: KeyPressEvent) -> None:
            self._is_paused = not self._is_paused

        return bindings

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
            columns = columns_of(str(self._view.header.get("schema", "")))
            self._table = LiveTable(columns, self._key)
            self._table.take(self._early)
        if self._table is not None:
            self._table.take(rows)
        self._arrivals.append((time.monotonic(), len(rows)))
        if self._is_table:
            self._unlogged += rows
            self._draw()
        elif rows or not self._view.has_begun:
            await run_in_terminal(lambda: self._view.print(rows))

    def _draw(self) -> None:
        text = self._table.text(self._console, self._height) if self._table is not None else ""
        self._picture = text.rstrip("\n")

    @property
    def _height(self) -> int:
        """The lines of the screen above the bottom line."""
        return self._app.output.get_size().rows - 2

    def _bottom(self) -> ANSI:
        now = time.monotonic()
        while self._arrivals and self._arrivals[0][0] < now - RATE_S:
            self._arrivals.popleft()
        span = min(RATE_S, max(now - self._began, TICK_S))
        rate = sum(count for _, count in self._arrivals) / span
        parts = [self._view.counted, f"{rate:,.0f} rows/s", duration(now - self._began)]
        if self._is_table and self._table is not None:
            parts.append(f"{len(self._table):,} keys")
        if self._is_paused:
            parts.append("paused")
        keys = (
            f"t {'log' if self._is_table else 'table'} · p {'go on' if self._is_paused else 'pause'} · q end"
        )
        return ANSI(self._console.dim(f"{' · '.join(parts)}   {keys}"))
