"""The one error that leaves this package."""

from __future__ import annotations

from collections.abc import Sequence


class ParseFailed(Exception):
    """A text that is not KSQL.

    Args:
        message: the reason, without the position.
        line: line in the whole text, from 1.
        column: column in that line, from 1.
        text: the statement that does not parse.
        expected: what was expected there; words in upper case, symbols in quotes.
        suggestion: a similar word that would be correct.
        source_line: the line of the text; None: do not show it.
        length: the number of characters to mark.
    """

    def __init__(
        self,
        message: str,
        line: int = 1,
        column: int = 1,
        text: str = "",
        expected: Sequence[str] = (),
        suggestion: str | None = None,
        *,
        source_line: str | None = None,
        length: int = 1,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.text = text
        self.expected = tuple(expected)
        self.suggestion = suggestion
        self.source_line = source_line
        self.length = length

    @property
    def reason(self) -> str:
        """The message, with the suggestion or else with what was expected, in one line."""
        parts = [self.message + "."]
        if self.suggestion:
            parts.append(f"Did you mean {self.suggestion}?")
        elif self.expected:
            parts.append(f"Expected {_listed(self.expected)}.")
        return " ".join(parts)

    def __str__(self) -> str:
        text = f"line {self.line}:{self.column}: Syntax Error\n{self.reason}"
        if self.source_line is None:
            return text
        # of a long line only the part around the position is shown; tabs keep their width below it
        start = max(0, self.column - 1 - 60) if len(self.source_line) > 120 else 0
        shown = self.source_line[start : start + 120]
        before = "".join("\t" if c == "\t" else " " for c in shown[: self.column - 1 - start])
        marks = "^" * max(1, min(self.length, len(shown) - len(before)))
        return f"{text}\n  {shown}\n  {before}{marks}"


def _listed(words: Sequence[str], most: int = 8) -> str:
    """``a, b or c``; a long list is truncated."""
    shown = list(words[:most])
    if len(words) > most:
        return ", ".join(shown) + ", …"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
