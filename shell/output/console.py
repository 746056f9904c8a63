"""The console: output to the screen or a pipe and to the spool file, with colors.

answers.py and rows.py make the text.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TextIO

from ksql_spark.shell.client import ClientError
from ksql_spark.shell.output import pager
from ksql_spark.shell.output.text import safe

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Form(Enum):
    """The output formats; ksqlDB has the first two."""

    TABULAR = "TABULAR"
    JSON = "JSON"
    NDJSON = "NDJSON"
    CSV = "CSV"
    TSV = "TSV"
    MARKDOWN = "MARKDOWN"
    VERTICAL = "VERTICAL"

    @property
    def is_for_people(self) -> bool:
        """Whether notes, such as the number of rows, may stand between results."""
        return self in (Form.TABULAR, Form.VERTICAL)


@dataclass(frozen=True)
class Lines:
    """The characters that tables are drawn with."""

    horizontal: str
    vertical: str
    top: str  # left, middle, right
    cross: str
    bottom: str


ASCII = Lines("-", "|", "+++", "+++", "+++")
BOX = Lines("─", "│", "┌┬┐", "├┼┤", "└┴┘")

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


#: the codes of the colors, for dark and for light backgrounds
_DARK = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "dim": "2"}
_LIGHT = {"red": "38;5;124", "green": "38;5;22", "yellow": "38;5;130", "cyan": "38;5;24", "dim": "38;5;242"}
#: the light colors in $COLORFGBG, with which some terminals tell their background
_LIGHT_BACKGROUNDS = ("7", "15")


def _wants_colours() -> bool:
    return "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


class Console:
    """Prints to ``out``.

    Args:
        out: by default standard output; if it is not a terminal, it gets only results.
        err: by default standard error; it gets errors and warnings.
        tty: whether ``out`` is a terminal, with colors, drawn lines, notes and a status line.
        columns: the terminal's width, or None to ask the terminal each time.
    """

    def __init__(
        self,
        out: TextIO | None = None,
        tty: bool | None = None,
        columns: int | None = None,
        err: TextIO | None = None,
    ) -> None:
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self.tty = self._out.isatty() if tty is None else tty
        unicode = (getattr(self._out, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
        self._is_unicode = self.tty and unicode
        self.lines = BOX if self._is_unicode else ASCII
        self.colours = self.tty and _wants_colours()
        #: whether the terminal's background is light
        self.is_light = os.environ.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT_BACKGROUNDS
        #: text alone, line by line, for screen readers
        self.plain = False
        #: moves an instant to the user's time zone, or None to show times as the server sends them
        self.in_zone: Callable[[datetime], datetime] | None = None
        #: separate thousands in numbers
        self.thousands = False
        self.form = Form.TABULAR
        self.wrap = True
        #: draw rows that are too wide for the terminal vertically
        self.auto_vertical = True
        #: tell how many rows a query returned, and how long it took
        self.timing = self.tty
        #: width of every cell; 0: by content and terminal
        self.column_width = 0
        #: show the state of server and session below the prompt
        self.toolbar = True
        #: at the prompt, Enter begins another line until a statement has its `;`
        self.multiline = True
        #: show long results in a pager
        self.pages = False
        #: whether keys wait for the prompt, such as pasted statements
        self.input_waits: Callable[[], bool] = lambda: False
        #: what goes on as a whole, such as "statement 2 of 9", for the status line
        self.step = ""
        #: whether the statements are those of a file, which have one line each for what they have done
        self.is_brief = False
        self._pager: pager.Pager | None = None
        self._columns = columns
        self._spool: TextIO | None = None
        self._status_shown = False
        self._spinner = SPINNER if unicode else "|/-\\"

    def set_plain(self, plain: bool) -> None:
        """Turn plain mode on or off: no colors, drawn lines, spinner, toolbar and pager; a value per line."""
        self.plain = plain
        self.colours = self.tty and _wants_colours() and not plain
        self.lines = BOX if self._is_unicode and not plain else ASCII
        self.form = Form.VERTICAL if plain else Form.TABULAR
        self.toolbar = not plain
        self.pages = self.tty and not plain

    @property
    def is_unicode(self) -> bool:
        """Whether more than ASCII can be drawn."""
        return self.lines is BOX

    @property
    def ellipsis(self) -> str:
        """The text that replaces what was cut off."""
        return "…" if self.is_unicode else "..."

    @property
    def columns(self) -> int | None:
        """The maximal width; None in a pipe, where lines are never wrapped."""
        if not self.tty:
            return None
        return self._columns or shutil.get_terminal_size().columns

    def line(self, text: str = "") -> None:
        """Print a line (or several)."""
        self.write(text + "\n")

    def write(self, text: str) -> None:
        """Print text without adding a line end, and flush. Raises ClientError if it cannot be written."""
        self.clear_status()
        if self._pager is not None:
            self._pager.write(text)
        else:
            try:
                self._out.write(text)
                self._out.flush()
            except BrokenPipeError:
                raise
            except OSError as error:
                raise ClientError(f"Cannot write the results: {error.strerror}.") from None
        self._copy(text)

    def note(self, text: str = "") -> None:
        """Print a line that is not a result, only on a terminal."""
        if self.tty:
            self.line(text)
        else:
            self._copy(text + "\n")

    def error(self, message: str) -> None:
        """Print an error to standard error."""
        self._complain(message, "red")

    def warning(self, message: str) -> None:
        """Print a warning to standard error."""
        self._complain(f"WARNING: {message}", "yellow")

    def _complain(self, message: str, colour: str) -> None:
        self.clear_status()
        message = safe(message)
        coloured = self._err.isatty() and _wants_colours() and not self.plain
        code = self._palette[colour]
        self._err.write((f"\x1b[{code}m{message}\x1b[0m" if coloured else message) + "\n")
        self._err.flush()
        self._copy(message + "\n")

    def _copy(self, text: str) -> None:
        if self._spool is None:
            return
        try:
            self._spool.write(_COLOUR.sub("", text))
            self._spool.flush()
        except OSError as error:
            full, self._spool = self._spool, None
            with contextlib.suppress(OSError):
                full.close()
            self.warning(f"No longer spooled: {error.strerror}.")

    def status(self, text: str) -> None:
        """Show a status line with a spinner below the output, only on a terminal."""
        if not self.tty or self.plain or (self._pager is not None and self._pager.has_screen):
            return
        text = f"{self.step}: {text}" if self.step else text
        wheel = self._spinner[int(time.monotonic() * 10) % len(self._spinner)]
        room = (self.columns or 80) - 4
        self._out.write(f"\r\x1b[2K{self.dim(wheel + ' ' + text[:room])}")
        self._out.flush()
        self._status_shown = True

    @contextlib.contextmanager
    def paging(self) -> Iterator[None]:
        """Show what the block prints in a pager if it is longer than the screen; warnings come before it."""
        program = pager.command() if self.pages and self.tty and self._pager is None else None
        if program is None:
            yield
            return
        # the prompt needs a line too
        height = shutil.get_terminal_size().lines - 2
        self._pager = pager.Pager(self._out, height, program, self.input_waits)
        try:
            yield
        finally:
            shown, self._pager = self._pager, None
            self.clear_status()
            shown.close()

    @property
    def is_left(self) -> bool:
        """Whether the reader has left the pager, so that nobody sees what comes next."""
        return self._pager is not None and self._pager.is_left

    @contextlib.contextmanager
    def busy(self, text: str | Callable[[], str] = "running", after_s: float = 0.5) -> Iterator[None]:
        """Show a status line while the block waits for something; the block must not print.

        Args:
            text: the text to show, or what returns it.
            after_s: waits shorter than this show nothing.
        """
        if not self.tty:
            yield
            return
        over = threading.Event()
        began = time.monotonic()

        def turn() -> None:
            wait_s = after_s
            while not over.wait(wait_s):
                shown = text if isinstance(text, str) else text()
                self.status(f"{shown} ({time.monotonic() - began:.1f} s)")
                wait_s = 0.1

        wheel = threading.Thread(target=turn, name="busy", daemon=True)
        wheel.start()
        try:
            yield
        finally:
            over.set()
            wheel.join()
            self.clear_status()

    def clear_status(self) -> None:
        """Remove the status line."""
        if self._status_shown:
            self._out.write("\r\x1b[2K")
            self._out.flush()
            self._status_shown = False

    def spool(self, file: Path | None) -> None:
        """Copy everything printed from now on to ``file``; None ends that. Raises OSError."""
        if self._spool is not None:
            self._spool.close()
            self._spool = None
        if file is not None:
            self._spool = file.open("w", encoding="utf-8", errors="backslashreplace")

    def spool_input(self, text: str) -> None:
        """Copy what was typed to the spool file."""
        self._copy(f"ksql> {text}\n")

    def to_file(self, file: TextIO) -> Console:
        """A console that prints results to ``file``, and errors where this one does."""
        return Console(file, tty=False, err=self._err)

    def close(self) -> None:
        """Close the file that this console prints to."""
        self._out.close()

    def dim(self, text: str) -> str:
        """``text`` in a faint color."""
        return self._colour(text, self._palette["dim"])

    def bold(self, text: str) -> str:
        """``text`` in bold."""
        return self._colour(text, "1")

    def red(self, text: str) -> str:
        """``text`` in the color of errors."""
        return self._colour(text, self._palette["red"])

    def green(self, text: str) -> str:
        """``text`` in the color of success."""
        return self._colour(text, self._palette["green"])

    def inverse(self, text: str) -> str:
        """``text`` with its colors exchanged, for what is selected."""
        return self._colour(text, "7")

    def cyan(self, text: str) -> str:
        """``text`` in the color of names."""
        return self._colour(text, self._palette["cyan"])

    @property
    def _palette(self) -> Mapping[str, str]:
        return _LIGHT if self.is_light else _DARK

    def _colour(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colours else text
