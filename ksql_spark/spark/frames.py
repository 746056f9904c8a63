"""Common to all builders of frames: what they get and return, names in Spark SQL text, table functions."""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from pyspark.sql import DataFrame, SparkSession

from ksql_spark import topic_patterns
from ksql_spark.expressions import ColumnRef, Expression, columns_in, transform, walk
from ksql_spark.functions import lowering
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.distribution import ONE_TASK, Tasks, waits_for
from ksql_spark.plan.nodes import Changes, Filter, Node, Project
from ksql_spark.plan.operations import is_table_filter, record_topic, waits
from ksql_spark.plan.stages import Stage
from ksql_spark.schema import EVENT_TIME, ROWPARTITION, ROWTIME
from ksql_spark.spark import archives, jvm
from ksql_spark.spark.processing_log import QueryLog
from ksql_spark.types import quote_identifier

#: how often a task reports the passing of time to an operator: the precision of an idle timeout
HEARTBEAT_MS = 250


#: the latest timestamp of the records that a query reads of its sources
AS_OF = "ksql.query.as.of.ms"


@dataclass(frozen=True)
class Topics:
    """Topics that a query reads without an end, in real time or in micro-batches (TaskOptions.java).

    Args:
        consumer: settings of Kafka's consumers, with ``bootstrap.servers``.
        starts: topic -> {partition: offset} as JSON, or "earliest".
        run: id of the run, by which its sources can be drained (spark/query.py).
        heartbeats: topic of the idle heartbeats, for micro-batches of operators with an idle timeout.
        max_idle_ms: how long a task waits for the slower one of its topics.
        batch_ms: how long a batch in real time lasts, about (BatchEnd.java).
        most_records: the most records of a topic in a micro-batch; 0: no limit.
        fails_on_loss: the query fails if records are gone that it has not read.
        until: topic -> {partition: offset} where micro-batches end for good; nothing is read of other topics
            and partitions. None: they do not end.
        archive_names: the names by which archives know their topics.
        compacted: topics whose archives are read before them, since they keep only some of their records.
    """

    consumer: Mapping[str, str]
    starts: Mapping[str, str]
    run: str
    heartbeats: str | None = None
    max_idle_ms: int = 0
    batch_ms: int = 0
    most_records: int = 0
    fails_on_loss: bool = False
    until: Mapping[str, Mapping[str, int]] | None = None
    archive_names: Mapping[str, str] = field(default_factory=dict)
    compacted: Collection[str] = ()


@dataclass(frozen=True)
class Signs:
    """The groups of a table's rows, over the columns of the operation that says how they change.

    Args:
        group: what rows are grouped by.
        condition: only rows that meet it belong to groups.
    """

    group: tuple[Expression, ...]
    condition: Expression | None

    @classmethod
    def of(cls, changes: Changes) -> Signs:
        """Those of rows that go through filters and projections to ``changes``."""
        group, condition, node = changes.group, None, changes.child
        if is_table_filter(node):
            assert isinstance(node, Filter)
            condition, node = node.predicate, node.child
        while isinstance(node, Project):
            named_by = {item.name: item.expression for item in (*node.keys, *node.values)}

            def below(part: Expression, by: Mapping[str, Expression] = named_by) -> Expression | None:
                return by.get(part.name) if isinstance(part, ColumnRef) else None

            group = tuple(transform(part, below) for part in group)
            condition = None if condition is None else transform(condition, below)
            node = node.child
        return cls(group, condition)

    def text(self, row: Mapping[str, str], following: Mapping[str, str]) -> str:
        """Text: the sign of a row, see ``plan.nodes.Changes``, over the output of its operator.

        Args:
            row: texts of its columns.
            following: those of the row that replaces it, which are NULL where there is none.
        """
        needed = {name for part in self.group for name in columns_in(part)}
        tests = []
        if any(row[name] != following[name] for name in needed):
            tests.append(f"NOT ({self._key(row)} = {self._key(following)})")
        if self.condition is not None:
            texts = _texts(self.condition, following)
            tests.append(f"NOT coalesce({lowering.lower(self.condition, texts)}, false)")
        return f"if(sign = -2 AND ({' OR '.join(tests)}), -1, sign)" if tests else "sign"

    def _key(self, row: Mapping[str, str]) -> str:
        return packed_key(lowering.lower(part, _texts(part, row)) for part in self.group)


def packed_key(members: Iterable[str]) -> str:
    """Text: the bytes of a key of at least one member; ``members``: their texts."""
    named_members = ", ".join(f"'c{i}', {text}" for i, text in enumerate(members))
    return f"ksql.pack_key(named_struct({named_members}))"


def _texts(expression: Expression, row: Mapping[str, str]) -> dict[Expression, str]:
    """The texts of the columns that an expression reads."""
    return {part: row[part.name] for part in walk(expression) if isinstance(part, ColumnRef)}


@dataclass(frozen=True)
class Context:
    """What builders need besides the nodes.

    Args:
        session: the query's own session, so that queries do not share settings.
        stage: the stage that is built.
        reads: what its sources read: topics, or these records (as ``sources.read`` returns them).
        tasks: how rows reach the tasks that keep state.
        numbers: a number for each of their parts (task_numbers).
        setting: effective value of a property, by name.
        log: takes reports of records that fail; None: nothing is reported.
        is_resumed: the sink has rows that are not in the query's state (runtime/queries/checkpoints.py).
        is_first: what a source has comes before records of other topics.
        completes: the operation above a source completes rows that leave out columns (schema.UNCHANGED).
        computed: calls that were made before the step -> text of the column with the result
            (spark/python_calls.py).
        number: how many operations with state are below.
        says: how an operation says how its rows change; None: it returns them as they are.
    """

    session: SparkSession
    stage: Stage
    reads: Topics | DataFrame
    tasks: Tasks = ONE_TASK
    numbers: tuple[int, ...] = (0,)
    setting: Callable[[str], Any] = lambda name: None
    log: QueryLog | None = None
    is_resumed: bool = False
    is_first: bool = False
    completes: bool = False
    computed: Mapping[Expression, str] = field(default_factory=dict)
    number: int = 0
    says: Signs | None = None

    def idle_ms_of(self, node: Node) -> int:
        """Return how long results of ``node`` wait without new rows; 0: without limit, or not at all."""
        return self.stage.plan.idle_ms if waits(node) else 0

    def options(self, topics: Topics) -> dict[str, str]:
        """Return the options of a source that reads ``topics`` (TaskOptions.java)."""
        limit = {"maxOffsetsPerTrigger": str(topics.most_records)} if topics.most_records else {}
        return limit | {
            "ksql.run": topics.run,
            "ksql.tasks": str(self.tasks.readers),
            "ksql.partitions": str(self.tasks.partitions if self.tasks.by_partition else 0),
            "ksql.one.order": str(self.tasks.is_one_order).lower(),
            "ksql.left.first": str(self.tasks.takes_left_first).lower(),
            "ksql.max.task.idle.ms": str(topics.max_idle_ms),
            "ksql.feeds": "" if self.stage.is_last else self.stage.sink.topic,
            "ksql.waits.for": waits_for(self.stage) or "",
            "ksql.batch.ms": str(topics.batch_ms),
            "ksql.log": self.log.log if self.log is not None else "",
            "ksql.query": self.log.query if self.log is not None else "",
            "ksql.fails.on.loss": str(topics.fails_on_loss).lower(),
        }

    def options_of(self, source: DataSource, topics: Topics) -> dict[str, str]:
        """Return ``options`` for ``source``, with its time AS OF and the place of its older records."""
        options = self.options(topics)
        if self.is_first:
            options["ksql.first"] = "true"
        as_of_ms = self.setting(AS_OF)
        if as_of_ms is not None:
            options["ksql.as.of.ms"] = str(as_of_ms)
        if topics.until is not None:
            until = {name: topics.until[name] for name in topic_patterns.names(source.topic, topics.until)}
            options["ksql.until"] = json.dumps(until)
        if source.archive is not None:
            options["ksql.archive"] = archives.located(self.session, source.archive)
            options["ksql.archive.topic"] = topics.archive_names.get(source.topic, "")
            options["ksql.archive.first"] = str(source.topic in topics.compacted).lower()
        return options

    def lower(
        self, node: Expression, step: str, what: str, row: Sequence[str] = (), *, at_root: bool = True
    ) -> str:
        """Spark SQL text of an expression over rows, lowered with error reports (see QueryLog.lower)."""
        if self.log is None:
            return self.lower_silently(node)
        return self.log.lower(node, step, what, row, self.computed, at_root=at_root)

    def of_rows(self, node: Node) -> Context:
        """Return this context for rows of ``node``: reports name the record that each comes from."""
        if self.log is None:
            return self
        return replace(self, log=self.log.of_topic(record_topic(node)))

    def lower_silently(self, node: Expression) -> str:
        """Spark SQL text of an expression over rows, lowered without error reports."""
        return lowering.lower(node, self.computed)

    def lower_having(self, node: Expression, results: Mapping[Expression, str]) -> str:
        """Spark SQL text of a condition on groups; ``results``: texts of the group and aggregate columns."""
        if self.log is None:
            return lowering.lower(node, results)
        return self.log.of_topic(None).lower(node, "HavingFilter", "HAVING", None, results)

    def task(self, key: str) -> str:
        """Text: the part of a row, over a frame with ROWPARTITION; ``key``: text of the key's bytes."""
        if self.tasks.by_partition:
            return ROWPARTITION
        if len(self.numbers) == 1:
            return str(self.numbers[0])
        numbers = ", ".join(map(str, self.numbers))
        return f"element_at(array({numbers}), ksql.kafka_partition({key}, {len(self.numbers)}) + 1)"

    def task_of(self, number: str) -> str:
        """Text: the part for the INT in the text ``number``, a partition for instance."""
        numbers = ", ".join(map(str, self.numbers))
        return f"element_at(array({numbers}), cast({number} AS int) % {len(self.numbers)} + 1)"


@dataclass(frozen=True)
class Built:
    """A frame, and the layout of the state that is kept for it.

    Args:
        frame: the frame.
        layout: what the bytes in the state mean, part -> description. A query resumes only from state with an
            equal layout (runtime/queries/checkpoints.py).
        appended: parts of it that the state may lack.
        former: what parts were in release 0.1.0; such state can be read, too.
    """

    frame: DataFrame
    layout: Mapping[str, str] = field(default_factory=dict)
    appended: Collection[str] = ()
    former: Mapping[str, str] = field(default_factory=dict)

    def after(self, below: Built, number: int) -> Built:
        """This frame with the layout of the operation ``below``, too; ``number``: of this one, from 0."""

        def part(name: str) -> str:
            return f"{number + 1}: {name}"

        return Built(
            self.frame,
            {**below.layout, **{part(name): text for name, text in self.layout.items()}},
            (*below.appended, *map(part, self.appended)),
            {**below.former, **{part(name): text for name, text in self.former.items()}},
        )


class Transformations:
    """Projections and filters over a frame, which Spark analyses together (Transformations.java).

    Each ``selectExpr()`` or ``filter()`` of a DataFrame is analysed alone, which takes as long as for all.
    """

    def __init__(self, frame: DataFrame) -> None:
        self._below = frame
        self._texts: list[list[str]] = []

    def select(self, *columns: str) -> Self:
        """Make a row of each row; ``columns``: texts in Spark SQL, each a column's name or with ``AS``."""
        self._texts.append(["SELECT", *columns])
        return self

    def filter(self, condition: str) -> Self:
        """Keep the rows for which ``condition``, text in Spark SQL, is true."""
        self._texts.append(["FILTER", condition])
        return self

    def frame(self) -> DataFrame:
        """The frame with all of them.

        Raises:
            AnalysisException: as DataFrame's methods.
            IllegalArgumentException: a text is not Spark SQL.
        """
        return jvm.transformed(self._below, self._texts)


def configure(
    session: SparkSession,
    tasks: Tasks,
    numbers: Sequence[int],
    *,
    by_event_time: bool = False,
    operators: int = 1,
    staying: Sequence[int] = (),
    forgotten: tuple[int, Sequence[bytes]] | None = None,
) -> None:
    """Set in a query's session how rows reach the tasks that keep state (TaskRule.java, KeyedOperator.java).

    Args:
        session: the query's own.
        tasks: as in the Context.
        numbers: as in the Context.
        by_event_time: all rows of a batch are taken in the order of their times.
        operators: how many keep state.
        staying: the numbers of those whose rows stay in the task of the operation below.
        forgotten: the number of the batch that begins by removing keys from the state of the last operator,
            and the packed keys.
    """
    keys = ""
    if forgotten is not None:
        is_read = tasks.by_partition and len(staying) == max(0, operators - 1)
        texts = [base64.b64encode(key).decode() for key in forgotten[1]]
        keys = json.dumps(
            {
                "operator": operators - 1,
                "batch": forgotten[0],
                "tasks": list(range(tasks.partitions) if is_read else numbers),
                "keys": texts,
            }
        )
    beating = "" if tasks.by_partition else ",".join(map(str, numbers))
    for name, value in {
        "spark.sql.shuffle.partitions": str(tasks.count),
        "spark.ksql.orderByTime": str(by_event_time).lower(),
        "spark.ksql.task.exchange": "KEEP" if tasks.is_exchanged else "REMOVE",
        "spark.ksql.task.staying": ",".join(map(str, staying)),
        "spark.ksql.task.merge": str(tasks.is_merged).lower(),
        "spark.ksql.task.heartbeat.ms": str(HEARTBEAT_MS if tasks.has_heartbeat else 0),
        "spark.ksql.task.heartbeat.tasks": beating,
        "spark.ksql.forgottenKeys": keys,
    }.items():
        session.conf.set(name, value)


def task_numbers(session: SparkSession, parts: int, tasks: int) -> tuple[int, ...]:
    """A number for each part: Spark's hash partitioner puts that of part p into task p % ``tasks``."""
    if tasks == 1:
        return tuple(range(parts))
    rows = session.sql(
        f"SELECT cast(id AS int) AS n, pmod(hash(cast(id AS int)), {tasks}) AS task FROM range({parts * 50})"
    ).collect()
    free: dict[int, list[int]] = {}
    for row in rows:
        free.setdefault(row["task"], []).append(row["n"])
    return tuple(free[part % tasks][part // tasks] for part in range(parts))


def union(frames: Iterable[DataFrame]) -> DataFrame:
    """The rows of all ``frames``, which have columns of the same types; names are those of the first."""
    return functools.reduce(DataFrame.unionAll, frames)


def exploded(frame: DataFrame, functions: Sequence[str], names: Sequence[str]) -> DataFrame:
    """Apply table functions: one row for each element of the longest array, NULL where another has ended.

    A NULL is as an empty array: a function that fails for one row leaves the rows of the others as they are.

    Args:
        frame: the rows.
        functions: texts of the arrays, each ``AS`` its name in ``names``.
        names: names of the columns that are added, one per array.
    """
    columns = [quoted(c) for c in frame.columns]
    arrays = frame.selectExpr(*columns, *functions)
    zipped = arrays.selectExpr(
        *columns, *(named(f"coalesce({quoted(name)}, array())", name) for name in names)
    )
    rows = zipped.selectExpr(*columns, f"explode(arrays_zip({', '.join(map(quoted, names))})) AS __row")
    return rows.selectExpr(*columns, *(named(f"__row.{quoted(name)}", name) for name in names))


#: a column's name as Spark SQL text
quoted = quote_identifier


def named(text: str, name: str) -> str:
    """``text AS `name```."""
    return f"{text} AS {quoted(name)}"


def event_time_column(names: Iterable[str]) -> str:
    """The column with the event time of rows that have the columns ``names``."""
    return EVENT_TIME if EVENT_TIME in names else ROWTIME
