"""What all builders of frames share: the query's context, names in Spark SQL text, table functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ksql_spark.expressions import Expression
from ksql_spark.functions import lowering
from ksql_spark.spark.processing_log import QueryLog
from ksql_spark.types import quote_identifier


@dataclass(frozen=True)
class Context:
    """What builders need besides the steps.

    Args:
        session: the query's own session, so that queries do not share settings.
        consumer: settings of Kafka's consumers, with ``bootstrap.servers``.
        starts: topic -> {partition: offset} as JSON, or "earliest".
        is_batch: read what is in the topics now, then end (pull queries on streams).
        paused: topics that are not read for now (while the tables of a join are loaded).
        tasks: one number per task; Spark's hash partitioner puts each into a partition of its own.
        setting: effective value of a property, by name.
        heartbeats: topic of the idle heartbeats, for operators with an idle timeout.
        log: takes reports of records that fail; None: nothing is reported.
        run: id of the run, by which its sources can be drained (spark/query.py).
        is_single: only one partition is read, so records need no exchange between tasks.
        computed: calls that were made before the step -> text of the column with the result
            (spark/python_calls.py).
        is_resumed: the sink has rows that are not in the query's state (runtime/checkpoints.py).
        state_layout: filled in by the builders: what the bytes in the state mean, part -> description. A
            query resumes only from state with an equal layout (runtime/checkpoints.py).
    """

    session: SparkSession
    consumer: Mapping[str, str]
    starts: Mapping[str, str]
    is_batch: bool = False
    paused: frozenset[str] = frozenset()
    tasks: tuple[int, ...] = (0,)
    setting: Callable[[str], Any] = lambda name: None
    heartbeats: str | None = None
    log: QueryLog | None = None
    run: str | None = None
    is_single: bool = False
    is_resumed: bool = False
    state_layout: dict[str, str] = field(default_factory=dict)
    computed: Mapping[Expression, str] = field(default_factory=dict)

    def lower(
        self, node: Expression, step: str, what: str, row: Sequence[str] = (), *, at_root: bool = True
    ) -> str:
        """Spark SQL text of an expression over rows, lowered with error reports (see QueryLog.lower)."""
        if self.log is None:
            return self.lower_silently(node)
        return self.log.lower(node, step, what, row, self.computed, at_root=at_root)

    def lower_silently(self, node: Expression) -> str:
        """Spark SQL text of an expression over rows, lowered without error reports."""
        return lowering.lower(node, self.computed)

    def lower_having(self, node: Expression, results: Mapping[Expression, str]) -> str:
        """Spark SQL text of a condition on groups; ``results``: texts of the group and aggregate columns."""
        if self.log is None:
            return lowering.lower(node, results)
        return self.log.lower(node, "HavingFilter", "HAVING", None, results)

    def task(self, key: str) -> str:
        """Spark SQL text of a key's task, by Kafka's partitioner; ``key``: text of the key's bytes."""
        if len(self.tasks) == 1:
            return str(self.tasks[0])
        numbers = ", ".join(map(str, self.tasks))
        return f"element_at(array({numbers}), ksql.kafka_partition({key}, {len(self.tasks)}) + 1)"

    def task_of(self, number: str) -> str:
        """Spark SQL text of the task for ``number``, the text of an INT such as a partition."""
        numbers = ", ".join(map(str, self.tasks))
        return f"element_at(array({numbers}), cast({number} AS int) % {len(self.tasks)} + 1)"


def task_numbers(session: SparkSession, count: int) -> tuple[int, ...]:
    """``count`` numbers, of which Spark's hash partitioner puts the n-th into partition n of ``count``."""
    if count == 1:
        return (0,)
    rows = session.sql(
        f"SELECT p, min(n) AS n FROM (SELECT cast(id AS int) AS n, pmod(hash(cast(id AS int)), {count}) AS p"
        f" FROM range({count * 50})) GROUP BY p ORDER BY p"
    ).collect()
    return tuple(row["n"] for row in rows)


def exploded(frame: DataFrame, functions: Sequence[str], names: Sequence[str]) -> DataFrame:
    """Apply table functions: one row for each element of the longest array, NULL where another has ended.

    Args:
        frame: the rows.
        functions: texts of the arrays, each ``AS`` its name in ``names``.
        names: names of the columns that are added, one per array.
    """
    kept = [quoted(c) for c in frame.columns]
    zipped = frame.selectExpr(*kept, *functions)
    rows = zipped.selectExpr(*kept, f"explode(arrays_zip({', '.join(map(quoted, names))})) AS __row")
    return rows.selectExpr(*kept, *(named(f"__row.{quoted(name)}", name) for name in names))


#: a column's name as Spark SQL text
quoted = quote_identifier


def named(text: str, name: str) -> str:
    """``text AS `name```."""
    return f"{text} AS {quoted(name)}"
