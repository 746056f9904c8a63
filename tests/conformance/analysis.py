"""Measure the analyzer: ``python tests/conformance/analysis.py CASES [-v]``, a folder of conformance cases.

Every statement of every case is parsed and bound, nothing runs. Counted: cases that expect success and are
accepted (with the schemas and columns they expect), cases that expect an error and are refused. Cases are
JSON Lines; the fields that are read are named in ``Case``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ksql_spark import analyzer, grammar
from ksql_spark.errors import KsqlError
from ksql_spark.formats.capabilities import KINDS
from ksql_spark.grammar.nodes import Statement
from ksql_spark.grammar.statements.inserts import InsertSelect, InsertValues
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.grammar.statements.sources import AlterSource, CreateAsSelect, CreateSource, DropSource
from ksql_spark.grammar.statements.types import CreateType, DropType
from ksql_spark.metastore.sources import DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.queries import Feed, Lookup, Read
from ksql_spark.schema import Role
from ksql_spark.schema_registry import JSON, PROTOBUF, RegisteredSchema, subject_of

#: errors of a running query: the analyzer cannot know them
AT_RUN_TIME = re.compile(r"Exception caught in process|Fatal user code error")


#: statements that ksqlDB refuses, and ksql-spark does not
DELIBERATE = {
    "qtt/fk-n-way-join/Should fail as second step in n-way join with fk join as first step": (
        "a statement may have several foreign-key joins"
    ),
    "qtt/joins/self join": "a stream can be joined with itself",
    "rest/insert-values/should fail on mismatch between key and key field values when stream has key": (
        "a rule about the KEY property, which is gone: K and ID are two columns"
    ),
    "rest/pull-queries-against-materialized-aggregates/fail on unsupported query feature: join": (
        "pull queries can join"
    ),
    "rest/pull-queries-against-streams/error on ORDER BY": "pull queries can sort",
}


@dataclass
class Case:
    """One case: statements, the properties they run under, what is expected."""

    id: str
    statements: list[str]
    properties: dict[str, Any]
    expected_exception: dict[str, Any] | None
    post: dict[str, Any]
    topics: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    responses: list[dict[str, Any]]

    @property
    def feature(self) -> str:
        """The second part of the id: qtt/<feature>/<name>."""
        return self.id.split("/")[1]

    @property
    def expects_analysis_error(self) -> bool:
        """Whether a statement must be refused before anything runs."""
        error = self.expected_exception
        return error is not None and not AT_RUN_TIME.search(error.get("message") or "")


class CaseRegistry:
    """The schemas that a case says are registered, in memory: see schema_registry.SchemaRegistry."""

    def __init__(self, topics: list[dict[str, Any]]) -> None:
        self._latest: dict[str, RegisteredSchema] = {}
        for topic in topics:
            for side in ("key", "value"):
                text = topic[f"{side}Schema"]
                if text is None:
                    continue
                kind = KINDS.get((topic[f"{side}Format"] or "AVRO").upper(), JSON)
                references = {
                    r["name"]: _schema_text(r["schema"]) for r in topic[f"{side}SchemaReferences"] or ()
                }
                schema_id = topic[f"{side}SchemaId"] or -1 - len(self._latest)
                schema = RegisteredSchema(schema_id, kind, _schema_text(text, kind), references)
                self._latest[subject_of(topic["name"], side == "key")] = schema

    @property
    def address(self) -> str | None:
        return None

    def require(self) -> None:
        """It is always there."""

    def has_schemas(self) -> bool:
        """It has some."""
        return True

    def latest(self, subject: str) -> RegisteredSchema | None:
        return self._latest.get(subject)

    def versions(self, subject: str, most: int) -> list[tuple[int, RegisteredSchema]]:
        return [(1, latest)] if (latest := self._latest.get(subject)) is not None else []

    def by_id(self, schema_id: int) -> RegisteredSchema | None:
        return next((s for s in self._latest.values() if s.id == schema_id), None)

    def subjects(self, schema_id: int) -> list[str]:
        return [subject for subject, schema in self._latest.items() if schema.id == schema_id]


def _schema_text(schema: Any, kind: str = PROTOBUF) -> str:
    """A schema as a registry has it: the cases have JSON as it is, and .proto files as texts."""
    return schema if kind == PROTOBUF and isinstance(schema, str) else json.dumps(schema)


@dataclass
class Outcome:
    """What the analyzer said about one case."""

    refused_at: int | None = None
    error: str = ""
    condition: str = ""
    sources: MetaStore = field(default_factory=MetaStore)
    registry: CaseRegistry = field(default_factory=lambda: CaseRegistry([]))
    queries: list[Read] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)


def read_cases(folder: Path) -> Iterator[Case]:
    """All cases in the folder's .jsonl files."""
    names = Case.__dataclass_fields__
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            yield Case(**{name: record[name] for name in names})


# ---- running one case -----------------------------------------------------------------------------------


def _create_source(
    statement: CreateSource, store: MetaStore, config: dict[str, Any], outcome: Outcome
) -> None:
    if statement.if_not_exists and store.find(statement.name):
        return
    statement = analyzer.infer_columns(statement, config, outcome.registry)
    store.add(analyzer.bind_create_source(statement, store, config))


def _create_as(statement: CreateAsSelect, store: MetaStore, config: dict[str, Any], outcome: Outcome) -> None:
    if statement.if_not_exists and store.find(statement.name):
        return
    store.add(analyzer.bind_persistent(statement, store, config, outcome.registry).sink)


def _query(statement: Query, store: MetaStore, config: dict[str, Any], outcome: Outcome) -> None:
    outcome.queries.append(analyzer.bind_read(statement.query, store, config))


def _create_type(statement: CreateType, store: MetaStore, config: dict[str, Any], _: Outcome) -> None:
    store.add_type(statement.name, analyzer.bind_type(statement.data_type, store))


def _drop(statement: DropSource, store: MetaStore, config: dict[str, Any], _: Outcome) -> None:
    if not statement.if_exists:
        store.require(statement.name)
    store.drop(statement.name)


RUN: dict[type[Statement], Callable[[Any, MetaStore, dict[str, Any], Outcome], Any]] = {
    AlterSource: lambda s, store, config, _: store.add(analyzer.bind_alter_source(s, store)),
    CreateAsSelect: _create_as,
    CreateSource: _create_source,
    CreateType: _create_type,
    DropSource: _drop,
    DropType: lambda s, store, config, _: store.drop_type(s.name),
    InsertSelect: lambda s, store, config, _: analyzer.bind_persistent(s, store, config),
    InsertValues: lambda s, store, config, _: analyzer.bind_insert_values(s, store, config),
    Query: _query,
}


def run(case: Case) -> Outcome:
    """Parse and bind the case's statements one after the other, up to the first error."""
    outcome = Outcome(registry=CaseRegistry(case.topics))
    for number, text in enumerate(case.statements):
        try:
            for statement in grammar.parse(text):
                step = RUN.get(type(statement))
                if step is not None:
                    step(statement, outcome.sources, case.properties, outcome)
        except KsqlError as error:
            outcome.refused_at, outcome.error, outcome.condition = number, error.message, error.condition
            return outcome
        except grammar.ParseFailed as error:
            outcome.refused_at, outcome.error, outcome.condition = number, str(error), "PARSE"
            return outcome
    outcome.differences = [*_schema_differences(case, outcome), *_column_differences(case, outcome)]
    outcome.differences += _header_differences(case, outcome)
    return outcome


def _columns(text: str) -> list[tuple[str, str, bool]]:
    created = grammar.parse_one(f"CREATE STREAM X ({text.replace('PRIMARY KEY', 'KEY')});")
    assert isinstance(created, CreateSource)
    store = MetaStore()
    return [
        (c.name, str(analyzer.bind_type(c.data_type, store)), c.constraint == "KEY") for c in created.columns
    ]


def _described(source: DataSource) -> list[tuple[str, str, bool]]:
    return [(c.name, str(c.type), c.role is Role.KEY) for c in source.schema.columns]


def _schema_differences(case: Case, outcome: Outcome) -> Iterator[str]:
    """Schemas, kinds and formats of sources that the case describes."""
    for described in case.post.get("sources") or []:
        source = outcome.sources.find(described["name"])
        if source is None:
            continue
        if described.get("schema"):
            expected, got = _columns(described["schema"]), _described(source)
            if expected != got:
                yield f"{source.name}: schema {source.schema}, expected {described['schema']}"
        if described.get("type") and described["type"].upper() != source.kind:
            yield f"{source.name}: {source.kind}, expected {described['type']}"
        for side, spec in (("keyFormat", source.key_format), ("valueFormat", source.value_format)):
            format_ = (
                (described.get(side) or {}).get("format") if isinstance(described.get(side), dict) else None
            )
            if format_ and format_.upper() != spec.name:
                yield f"{source.name}: {side} {spec.name}, expected {format_}"


def _column_differences(case: Case, outcome: Outcome) -> Iterator[str]:
    """Names of the fields in the records that the case expects."""
    by_topic = {s.topic: s for s in outcome.sources.sources() if s.is_sink}
    seen = set()
    for record in case.outputs:
        source = by_topic.get(record["topic"])
        if source is None or not isinstance(record["value"], dict) or source.name in seen:
            continue
        if source.value_format.name != "JSON" or len(source.schema.value) < 2:
            continue
        names = {c.name for c in source.schema.value}
        fields = {k if k in names else k.upper() for k in record["value"]}
        if not fields <= names:
            seen.add(source.name)
            yield f"{source.name}: columns {sorted(names)}, expected {sorted(record['value'])}"


def _header_differences(case: Case, outcome: Outcome) -> Iterator[str]:
    """Columns of query results."""
    answers = [r["query"] for r in case.responses if "query" in r]
    for query, answer in zip(outcome.queries, answers, strict=False):
        header = next((row["header"]["schema"] for row in answer if "header" in row), None)
        if header is None:
            continue
        if isinstance(query, Feed):
            got = [(c.name, str(c.type), False) for c in query.output]
        elif isinstance(query, Lookup):
            got = [(i.name, str(i.expression.type), i.name in query.key_names) for i in query.items]
        else:
            got = [(c.name, str(c.type), c.name in query.key_names) for c in query.root.schema.columns]
        if got != _columns(header):
            yield f"result {got}, expected {header}"


# ---- the report -----------------------------------------------------------------------------------------


def waits_for(outcome: Outcome) -> str | None:
    """What else has to be there before the case can be judged."""
    if outcome.condition == "FUNCTION_UNKNOWN":
        return "function"
    return None


def main(arguments: list[str]) -> int:
    """Run all cases and print the report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", type=Path, help="the folder with the .jsonl files")
    parser.add_argument("-v", "--verbose", action="store_true", help="list what is not as expected")
    parser.add_argument("-m", "--messages", action="store_true", help="list error messages that differ")
    parser.add_argument("--only", default="", help="a part of the case's id")
    options = parser.parse_args(arguments)
    table: dict[str, Counter[str]] = {}
    failed: list[str] = []
    for case in read_cases(options.cases):
        if options.only not in case.id:
            continue
        row = table.setdefault(case.feature, Counter())
        outcome = run(case)
        error = re.sub(r"\s+", " ", outcome.error)[:300]
        last = case.statements[-1].strip().replace("\n", " ")
        if not case.expects_analysis_error:
            if outcome.refused_at is None:
                row["accepted"] += 1
                for difference in outcome.differences:
                    row["differs"] += 1
                    failed.append(f"DIFFERS  {case.id}\n    {difference}\n    {last}")
            else:
                what = waits_for(outcome)
                row[f"waits: {what}" if what else "wrongly refused"] += 1
                statement = case.statements[outcome.refused_at].strip().replace("\n", " ")
                failed.append(f"{'WAITS   ' if what else 'REFUSED '} {case.id}\n    {error}\n    {statement}")
            continue
        failure = case.expected_exception or {}
        if outcome.refused_at is None:
            why = DELIBERATE.get(case.id)
            row["deliberately accepted" if why else "wrongly accepted"] += 1
            line = f"BEYOND   {case.id}\n    {why}" if why else f"ACCEPTED {case.id}\n    expected: "
            failed.append(f"{line}{'' if why else failure.get('message')}\n    {last}")
        elif outcome.refused_at < len(case.statements) - 1:
            what = waits_for(outcome)
            row[f"waits: {what}" if what else "refused too early"] += 1
            failed.append(f"{'WAITS   ' if what else 'EARLY   '} {case.id}\n    {error}\n    {last}")
        else:
            row["refused"] += 1
            if _plain(failure.get("message") or "") in _plain(outcome.error):
                row["same message"] += 1
            elif options.messages:
                expected = _plain(failure.get("message") or "")[:300]
                failed.append(f"MESSAGE  {case.id}\n    {error}\n    {expected}\n    {last}")
    _report(table, failed if options.verbose or options.messages else [])
    return 0


def _plain(message: str) -> str:
    return " ".join(re.sub(r"line:? ?\d+(?:, col: |:)\d+", "line", message, flags=re.I).split()).lower()


def _report(table: dict[str, Counter[str]], failed: list[str]) -> None:
    total: Counter[str] = Counter()
    for feature, row in sorted(table.items()):
        total += row
        print(f"{feature:45} " + ", ".join(f"{k} {v}" for k, v in sorted(row.items())))
    print("\n".join(["", *failed]) if failed else "")
    print("in all: " + ", ".join(f"{k} {v}" for k, v in sorted(total.items())))
    good = total["accepted"] + total["wrongly refused"]
    bad = sum(total[k] for k in ("refused", "wrongly accepted", "deliberately accepted", "refused too early"))
    if good:
        print(f"expected to succeed: {100 * total['accepted'] / good:.1f} % accepted (waiting ones aside)")
    if bad:
        print(f"expected to fail: {100 * total['refused'] / bad:.1f} % refused")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
