"""The prompt: reads statements and commands, and runs them."""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application.current import set_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory, ConditionalAutoSuggest
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition, has_completions, is_searching
from prompt_toolkit.formatted_text import HTML, StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout.processors import HighlightMatchingBracketProcessor
from prompt_toolkit.lexers import Lexer, PygmentsLexer
from prompt_toolkit.output import Output
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.styles import DynamicStyle, Style, merge_styles

from ksql_spark.shell import commands, statements
from ksql_spark.shell.client import ClientError
from ksql_spark.shell.commands.command import Context, Leave
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.prompt.metadata import MetadataCache
from ksql_spark.shell.scripts import is_whole, run_text, skipped
from ksql_spark.shell.session import Failure
from ksql_spark.shell.skeletons import SKELETONS

#: how many inputs decide about the order of completions
RANKED_INPUTS = 500
_WORD = re.compile(r"[A-Z_][A-Z0-9_]*")
PROMPT = "ksql> "
CONTINUATION = "> "

_STYLE = Style.from_dict(
    {
        "prompt": "bold ansicyan",
        "pygments.keyword": "bold ansiblue",
        "pygments.keyword.type": "ansimagenta",
        "pygments.literal.string": "ansigreen",
        "pygments.literal.number": "ansiyellow",
        "pygments.comment": "ansibrightblack italic",
        "pygments.name.function": "ansicyan",
        "pygments.name.variable": "ansimagenta",
        "auto-suggestion": "ansibrightblack",
        "bottom-toolbar": "noreverse ansibrightblack",
        "completion-menu.completion": "bg:ansibrightblack fg:ansiwhite",
        "completion-menu.completion.current": "bg:ansicyan fg:ansiblack",
        "completion-menu.meta.completion": "bg:ansibrightblack fg:ansiwhite",
        "completion-menu.meta.completion.current": "bg:ansicyan fg:ansiblack",
    }
)
_LIGHT_STYLE = merge_styles(
    [
        _STYLE,
        Style.from_dict(
            {
                "prompt": "bold ansiblue",
                "pygments.keyword.type": "#870087",
                "pygments.literal.string": "#005f00",
                "pygments.literal.number": "#af5f00",
                "pygments.comment": "#6c6c6c italic",
                "pygments.name.function": "#005f87",
                "pygments.name.variable": "#870087",
                "auto-suggestion": "#8a8a8a",
                "bottom-toolbar": "noreverse #6c6c6c",
                "completion-menu.completion": "bg:#dadada fg:#000000",
                "completion-menu.completion.current": "bg:#005f87 fg:#ffffff",
                "completion-menu.meta.completion": "bg:#dadada fg:#303030",
                "completion-menu.meta.completion.current": "bg:#005f87 fg:#ffffff",
            }
        ),
    ]
)


def history_file() -> Path:
    """The history file: $KSQL_HISTORY, or ~/.ksql-history."""
    return Path(os.environ.get("KSQL_HISTORY") or Path.home() / ".ksql-history")


def run_input(text: str, context: Context) -> None:
    """Run an input; errors are printed.

    Raises:
        Leave: the shell should end.
    """
    console = context.session.console
    console.spool_input(text)
    try:
        run_text(text, context)
    except Failure as failure:
        if failure.skipped is None:
            console.error(str(failure.error))
        else:
            place = f"This is the statement in line {failure.line} of the input."
            console.error(f"{failure.message}\n{place}{skipped(failure.skipped).replace(chr(10), ' ')}")
    except ClientError as error:
        console.error(str(error))
    except KeyboardInterrupt as stop:
        console.clear_status()
        console.line(f"^C {str(stop) or 'The server may still run the statement.'}")


class Repl:
    """The interactive prompt.

    Args:
        context: the session and the commands' context.
        metadata: the metadata for completion.
        toolbar: returns the text below the prompt, or None; called four times a second.
        history: the history of inputs.
        input: by default the terminal.
        output: by default the terminal.
    """

    def __init__(
        self,
        context: Context,
        metadata: MetadataCache,
        *,
        toolbar: Callable[[], str | None] | None = None,
        history: History | None = None,
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self._context = context
        self._metadata = metadata
        self._toolbar = toolbar
        self._history = history or InMemoryHistory()
        context.history = lambda: list(self._history.get_strings())
        context.remember = self._history.append_string
        context.set_editing = self._set_editing
        context.session.console.input_waits = self._input_waits
        #: lines to print above the next prompt
        self._pending: list[str] = []
        self._is_prompting = False
        context.on_server_change = lambda: metadata.moved(context.session.client)
        self._completer = _Completer(metadata, self._history)
        metadata.on_change = self._metadata_changed
        self._prompt: PromptSession[str] = PromptSession(
            [("class:prompt", PROMPT)],
            multiline=True,
            prompt_continuation=lambda width, line, wrapped: CONTINUATION.rjust(width),
            history=self._history,
            # screen readers would read the suggestion as if it had been typed
            auto_suggest=ConditionalAutoSuggest(
                AutoSuggestFromHistory(), Condition(lambda: not context.session.console.plain)
            ),
            completer=self._completer,
            complete_while_typing=False,
            complete_in_thread=False,
            lexer=_Lexer(),
            key_bindings=_bindings(context.session.console),
            bottom_toolbar=self._bottom if toolbar else None,
            refresh_interval=0.25,
            style=DynamicStyle(lambda: _LIGHT_STYLE if context.session.console.is_light else _STYLE),
            enable_open_in_editor=True,
            input_processors=[HighlightMatchingBracketProcessor(chars="[](){}")],
            input=input,
            output=output,
        )
        self._prompt.default_buffer.on_text_changed += lambda _: self._completer.forget()

    def run(self) -> None:
        """Read and run until the user leaves."""
        while self._read_and_run():
            pass
        self._context.session.console.line("Exiting ksql-spark.")

    def _read_and_run(self) -> bool:
        """Read an input and run it; return whether the shell goes on."""
        console = self._context.session.console
        try:
            # lines that other threads print appear above the prompt
            self._print_pending()
            menu = CompleteStyle.READLINE_LIKE if console.plain else CompleteStyle.COLUMN
            self._prompt.complete_style = menu
            with patch_stdout(raw=True), self._prompting():
                text = self._prompt.prompt()
        except KeyboardInterrupt:
            console.line("^C")
            return True
        except EOFError:
            return False
        if statements.is_blank(text):
            return True
        try:
            run_input(text, self._context)
        except Leave:
            return False
        self._metadata.refresh()
        return True

    def print_above(self, text: str) -> None:
        """Print a line above the prompt, or above the next one if a statement is running (in any thread)."""
        if self._is_prompting:
            print(text)
        else:
            self._pending.append(text)

    def _print_pending(self) -> None:
        lines, self._pending = self._pending, []
        for line in lines:
            self._context.session.console.line(line)

    @contextlib.contextmanager
    def _prompting(self) -> Iterator[None]:
        self._is_prompting = True
        try:
            yield
        finally:
            self._is_prompting = False

    def _metadata_changed(self) -> None:
        """Let Tab know more, if it was the last key (in any thread)."""
        loop = self._prompt.app.loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the prompt has ended meanwhile
                loop.call_soon_threadsafe(self._complete_again)

    def _complete_again(self) -> None:
        buffer = self._prompt.default_buffer
        if buffer.document == self._completer.document:
            with set_app(self._prompt.app):
                buffer.complete_state = None
                buffer.start_completion(insert_common_part=True)

    def _input_waits(self) -> bool:
        terminal = self._prompt.app.input
        read = get_typeahead(terminal)
        store_typeahead(terminal, read)
        return bool(read or select.select([terminal], [], [], 0)[0])

    def _set_editing(self, mode: str) -> None:
        self._prompt.editing_mode = EditingMode.VI if mode == "vi" else EditingMode.EMACS

    def _bottom(self) -> Any:
        text = self._toolbar() if self._toolbar else None
        return HTML("<i>{}</i>").format(text) if text else None


class _Lexer(Lexer):
    """KsqlLexer, loaded with the first letter: the empty prompt need not wait for the grammar."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """The styled text of each line."""
        if not document.text:
            return lambda line: []
        return self._of_statements.lex_document(document)

    @cached_property
    def _of_statements(self) -> Lexer:
        from ksql_spark.shell.prompt.lexer import KsqlLexer

        return PygmentsLexer(KsqlLexer)


class _Completer(Completer):
    """completion.complete for prompt_toolkit."""

    def __init__(self, metadata: MetadataCache, history: History) -> None:
        self._metadata = metadata
        self._history = history
        #: word -> how often it is in the last inputs, and how many inputs there were
        self._used: tuple[Counter[str], int] = Counter(), -1
        self._commands = [command.name for command in commands.COMMANDS]
        #: what Tab was last asked for, while nothing else was typed
        self.document: Document | None = None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """The completions at the cursor."""
        from ksql_spark.shell.prompt.completion import complete
        from ksql_spark.shell.prompt.files import complete_file

        self.document = document
        text = document.text_before_cursor
        skeleton = SKELETONS.get(text.strip().lower())
        if skeleton:
            yield Completion(skeleton, start_position=-len(text), display_meta="skeleton")
        files = complete_file(text)
        if files is None:
            after = document.text_after_cursor
            candidates = complete(text, self._metadata.current, self._commands, self._words(), after)
        else:
            candidates = files
        for candidate in candidates:
            yield Completion(
                candidate.text,
                start_position=-candidate.length,
                display_meta=candidate.meta or candidate.kind,
            )

    def forget(self) -> None:
        """Something else was typed."""
        self.document = None

    def _words(self) -> Counter[str]:
        """Count each word in the last inputs."""
        inputs = self._history.get_strings()
        words, count = self._used
        if count != len(inputs):
            words = Counter(word for text in inputs[-RANKED_INPUTS:] for word in _WORD.findall(text.upper()))
            self._used = words, len(inputs)
        return words


def _bindings(console: Console) -> KeyBindings:
    bindings = KeyBindings()

    @Condition
    def on_abbreviation() -> bool:
        from prompt_toolkit.application import get_app

        document = get_app().current_buffer.document
        return document.is_cursor_at_the_end and document.text.lower() in SKELETONS

    @bindings.add("enter", filter=~has_completions & ~is_searching)
    def _(event: KeyPressEvent) -> None:
        _enter(event.current_buffer, console)

    @bindings.add("enter", filter=has_completions & ~is_searching)
    def _(event: KeyPressEvent) -> None:
        # Enter accepts the selected completion; without one it ends the line as usual
        buffer = event.current_buffer
        state = buffer.complete_state
        if state is not None and state.current_completion is not None:
            buffer.complete_state = None
        else:
            _enter(buffer, console)

    @bindings.add(" ", filter=on_abbreviation)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        skeleton = SKELETONS[buffer.text.lower()]
        buffer.document = Document(skeleton, len(skeleton))

    return bindings


def _enter(buffer: Buffer, console: Console) -> None:
    """Accept a complete input, or begin another line."""
    if not console.multiline or is_whole(buffer.text):
        buffer.validate_and_handle()
    else:
        buffer.insert_text("\n")


@contextlib.contextmanager
def without_echo() -> Iterator[None]:
    """Turn off the terminal's echo while no prompt reads: the next prompt shows what was typed.

    The prompt also gets a Ctrl-D, because the terminal does not gather lines meanwhile, and what was typed
    before a Ctrl-C, which the terminal would discard.
    """
    try:
        import termios

        before = termios.tcgetattr(sys.stdin)
    except Exception:
        # not a terminal, or another kind of terminal: there is no echo to turn off
        yield
        return
    quiet = list(before)
    quiet[3] = quiet[3] & ~(termios.ECHO | termios.ICANON) | termios.NOFLSH
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


class _History(FileHistory):
    """A history that lasts at least as long as the shell, if its file cannot be written any more."""

    def store_string(self, string: str) -> None:
        """Append an input to the file."""
        with contextlib.suppress(OSError, UnicodeEncodeError):
            super().store_string(string)


def open_history() -> History:
    """The history file, or an in-memory history if it cannot be written."""
    file = history_file()
    try:
        file.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return _History(str(file))


__all__ = ["Repl", "open_history", "run_input", "without_echo"]
