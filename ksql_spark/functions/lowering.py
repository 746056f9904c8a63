"""Lowers bound expressions to Spark SQL text for selectExpr and expr.

NULL logic lives here (reference §3.2): a comparison with a NULL value is FALSE, while a failed evaluation,
which is also NULL in Spark, makes the surrounding expression fail. Texts of single functions are in the
families.

``lower_reporting`` lowers with error reports: an expression that may fail becomes ``coalesce(it, if(report,
NULL, NULL))``. If it has a value, nothing else is evaluated. If it is NULL, the report determines whether
that is a failure (failures.py) and reports it; the result is NULL.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from ksql_spark import __version__, deadline
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import (
    Call,
    Case,
    Cast,
    ColumnRef,
    Expression,
    FieldRef,
    Lambda,
    LambdaRef,
    Literal,
    MakeStruct,
    Members,
    walk,
)
from ksql_spark.functions import registry
from ksql_spark.functions.casts import cast, cast_can_fail, cast_grows
from ksql_spark.functions.failures import Failures
from ksql_spark.functions.nullness import Nullness, nullness, on_null
from ksql_spark.functions.spark_text import (
    SESSION_SETTINGS,
    LambdaText,
    constant,
    spark_type,
    string,
    variable,
)
from ksql_spark.functions.spec import OnNull, has_fixed_size, is_limited
from ksql_spark.types import BOOLEAN, DOUBLE, Decimal, Map, SqlType, quote_identifier

#: names that variable() returns
_MARK = re.compile("_v[0-9a-f]{8}")
#: (the expression that failed, why it may have: one sentence, the text of whether an operand is NULL, which
#: is then why) -> Spark SQL text, a BOOLEAN, that reports it
Report = Callable[[Expression, str, str], str]


def literal(node: Literal) -> str:
    """The Spark SQL text of a constant."""
    return constant(node.value, node.type)


def lower(node: Expression, computed: Mapping[Expression, str] | None = None) -> str:
    """The Spark SQL text of ``node``: atomic or in parentheses, deterministic.

    Args:
        node: a bound expression.
        computed: expressions that have already been computed -> text of their value.

    Raises:
        KsqlError: NOT_DONE_YET for a function without a lowering, FUNCTION_UNKNOWN.
    """
    return _Lowerer(computed or {}).lower(node)


def lower_reporting(
    node: Expression,
    report: Report,
    computed: Mapping[Expression, str] | None = None,
    *,
    at_root: bool = True,
) -> str:
    """The Spark SQL text of ``node``, with error reports.

    Args:
        node: a bound expression.
        report: returns a text that is evaluated once for each failure.
        computed: see ``lower``.
        at_root: whether a failure of ``node`` itself is reported, not only failures that it catches.
    """
    return _Lowerer(computed or {}, report).lower(node, is_caught=at_root)


def lower_condition(node: Expression, computed: Mapping[Expression, str] | None = None) -> str:
    """The Spark SQL text of ``node`` for WHERE and HAVING, where FALSE and NULL both exclude the row.

    Comparisons are not wrapped here, so that Spark can push them down. ``computed``: see ``lower``.
    """
    match node:
        case Call("AND", (left, right)):
            return f"({lower_condition(left, computed)} and {lower_condition(right, computed)})"
        case Call(_, arguments) if on_null(node) is OnNull.FALSE:
            return _spark(node, [lower(a, computed) for a in arguments])
    return lower(node, computed)


class _Lowerer:
    """Lowers the parts of one expression with given values, and with or without error reports."""

    def __init__(self, computed: Mapping[Expression, str], report: Report | None = None) -> None:
        self._computed = computed
        self._report = report
        self._failures = Failures()
        #: lowers parts a second time, without reports
        self._quiet = self if report is None else _Lowerer(computed)
        #: without reports, the text of each part, by its identity
        self._texts: dict[int, tuple[Expression, str]] = {}

    def lower(self, node: Expression, *, is_caught: bool = True) -> str:
        """The text of ``node``; ``is_caught``: its failure propagates no further, so it is reported here."""
        deadline.check()
        if self._computed and node in self._computed:
            return self._computed[node]
        known = self._texts.get(id(node))
        if known is not None:
            return known[1]
        text = self._call(node) if isinstance(node, Call) else self._text(node)
        if self._report is None:
            self._texts[id(node)] = node, text
            return text
        if not is_caught or not self._failures.can_fail(node):
            return text
        nulls = [f"({self._silent(operand)}) is null" for operand in self._failures.nulls(node)]
        report = self._report(node, self._failures.cause(node), " or ".join(nulls) or "false")
        return f"coalesce({text}, if({' and '.join([*self._signs_of_failure(node), report])}, NULL, NULL))"

    def _signs_of_failure(self, node: Expression) -> list[str]:
        """The texts of conditions under which a NULL of ``node`` is a failure."""
        if isinstance(node, Call) and (tells := registry.require(node.function).failed) is not None:
            text = tells([self._silent(a) for a in node.arguments], [a.type for a in node.arguments])
            return [] if text == "true" else [text]
        return [f"({self._silent(operand)}) is not null" for operand in self._failures.needed(node)]

    def _silent(self, node: Expression) -> str:
        """The text of ``node`` without reports, for a second evaluation."""
        return self._quiet.lower(node)

    def _text(self, node: Expression) -> str:
        match node:
            case ColumnRef(name) | LambdaRef(name):
                return quote_identifier(name)
            case Literal():
                return literal(node)
            case Members():
                return ", ".join(map(literal, node.literals))
            case Lambda(parameters, body):
                return LambdaText([quote_identifier(p) for p in parameters], self.lower(body))
            case Cast(Literal(str() as text, _), Decimal() as decimal) if text.strip() == text:
                return f"cast({string(text)} as {spark_type(decimal)})"
            case Cast(operand, type_):
                return self._composed(node, [operand], lambda texts: _cast(texts[0], operand.type, type_))
            case FieldRef(operand, field):
                return f"{self.lower(operand)}.{quote_identifier(field)}"
            case MakeStruct(fields):
                return f"named_struct({', '.join(f'{string(n)}, {self.lower(e)}' for n, e in fields)})"
            case Case():
                return self._case(node)
        raise TypeError(f"no lowering for {node!r}")

    def _composed(
        self, node: Expression, operands: Sequence[Expression], compose: Callable[[Sequence[str]], str]
    ) -> str:
        """``compose`` over the operands' texts; an operand that reports is evaluated once.

        A text that repeats an operand would repeat its report, so such an operand is bound to a variable.
        """
        texts: list[str] = []
        for operand, is_passed in zip(operands, self._failures.passing_on(node), strict=True):
            texts.append(self.lower(operand, is_caught=not is_passed))  # a call less deep than a list
        reporting = [
            i
            for i, operand in enumerate(operands if self._report is not None else ())
            if not isinstance(operand, Lambda) and texts[i] != self._silent(operand)
        ]
        composed = compose(texts)
        if not reporting:
            return composed
        marks = {i: variable(str(i), texts[i]) for i in reporting}
        marked = Counter(_MARK.findall(compose([marks.get(i, text) for i, text in enumerate(texts)])))
        bound: dict[str, str] = {}
        for i in reporting:
            if marked[marks[i]] > 1:
                name = variable(texts[i])
                bound[name], texts[i] = texts[i], name
        composed = compose(texts) if bound else composed
        for name, text in bound.items():
            composed = f"transform(array({text}), {name} -> {composed})[0]"
        return composed

    def _within_limits(self, node: Call, texts: Sequence[str], bare: str) -> str:
        """A TRANSFORM that is NULL if all results together are too large, detected before they are stored.

        Each result is within the limits, but a column's text, for example, may occur once per element. Only
        lambdas that may do so are computed twice; what others make is looked at when it is there.
        """
        lambdas = (a for a in node.arguments if isinstance(a, Lambda))
        steps = [a for a in lambdas if not has_fixed_size(a.body.type)]
        if not any(map(_multiplies, steps)):
            return _limited(bare) if steps else bare
        collection = texts[0]
        is_map = isinstance(node.arguments[0].type, Map)
        checks = []
        for step in steps:
            n, e = variable(collection, str(step), "n"), variable(collection, str(step), "e")
            text = self._silent(step)
            assert isinstance(text, LambdaText)
            added = LambdaText(text.parameters, f"ksql.add_size({n}, {text.body})")
            of_entry = f"zip_with(array({e}.key), array({e}.value), {added})[0]"
            of_element = f"transform(array({e}), {added})[0]"
            each = f"map_entries({collection})" if is_map else collection
            sum_ = f"if({n} < 0, {n}, {of_entry if is_map else of_element})"
            checks.append(f"aggregate({each}, 0L, ({n}, {e}) -> {sum_}) < 0")
        return f"if({' or '.join(checks)}, NULL, {bare})"

    def _case(self, node: Case) -> str:
        whens: list[tuple[str, str]] = []
        for condition, result in node.whens:
            text = self.lower(condition)
            if self._failures.nullness(condition) is Nullness.ERROR:
                whens.append((f"{text} is null", "NULL"))
                text = self._silent(condition)
            whens.append((text, self.lower(result)))
        if node.default is None or _is_null(node.default):
            # where no branch is taken, Spark's code for CASE keeps the value of the row before, and gives it
            # to functions of ours; that for IF does not
            *whens, (condition_text, result_text) = whens
            default = f"if({condition_text}, {result_text}, NULL)"
        else:
            default = self.lower(node.default)
        if not whens:
            return f"({default})"
        return f"(case {' '.join(f'when {c} then {r}' for c, r in whens)} else {default} end)"

    def _call(self, node: Call) -> str:
        meaning = on_null(node)
        kinds = list(map(self._failures.nullness, node.arguments))
        # arguments that are evaluated first, so that the rest of the text need not report them again
        checked: list[int] = []
        if meaning in (OnNull.FALSE, OnNull.NEVER):
            checked = [i for i, kind in enumerate(kinds) if kind is Nullness.ERROR]
        lambdas = [a for a in node.arguments if isinstance(a, Lambda)]
        # FILTER has no criterion if its lambda returns NULL, for whatever reason
        missing = (Nullness.ERROR, Nullness.VALUE) if node.function == "FILTER" else (Nullness.ERROR,)
        can_miss = bool(lambdas) and self._failures.nullness(lambdas[0].body) in missing
        if can_miss and node.function == "FILTER":
            checked.append(1)

        def compose(texts: Sequence[str]) -> str:
            if meaning is OnNull.ERROR and node.function in ("AND", "OR") and kinds[0] is Nullness.NEVER:
                return f"({texts[0]} {node.function.lower()} {texts[1]})"
            rest = [self._silent(a) if i in checked else texts[i] for i, a in enumerate(node.arguments)]
            bare = _ansi(node, rest) if node.ansi else _spark(node, rest)
            if can_miss:
                bare = _failing_with_an_element(node, texts, bare)
            if node.function == "TRANSFORM":
                bare = self._within_limits(node, texts, bare)
            if meaning not in (OnNull.FALSE, OnNull.NEVER):
                return bare
            if meaning is OnNull.FALSE:
                if Nullness.VALUE not in kinds:
                    return bare
                bare = f"coalesce({bare}, false)"
            failed = " or ".join(f"{texts[i]} is null" for i in checked)
            return f"if({failed}, NULL, {bare})" if failed else bare

        return self._composed(node, node.arguments, compose)


def _is_null(node: Expression) -> bool:
    bare = node.operand if isinstance(node, Cast) else node
    return isinstance(bare, Literal) and bare.value is None


def _multiplies(step: Lambda) -> bool:
    """Whether the results of ``step`` for all elements may be far larger than all elements together."""
    if has_fixed_size(step.body.type):
        return False
    own = set(step.parameters)
    for part in walk(step.body):
        match part:
            case Call(name, _) if (spec := registry.require(name)).limits:
                if name not in _ADDING and not spec.grows:
                    return True
            case ColumnRef(_, type_) if not has_fixed_size(type_):
                return True
            case LambdaRef(name, type_) if name not in own and not has_fixed_size(type_):
                return True
    return False


#: functions whose results are as large as all their arguments together
_ADDING = frozenset(("+", "||", "CONCAT"))


def _failing_with_an_element(node: Call, texts: Sequence[str], bare: str) -> str:
    """A call fails as a whole if its lambda fails for an element; REDUCE and TRANSFORM of maps do anyway."""
    collection, step = texts[:2]
    v = variable(*texts)
    is_map = isinstance(node.arguments[0].type, Map)
    match node.function, is_map:
        case "TRANSFORM", False:
            return f"ksql.complete({bare})"
        case "FILTER", False:
            return f"if(exists({collection}, {step} is null), NULL, {bare})"
        case "FILTER", True:
            results = f"map_values(transform_values({collection}, {step}))"
            return f"if(exists({results}, {v} -> {v} is null), NULL, {bare})"
    return bare


def _ansi(node: Call, texts: Sequence[str]) -> str:
    """The text of an operator of ansi conditions, whose NULLs are those of Spark."""
    if node.function in ("AND", "OR"):
        return f"({texts[0]} {node.function.lower()} {texts[1]})"
    if node.arguments[0].type != DOUBLE or node.type != BOOLEAN or node.function == "IN":
        return _spark(node, texts)
    if node.function == "BETWEEN":
        value, low, high = node.arguments
        above, below = Call(">=", (value, low), BOOLEAN, True), Call("<=", (value, high), BOOLEAN, True)
        return f"({_ansi(above, texts[:2])} and {_ansi(below, texts[::2])})"
    # beside NaN a comparison is FALSE, but not where the other side is NULL
    of_null = " or ".join(
        f"{t} is null" for t, a in zip(texts, node.arguments, strict=True) if not _is_never_null(a)
    )
    return f"if({of_null}, NULL, {_spark(node, texts)})" if of_null else _spark(node, texts)


def _is_never_null(node: Expression) -> bool:
    if isinstance(node, Cast):
        return not cast_can_fail(node.operand.type, node.type) and _is_never_null(node.operand)
    return nullness(node) is Nullness.NEVER


def _spark(node: Call, texts: Sequence[str]) -> str:
    spec = registry.require(node.function)
    if spec.spark is None:
        raise KsqlError("NOT_DONE_YET", what=f"The function {spec.name}", version=__version__)
    text = spec.spark(texts, [a.type for a in node.arguments])
    return _limited(text) if spec.grows and is_limited(node, spec) else text


def _cast(text: str, source: SqlType, target: SqlType) -> str:
    result = cast(text, source, target)
    return _limited(result) if cast_grows(source, target) else result


def _limited(text: str) -> str:
    """A value that may be some times larger than what it is made of; NULL if it is too large."""
    return f"ksql.limited({text})"


__all__ = [
    "SESSION_SETTINGS",
    "Report",
    "literal",
    "lower",
    "lower_condition",
    "lower_reporting",
    "spark_type",
]
