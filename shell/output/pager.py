"""A pager, such as less, for results that are longer than the screen."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from typing import TextIO

#: less: leave at the end if all fits, keep colors, cut long lines, leave the text on the screen
_LESS = "FRSX"


def command() -> list[str] | None:
    """The program that $PAGER names, by default less or more; None if there is none."""
    named = os.environ.get("PAGER")
    if named is not None:
        words = shlex.split(named)
        return words if words and words != ["cat"] else None
    return next(([program] for name in ("less", "more") if (program := shutil.which(name))), None)


class Pager:
    """Holds text back until it is longer than the screen, and then sends it to the pager.

    Args:
        out: the terminal.
        height: the lines of the screen that results may fill.
        program: the pager and its arguments.
        input_waits: whether keys wait for the prompt. A pager would take pasted statements as its own keys.
    """

    def __init__(self, out: TextIO, height: int, program: list[str], input_waits: Callable[[], bool]) -> None:
        self._out = out
        self._height = height
        self._program = program
        self._input_waits = input_waits
        self._held: list[str] = []
        self._lines = 0
        self._process: subprocess.Popen[str] | None = None
        #: whether the reader has left the pager before the end
        self.is_left = False

    @property
    def has_screen(self) -> bool:
        """Whether the pager runs, so that nobody else may write to the screen."""
        return self._process is not None

    def write(self, text: str) -> None:
        """Show ``text``, now or later."""
        if self._process is not None:
            self._send(text)
            return
        self._held.append(text)
        self._lines += text.count("\n")
        if self._lines > self._height:
            self._start()

    def _start(self) -> None:
        held, self._held = "".join(self._held), []
        if not self._input_waits():
            with contextlib.suppress(OSError):  # no such program
                self._process = subprocess.Popen(
                    self._program,
                    stdin=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                    env={"LESS": _LESS, **os.environ},
                )
                self._send(held)
                return
        self._height = 1_000_000_000
        self._out.write(held)

    def _send(self, text: str) -> None:
        assert self._process is not None and self._process.stdin is not None
        if self.is_left:
            return
        try:
            self._process.stdin.write(text)
            self._process.stdin.flush()
        except (BrokenPipeError, OSError):
            self.is_left = True

    def close(self) -> None:
        """Show what is held back, or wait until the reader has left."""
        if self._process is None:
            self._out.write("".join(self._held))
            self._out.flush()
            return
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        while True:
            try:
                self._process.wait()
                return
            except KeyboardInterrupt:  # Ctrl-C is for the pager
                continue
