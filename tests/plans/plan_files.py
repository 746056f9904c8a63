"""Plan snapshots: every query of <name>.sql, bound, lowered and explained, is <name>.plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ksql_spark import analyzer, grammar
from ksql_spark.config import Config
from ksql_spark.grammar.statements.inserts import InsertSelect
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.grammar.statements.sources import CreateAsSelect
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.explain import explain, explain_topology
from ksql_spark.plan.planner import lower, lower_transient
from ksql_spark.plan.queries import Feed, PersistentQuery
from ksql_spark.plan.stages import Plan

FOLDER = Path(__file__).parent
#: the columns of records, as spark.sources.read returns them
RECORD = (
    "cast(NULL AS binary) AS key",
    "cast(NULL AS binary) AS value",
    "'t' AS topic",
    "0 AS partition",
    "value AS offset",
    "timestamp",
    "cast(NULL AS array<struct<key: string, value: binary>>) AS headers",
)


@dataclass(frozen=True)
class PlannedQuery:
    """A query of a file: its text, what it means and how it runs."""

    text: str
    bound: PersistentQuery | Feed
    plan: Plan


def planned(path: Path, **properties: Any) -> Iterator[PlannedQuery]:
    """The queries of a file of statements, in order; other statements set the scene."""
    store, config = MetaStore(), Config(properties)
    for number, statement in enumerate(grammar.parse(path.read_text(encoding="utf-8"))):
        match statement:
            case CreateAsSelect() | InsertSelect():
                bound = analyzer.bind_persistent(statement, store, config)
                query_id = (
                    bound.query_id
                    or f"{'CTAS' if bound.sink.is_table else 'CSAS'}_{bound.sink.name}_{number}"
                )
                plan = lower(bound.root, bound.sink, config, query_id, by_event_time=bound.by_event_time)
                if bound.creates_sink:
                    store.add(bound.sink)
                yield PlannedQuery(statement.source_text, bound, plan)
            case Query():
                push = analyzer.bind_read(statement.query, store, config)
                assert isinstance(push, Feed)
                plan = lower_transient(push.root, push.output, "transient", config, f"transient_{number}")
                yield PlannedQuery(statement.source_text, push, plan)
            case _:
                store.add(analyzer.bind_create_source(statement, store, config))


def snapshot(path: Path) -> str:
    """What <name>.plan holds."""
    parts = [
        f"{query.text};\n\n{explain(query.plan)}\n\n{explain_topology(query.plan)}\n"
        for query in planned(path)
    ]
    return f"\n{'-' * 80}\n".join(parts)
