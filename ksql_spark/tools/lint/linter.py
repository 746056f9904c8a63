"""Findings of one text: its statements in order, each parsed, bound and checked."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ksql_spark import grammar
from ksql_spark.errors import KsqlError, nearest, too_deep
from ksql_spark.grammar import nodes
from ksql_spark.grammar.rules import StatementSet
from ksql_spark.metastore.sources import DataSource
from ksql_spark.shell import commands
from ksql_spark.shell.scripts import inputs
from ksql_spark.tools.lint.catalog import Catalog
from ksql_spark.tools.lint.rules import ERROR, RULES, Checked

_IGNORE = re.compile(r"--[ \t]*lint:[ \t]*ignore\(([^)\n]*)\)")
#: begins a test in a test file, which has a catalog of its own
_TEST = re.compile(r"--@[ \t]*test[ \t]*:", re.IGNORECASE)


@dataclass(frozen=True)
class Finding:
    """A finding of a rule, with its place in the file.

    Attributes:
        rule: the rule's name.
        message: what is wrong there.
        line: line in the file, from 1.
        column: column in that line, from 1.
        length: characters in that line, if known, otherwise 1.
    """

    rule: str
    message: str
    line: int
    column: int
    length: int = 1


class Linter:
    """Checks texts one after another against one catalog.

    Args:
        variables: values for ``${name}``.
        ignored: names of rules that do not apply.
    """

    def __init__(self, variables: Mapping[str, str], ignored: Iterable[str] = ()) -> None:
        self._ignored = frozenset(ignored)
        self._catalog = Catalog(variables)

    def run(self, text: str) -> list[Finding]:
        """Return the findings in a file's text, from top to bottom."""
        comments = _without_tokens(text)
        ignores = dict(_marks(comments))
        tests = [comments.count("\n", 0, match.start()) + 1 for match in _TEST.finditer(comments)]
        findings = [finding for line in ignores for finding in _unknown_rules(line, ignores[line])]
        before: Catalog | None = None
        for piece, first, last in _statements(text):
            if tests and tests[0] < first:
                tests = [line for line in tests if line > first]
                # each test starts with what precedes the first one
                before = before or self._catalog
                self._catalog = before.copy()
            ignored = self._ignored.union(*(ignores.get(line, ()) for line in range(first - 1, last + 1)))
            try:
                here = list(self._findings(piece, first))
            except RecursionError:
                here = [_finding(ERROR, too_deep().message, nodes.Position(1, 1), piece, first - piece.line)]
            findings += [finding for finding in here if finding.rule not in ignored]
        return sorted(findings, key=lambda finding: (finding.line, finding.column))

    def sources(self) -> Iterator[DataSource]:
        """The streams and tables that the texts have declared, with their columns."""
        return iter(self._catalog.sources())

    def _findings(self, piece: grammar.StatementText, line: int) -> Iterator[Finding]:
        """The findings of one statement that starts in ``line`` of the file."""
        above = line - piece.line
        try:
            statement = grammar.parse_statement(piece, self._catalog.variables, allowed=StatementSet.TEST)
            query = self._catalog.add(statement)
        except grammar.ParseFailed as problem:
            yield Finding(ERROR, problem.reason, problem.line + above, problem.column, problem.length)
            return
        except KsqlError as error:
            place = nodes.Position(1, 1)
            if error.position is not None:
                place = error.position
            yield _finding(ERROR, error.without_context().message.split("\n")[0], place, piece, above)
            return
        if not piece.complete:
            end = piece.tokens[-1]
            yield Finding(ERROR, "The statement does not end in ';'.", end.line + above, end.col)
        checked = Checked(statement, query)
        for rule in RULES:
            for node, message in rule.check(checked) if rule.check is not None else ():
                place = (None if node is None else nodes.position(node)) or nodes.Position(1, 1)
                yield _finding(rule.name, message, place, piece, above)


def _finding(
    rule: str, message: str, place: nodes.Position, piece: grammar.StatementText, above: int
) -> Finding:
    at = nodes.shifted(place, nodes.Position(piece.line, piece.column))
    return Finding(rule, message, at.line + above, at.column, max(at.length, 1))


def _statements(text: str) -> Iterator[tuple[grammar.StatementText, int, int]]:
    """The statements of a text with their first and last lines; not the commands of the shell."""
    for part, line in inputs(io.StringIO(text)):
        if commands.find(part) is not None:
            continue
        for piece in grammar.split(part):
            first = piece.line + line - 1
            yield piece, first, first + piece.text.count("\n")


def _without_tokens(text: str) -> str:
    """The comments of a text, in their lines."""
    parts: list[str] = []
    done = 0
    for token in grammar.scan(text):
        parts += (text[done : token.start], "\n" * text.count("\n", token.start, token.end + 1))
        done = token.end + 1
    return "".join((*parts, text[done:]))


def _marks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Each line with ``-- lint: ignore(…)``, and the names of rules in it."""
    for match in _IGNORE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, [name.strip() for name in match[1].split(",")]


def _unknown_rules(line: int, names: Iterable[str]) -> Iterator[Finding]:
    rule_names = [rule.name for rule in RULES]
    for name in names:
        if name not in rule_names:
            near = nearest(name, rule_names)
            hint = f" Did you mean '{near}'?" if near else ""
            yield Finding(ERROR, f"There is no rule '{name}'.{hint}", line, 1)
