"""Small changes of the queries that a test defines, each of which the test should notice (``--mutate``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from ksql_spark import grammar
from ksql_spark.grammar import nodes
from ksql_spark.grammar.generator import time_text, within_text
from ksql_spark.grammar.nodes import Statement
from ksql_spark.grammar.statements.inserts import InsertSelect
from ksql_spark.grammar.statements.sources import CreateAsSelect
from ksql_spark.shell.options import OptionProblem
from ksql_spark.tools.testing.files import SqlTest

#: an operator -> what stands in its place
_OPERATORS: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.LTE, exp.LTE: exp.LT, exp.GT: exp.GTE, exp.GTE: exp.GT, exp.EQ: exp.NEQ, exp.NEQ: exp.EQ,
    exp.And: exp.Or, exp.Or: exp.And, exp.Add: exp.Sub, exp.Sub: exp.Add, exp.Mul: exp.Div, exp.Div: exp.Mul,
}  # fmt: skip
#: an aggregate -> another one of the same arguments
_AGGREGATES = {
    "SUM": "MAX", "AVG": "MAX", "MAX": "MIN", "MIN": "MAX",
    "LATEST_BY_OFFSET": "EARLIEST_BY_OFFSET", "EARLIEST_BY_OFFSET": "LATEST_BY_OFFSET",
    "COLLECT_LIST": "COLLECT_SET", "COLLECT_SET": "COLLECT_LIST",
}  # fmt: skip
_JOINS = {"INNER": "LEFT", "LEFT": "INNER", "RIGHT": "INNER", "FULL": "INNER"}


@dataclass(frozen=True)
class Mutant:
    """A test with one change.

    Args:
        test: with the changed statement.
        line: of that statement in the file, from 1.
        before: the text that was changed.
        after: what it is now.
    """

    test: SqlTest
    line: int
    before: str
    after: str

    def __str__(self) -> str:
        """The change."""
        return f"{self.before}  →  {self.after}"


def mutants(test: SqlTest) -> list[Mutant]:
    """The mutants of a test: one for each change of CREATE … AS SELECT and INSERT INTO … SELECT.

    A test that expects an error has none. Those that the test calls equivalent are left out.

    Raises:
        OptionProblem: the test calls a change equivalent that is none of its changes.
    """
    if test.expects_error:
        return []
    found = []
    for at, part in enumerate(test.steps):
        if not isinstance(part, grammar.StatementText):
            continue
        try:
            statement = grammar.parse_statement(part, {}, allowed=grammar.StatementSet.TEST)
        except grammar.ParseFailed:  # of the server's next release, or with variables
            continue
        if not isinstance(statement, (CreateAsSelect, InsertSelect)):
            continue
        for changed, before, after in _changed(statement):
            (other,) = grammar.split(f"{grammar.render(changed)};")
            other = replace(other, line=part.line, column=part.column)
            steps = (*test.steps[:at], other, *test.steps[at + 1 :])
            found.append(Mutant(replace(test, steps=steps), part.line, before, after))
    equivalent = {_spaced(text): text for text in test.equivalents}
    for unknown in equivalent.keys() - {_spaced(str(mutant)) for mutant in found}:
        raise OptionProblem(
            f"{test.path}:{test.line}: --@equivalent: {equivalent[unknown]}: --mutate makes no such change"
            " of this test. Copy the text behind SURVIVED."
        )
    return [mutant for mutant in found if _spaced(str(mutant)) not in equivalent]


def _spaced(text: str) -> str:
    return " ".join(text.split())


@dataclass(frozen=True)
class _Change:
    """A change of a node: the texts to show, and what makes it in a copy of the node."""

    before: str
    after: str
    make: Callable[[exp.Expr], object]


def _changed(statement: Statement) -> Iterator[tuple[Statement, str, str]]:
    """Each statement that differs in one place, with the text of that place before and after."""
    for number, node in enumerate(statement.walk()):
        for change in _changes_of(node):
            copy = statement.copy()
            change.make(next(each for i, each in enumerate(copy.walk()) if i == number))
            yield copy, change.before, change.after


def _changes_of(node: exp.Expr) -> Iterator[_Change]:
    if (other := _OPERATORS.get(type(node))) is not None and not _is_key_of_join(node):
        yield _replacement(node, other(**{name: node.args[name].copy() for name in ("this", "expression")}))
    match node:
        case exp.Not():
            yield _replacement(node, node.this.copy())
        case nodes.IntegerLiteral() if isinstance(node.parent, (exp.Binary, exp.Between)):
            greater = nodes.IntegerLiteral(this=str(node.value + 1), is_string=False)
            yield _replacement(node, greater, within=node.parent)
        case nodes.FunctionCall():
            if node.name in _AGGREGATES and not node.order_by:
                other_name = exp.to_identifier(_AGGREGATES[node.name], quoted=False)
                yield _setting(node, "this", other_name, node.name, _AGGREGATES[node.name])
            if node.condition is not None:
                text = f"FILTER (WHERE {grammar.render(node.condition)})"
                yield _setting(node, "condition", None, text, "no FILTER")
        case nodes.Join():
            if (kind := _JOINS.get(node.kind)) is not None:
                yield _setting(node, "kind", kind, f"{node.kind} JOIN", f"{kind} JOIN")
            if node.within is not None:
                yield from _changes_of_within(node, "within", node.within)
        case nodes.MatchRecognize() if node.within is not None:
            yield _longer_within(node, node.within)
        case nodes.Select():
            for clause in ("where", "having"):
                if (condition := node.args.get(clause)) is not None:
                    word = clause.upper()
                    yield _setting(node, clause, None, f"{word} {grammar.render(condition)}", f"no {word}")
            if node.distinct is True:
                yield _setting(node, "distinct", False, "SELECT DISTINCT", "SELECT")
            if node.window is not None:
                yield from _changes_of_window(node, node.window)
            if node.within is not None:
                yield _longer_within(node, node.within)
            if node.join_within is not None:
                yield from _changes_of_within(node, "join_within", node.join_within)


def _is_key_of_join(node: exp.Expr) -> bool:
    """Whether a node is an equality in ON, without which there is no join."""
    above = node.parent
    while isinstance(above, exp.And):
        above = above.parent
    return isinstance(node, exp.EQ) and isinstance(above, nodes.Join)


def _changes_of_window(node: nodes.Select, window: nodes.Window) -> Iterator[_Change]:
    longer = replace(window, size=_twice(window.size))
    yield _setting(node, "window", longer, f"SIZE {time_text(window.size)}", f"SIZE {time_text(longer.size)}")
    yield from _no_grace(node, "window", window)


def _changes_of_within(node: exp.Expr, name: str, within: nodes.Within) -> Iterator[_Change]:
    longer = replace(within, before=_twice(within.before), after=_twice(within.after))
    if longer != within:
        spans = [within_text(replace(each, grace=None)) for each in (within, longer)]
        yield _setting(node, name, longer, *spans)
    yield from _no_grace(node, name, within)


def _no_grace(node: exp.Expr, name: str, clause: nodes.Window | nodes.Within) -> Iterator[_Change]:
    if clause.grace is not None and clause.grace.amount:
        none = replace(clause.grace, amount=0)
        texts = [f"GRACE PERIOD {time_text(each)}" for each in (clause.grace, none)]
        yield _setting(node, name, replace(clause, grace=none), *texts)


def _longer_within(node: exp.Expr, within: nodes.TimeSpan) -> _Change:
    longer = _twice(within)
    return _setting(node, "within", longer, f"WITHIN {time_text(within)}", f"WITHIN {time_text(longer)}")


def _twice(span: nodes.TimeSpan) -> nodes.TimeSpan:
    return replace(span, amount=span.amount * 2)


def _replacement(node: exp.Expr, new: exp.Expr, within: exp.Expr | None = None) -> _Change:
    """``new`` in place of a node; ``within``: a node around it, whose texts are shown."""
    shown = node if within is None else within
    copy = shown.copy()
    if within is None:
        after = grammar.render(new)
    else:
        next(c for c, n in zip(copy.walk(), shown.walk(), strict=True) if n is node).replace(new.copy())
        after = grammar.render(copy)
    return _Change(grammar.render(shown), after, lambda place: place.replace(new.copy()))


def _setting(node: exp.Expr, name: str, value: object, before: str, after: str) -> _Change:
    return _Change(before, after, lambda place: place.set(name, value))


__all__ = ["Mutant", "mutants"]
