"""Calls user functions before a step's expressions are evaluated: those in Python for many rows at once.

Within an expression, a call is made row by row. The calls that a step makes for every row are computed here
first: by PythonBatches.java, or by JarFunctions.java, which runs in the JVM. Their results are columns, and
the calls are lowered to these columns (``Context.computed``).
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from ksql_spark.expressions import Call, Case, Expression, Lambda, children
from ksql_spark.functions import jars, user
from ksql_spark.functions.lowering import lower
from ksql_spark.functions.spark_text import spark_type
from ksql_spark.plan.nodes import Node
from ksql_spark.plan.operations import row_expressions
from ksql_spark.schema import NULL_VALUE
from ksql_spark.spark import jvm
from ksql_spark.spark.frames import named, quoted
from ksql_spark.spark.processing_log import QueryLog

#: functions whose later arguments may not be evaluated at all
_SHORT_CUTS = frozenset({"AND", "OR", "COALESCE", "IFNULL", "NULLIF"})
_NUMBERS = itertools.count()


@dataclass
class Computed:
    """A step's first input with the results of calls; ``columns``: call -> name of its column."""

    frame: DataFrame
    columns: dict[Call, str] = field(default_factory=dict)

    def drop(self, frame: DataFrame) -> DataFrame:
        """``frame``, which derives from ours, without the columns of results."""
        return frame.drop(*self.columns.values()) if self.columns else frame

    @property
    def texts(self) -> Mapping[Expression, str]:
        """Call -> text of its column."""
        return {call: quoted(column) for call, column in self.columns.items()}


def compute(node: Node, inputs: Sequence[DataFrame], log: QueryLog | None = None) -> Computed | None:
    """Compute the calls that ``node`` makes for every row of its input; None if it makes none.

    Calls that fail are reported to ``log``.
    """
    waiting = [call for e in row_expressions(node) for call in _eager(e)]
    if not waiting:
        return None
    done = Computed(inputs[0])
    waiting = list(dict.fromkeys(waiting))
    while waiting:
        # innermost calls first: their results are arguments of the others
        ready = [c for c in waiting if not any(inner in waiting for a in c.arguments for inner in _eager(a))]
        waiting = [c for c in waiting if c not in ready]
        in_jars = [c for c in ready if jars.lowering_of(c) is not None]
        in_python = [c for c in ready if c not in in_jars]
        if in_jars:
            _add_of_jars(done, in_jars, log)
        if in_python:
            _add_of_python(done, in_python, log)
    return done


def end_workers(session: Callable[[], SparkSession], folder: str) -> None:
    """End the idle worker processes of a server; ``folder``: its folder of user functions."""
    with contextlib.suppress(Exception):  # the JVM may be gone, and the workers with it
        jvm.end_python_workers(session(), folder)


def _add_of_jars(done: Computed, calls: Sequence[Call], log: QueryLog | None) -> None:
    computed = done.texts
    own = list(map(quoted, done.frame.columns))
    outcomes, columns = [], []
    for call in calls:
        lowering = jars.lowering_of(call)
        assert lowering is not None  # the caller has looked
        texts = [lower(a, computed) for a in call.arguments]
        outcome = lowering.outcome(texts, [a.type for a in call.arguments])
        if NULL_VALUE in done.frame.columns:
            # in a record without a value all columns are NULL, which is not a failure
            outcome = f"if({NULL_VALUE}, NULL, {outcome})"
        name = f"__call_{next(_NUMBERS)}"
        outcomes.append(named(outcome, name))
        columns.append(named(_value(call, name, log), name))
        done.columns[call] = name
    done.frame = done.frame.selectExpr(*own, *outcomes).selectExpr(*own, *columns)


def _value(call: Call, outcome: str, log: QueryLog | None, row: str = "") -> str:
    """The text of an outcome's value, whose error is reported; ``row``: before the names of its columns."""
    if log is None:
        return f"{outcome}.value"
    report = log.caused("Function", f"{call} failed.", f"{outcome}.error", row)
    return f"if({outcome}.error IS NOT NULL AND {report}, NULL, {outcome}.value)"


def _add_of_python(done: Computed, calls: Sequence[Call], log: QueryLog | None) -> None:
    computed = done.texts
    frame = done.frame
    ddl = jvm.ddl_of(frame)
    packed = [named(f"ksql.pack(struct({', '.join(map(quoted, frame.columns))}))", "v")]
    functions, arguments = [], []
    for i, call in enumerate(calls):
        members = ", ".join(f"'c{n}', {lower(a, computed)}" for n, a in enumerate(call.arguments))
        packed.append(named(f"ksql.pack(named_struct({members}))", f"c{i}"))
        functions.append(user.code_of(call.function))
        arguments.append(", ".join(f"c{n} {spark_type(a.type)}" for n, a in enumerate(call.arguments)))
    results = jvm.python_batches(frame.selectExpr(*packed), functions, arguments)
    parts = [named(f"ksql.{quoted(f'unpack:{ddl}')}(v)", "__v")]
    columns = [named(f"__v.{quoted(c)}", c) for c in frame.columns]
    for i, call in enumerate(calls):
        result = f"value {user.spark_result(call.function)}, error string"
        parts.append(named(f"ksql.{quoted(f'unpack:{result}')}(r{i})", f"__r{i}"))
        name = f"__call_{next(_NUMBERS)}"
        columns.append(named(_value(call, f"__r{i}", log, "__v."), name))
        done.columns[call] = name
    done.frame = results.selectExpr(*parts).selectExpr(*columns)


def _eager(node: Expression) -> Iterator[Call]:
    """The calls of user functions in ``node`` that are made for every row, whatever the other parts yield."""
    match node:
        case Lambda():
            return
        case Case(whens, _, _):
            yield from _eager(whens[0][0])
            return
        case Call(name, arguments, _) if name in _SHORT_CUTS:
            yield from _eager(arguments[0])
            return
    if isinstance(node, Call) and node.arguments and user.is_user_call(node):
        yield node
    for child in children(node):
        yield from _eager(child)
