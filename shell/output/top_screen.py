r"""\top: a live screen of all queries, as htop is of processes."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.filters import Condition, Filter
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import FormattedTextControl, Layout, Window
from prompt_toolkit.output import Output

from ksql_spark.shell.client import Client, ClientError
from ksql_spark.shell.output import entities
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.output.flow import draw_tree, flow
from ksql_spark.shell.output.text import fold
from ksql_spark.shell.output.top import Top
from ksql_spark.shell.statements import quoted_name

#: between two questions to the server
EVERY_S = 2.0
PAGE = 10
#: the way out comes first: a narrow terminal shows only the first ones
KEYS = "q end · ↑↓ select · s sort · / filter · Enter open · p pause · t terminate"
OPEN_KEYS = "Esc back · ↑↓ scroll · f flow · e errors · x plan · p pause · t terminate"


class TopScreen:
    """Shows the queries until the user leaves.

    Args:
        client: the client of the server.
        console: how to draw.
        every_s: seconds between questions to the server.
        input: by default the terminal.
        output: by default the terminal.
    """

    def __init__(
        self,
        client: Client,
        console: Console,
        every_s: float = EVERY_S,
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self._client = client
        self._console = console
        self._every_s = every_s
        self.top = Top()
        #: what went wrong, or was done, last
        self.message = "asking the server"
        #: the open query: its id, the part that is shown, the description of EXPLAIN, and the first line
        self.opened: str | None = None
        self.part = "f"
        self._description: dict[str, Any] = {}
        self._first = 0
        #: what the next key answers: the text of a filter, or whether to run ``_statement``
        self.asks: str | None = None
        self._statement = ""
        self._wake = asyncio.Event()
        self.app: Application[None] = Application(
            layout=Layout(Window(FormattedTextControl(lambda: ANSI(self.text())), wrap_lines=False)),
            key_bindings=self._bindings(),
            full_screen=True,
            input=input,
            output=output,
        )

    def run(self) -> None:
        """Show the screen until the user leaves it."""
        self.app.run(pre_run=self._start)

    def _start(self) -> None:
        self.app.create_background_task(self._follow())

    # ---- what is shown ------------------------------------------------------------------------------------

    def text(self) -> str:
        """The whole screen."""
        size = self.app.output.get_size()
        console = self._console
        room = max(1, size.rows - 2)
        if self.opened is not None:
            lines = self._open_lines()
            self._first = max(0, min(self._first, len(lines) - room))
            shown = lines[self._first : self._first + room]
        else:
            shown = self.top.lines(console, room)
        shown += [""] * (room - len(shown))
        return "\n".join([*shown, self._bottom()])

    def _bottom(self) -> str:
        match self.asks:
            case "filter":
                return f"filter: {self.top.filter}█"
            case str() as question:
                return self._console.bold(question)
        if self.message:
            return self.message
        keys = OPEN_KEYS if self.opened is not None else KEYS
        (first, *_) = fold(keys if self._console.is_unicode else keys.replace("↑↓", "arrows"), self._columns)
        return self._console.dim(first)

    @property
    def _columns(self) -> int:
        return self._console.columns or self.app.output.get_size().columns

    def _open_lines(self) -> list[str]:
        """The open query: its figures, and the flow, errors or plan."""
        console, name = self._console, self.opened
        node = next((query for query in self.top.all if query.get("name") == name), {})
        lines = [console.bold(f"{name} · {node.get('state', 'gone')}")]
        lines += [line for line in fold(entities.one_line(node.get("statement") or ""), self._columns)]
        lines.append("")
        match self.part:
            case "e":
                figures = node.get("figures") or {}
                kinds = (f"{kind} {count:,}" for kind, count in (figures.get("errors") or {}).items())
                lines.append(f"records: {', '.join(kinds) or 'no errors are known'}")
                lines += ["", *fold(str(node["error"]), self._columns)] if node.get("error") else []
                for error in self._description.get("queryErrors") or []:
                    lines += ["", *fold(str(error.get("errorMessage")), self._columns)]
            case "x":
                for line in str(self._description.get("executionPlan") or "").splitlines():
                    lines += fold(line, self._columns)
            case _:
                if (tree := flow(self._description, self.top.graph)) is not None:
                    lines += draw_tree(tree, console).splitlines()
        return lines

    # ---- what the server says -----------------------------------------------------------------------------

    async def _follow(self) -> None:
        """Ask the server again and again."""
        while True:
            await self._ask()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), self._every_s)
            self._wake.clear()

    async def _ask(self) -> None:
        try:
            self.top.graph = await _unawaited(self._client.graph)
            if self.opened is not None:
                self._description = await _unawaited(self._explained, self.opened)
            self.message = "" if not self.message.startswith("Cannot ") else self.message
        except ClientError as error:
            self.message = str(error).split("\n")[0]
        self.app.invalidate()

    def _explained(self, query_id: str) -> dict[str, Any]:
        answer = self._client.run(f"EXPLAIN {quoted_name(query_id)};")
        return dict(next((one["queryDescription"] for one in answer if one.get("queryDescription")), {}))

    async def _do(self, statement: str) -> None:
        """Run a statement, and ask again."""
        self.message = statement
        try:
            await _unawaited(self._client.run, statement)
            self.message = ""
        except ClientError as error:
            self.message = f"Cannot {statement}: {str(error).splitlines()[0]}"
        self._wake.set()

    # ---- keys ---------------------------------------------------------------------------------------------

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()
        asks = Condition(lambda: self.asks is not None)
        is_open = Condition(lambda: self.opened is not None) & ~asks
        in_list = Condition(lambda: self.opened is None) & ~asks

        def on(*keys: str, when: Filter, do: Callable[[], None]) -> None:
            def pressed(event: KeyPressEvent) -> None:
                self.message = ""
                do()

            for key in keys:
                bindings.add(key, filter=when)(pressed)

        for keys, lines in (
            (("up", "k"), -1),
            (("down", "j"), 1),
            (("pageup",), -PAGE),
            (("pagedown",), PAGE),
        ):
            on(*keys, when=in_list, do=lambda lines=lines: self.top.move(lines))  # type: ignore[misc]
            on(*keys, when=is_open, do=lambda lines=lines: self._scroll(lines))  # type: ignore[misc]
        on("s", "right", when=in_list, do=self.top.sort_by_next)
        on("left", when=in_list, do=lambda: self.top.sort_by_next(-1))
        on("r", when=in_list, do=self._reverse)
        on("/", when=in_list, do=lambda: setattr(self, "asks", "filter"))
        on("escape", when=in_list, do=lambda: setattr(self.top, "filter", ""))
        on("enter", when=in_list, do=self._open)
        for part in "fex":
            on(part, when=is_open, do=lambda part=part: self._show(part))  # type: ignore[misc]
        on("escape", "q", "backspace", when=is_open, do=lambda: setattr(self, "opened", None))
        on("p", when=~asks, do=self._pause)
        on("t", when=~asks, do=self._terminate)

        @bindings.add("q", filter=in_list)
        @bindings.add("c-c")
        @bindings.add("<sigint>")
        def _(event: KeyPressEvent) -> None:
            event.app.exit()

        @bindings.add("enter", filter=asks)
        @bindings.add("escape", filter=asks)
        @bindings.add("backspace", filter=asks)
        @bindings.add(Keys.Any, filter=asks)
        def _(event: KeyPressEvent) -> None:
            self._answer(event.key_sequence[0].key, event.data)

        return bindings

    def _answer(self, key: str, data: str) -> None:
        """A key that answers a question."""
        if self.asks == "filter":
            match key:
                case Keys.Enter | Keys.ControlM:
                    self.asks = None
                case Keys.Escape:
                    self.asks, self.top.filter = None, ""
                case Keys.Backspace | Keys.ControlH:
                    self.top.filter = self.top.filter[:-1]
                case _ if data.isprintable():
                    self.top.filter += data
            return
        self.asks = None
        if data.lower() == "y":
            if self._statement.startswith("TERMINATE"):
                self.opened = None
            self.app.create_background_task(self._do(self._statement))

    def _query(self) -> Any:
        """The open or selected query."""
        if self.opened is None:
            return self.top.current
        return next((query for query in self.top.all if query.get("name") == self.opened), None)

    def _reverse(self) -> None:
        self.top.is_reversed = not self.top.is_reversed

    def _scroll(self, lines: int) -> None:
        self._first = max(0, self._first + lines)

    def _show(self, part: str) -> None:
        self.part, self._first = part, 0

    def _open(self) -> None:
        if (query := self.top.current) is not None:
            self.opened = self.top.selected = str(query["name"])
            self._description = {}
            self._show("f")
            self._wake.set()

    def _pause(self) -> None:
        if (query := self._query()) is not None:
            verb = "Resume" if query.get("state") == "PAUSED" else "Pause"
            self._ask_whether(f"{verb} {query['name']}", f"{verb.upper()} {quoted_name(query['name'])};")

    def _terminate(self) -> None:
        if (query := self._query()) is not None:
            what = f"Terminate {query['name']} and remove its state"
            self._ask_whether(what, f"TERMINATE {quoted_name(query['name'])};")

    def _ask_whether(self, what: str, statement: str) -> None:
        """Ask before ``statement`` runs: a single letter may be a slip, or the first of a text."""
        self.asks, self._statement = f"{what}? y or n", statement


async def _unawaited(call: Callable[..., Any], *arguments: Any) -> Any:
    """Return what ``call`` returns, from a thread that the end of the screen does not wait for."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(set_outcome: Callable[[Any], None], outcome: Any) -> None:
        if not future.done():
            set_outcome(outcome)

    def work() -> None:
        try:
            outcome_call = future.set_result, call(*arguments)
        except Exception as error:
            outcome_call = future.set_exception, error
        with contextlib.suppress(RuntimeError):  # the screen has ended
            loop.call_soon_threadsafe(settle, *outcome_call)

    threading.Thread(target=work, name="top", daemon=True).start()
    return await future
