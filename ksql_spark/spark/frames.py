"""What all builders of frames share: the query's context and how names stand in Spark SQL text."""

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
    """What building needs beside the steps.

    Args:
        session: a session of the query's own, so that settings of queries do not meet.
        consumer: settings of Kafka's consumers, ``bootstrap.servers`` among them.
        starts: topic -> {partition: offset} as JSON, or "earliest".
        is_batch: read what the topics hold now, then end (pull queries on streams).
        paused: topics to read nothing of for now (while the tables of a join are loaded).
        tasks: a number for each task, which Spark's hash partitioner puts into a partition of its own.
        setting: effective value of a property, by name.
        heartbeats: topic of the idle heartbeats, for operators with an idle timeout.
        log: where failures of single records are reported; None: nowhere.
        run: id of the run, by which its sources can be drained (spark/query.py).
        is_single: all that is read comes from one partition, so records need no exchange between tasks.
        computed: calls whose results are columns already, with these columns' texts (spark/python_calls.py).
        is_resumed: the sink has rows that the query's state knows nothing of (runtime/checkpoints.py).
        state_layout: filled by building: what the bytes in the state mean, part -> description. A query only
            goes on from state that was written under an equal one (runtime/checkpoints.py).
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
        """The text of an expression over rows; what fails in it is reported, see QueryLog.lower."""
        if self.log is None:
            return self.lower_silently(node)
        return self.log.lower(node, step, what, row, self.computed, at_root=at_root)

    def lower_silently(self, node: Expression) -> str:
        """The text of an expression over rows, of which nothing is reported."""
        return lowering.lower(node, self.computed)

    def lower_having(self, node: Expression, results: Mapping[Expression, str]) -> str:
        """The text of a condition on groups; ``results``: texts of the columns of groups and aggregates."""
        if self.log is None:
            return lowering.lower(node, results)
        return self.log.lower(node, "HavingFilter", "HAVING", None, results)

    def task(self, key: str) -> str:
        """Text: the task of the key's bytes, by Kafka's partitioner; one of the numbers in ``tasks``."""
        if len(self.tasks) == 1:
            return str(self.tasks[0])
        numbers = ", ".join(map(str, self.tasks))
        return f"element_at(array({numbers}), ksql.kafka_partition({key}, {len(self.tasks)}) + 1)"

    def task_of(self, number: str) -> str:
        """Text: the task for the INT in the text ``number``, a partition for instance."""
        numbers = ", ".join(map(str, self.tasks))
        return f"element_at(array({numbers}), cast({number} AS int) % {len(self.tasks)} + 1)"


def task_numbers(session: SparkSession, count: int) -> tuple[int, ...]:
    """``count`` numbers that Spark's hash partitioner spreads over as many partitions, in their order."""
    if count == 1:
        return (0,)
    rows = session.sql(
        f"SELECT p, min(n) AS n FROM (SELECT cast(id AS int) AS n, pmod(hash(cast(id AS int)), {count}) AS p"
        f" FROM range({count * 50})) GROUP BY p ORDER BY p"
    ).collect()
    return tuple(row["n"] for row in rows)


def exploded(frame: DataFrame, functions: Sequence[str], names: Sequence[str]) -> DataFrame:
    """Table functions: each row as often as the longest of their arrays says, with their elements.

    Args:
        frame: rows.
        functions: texts of the arrays, with the names in ``names``.
        names: of the columns to add.
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
