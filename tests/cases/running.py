"""Runs a case on an engine of its own, in topics of its own, and compares what comes out."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from ksql_spark import grammar
from ksql_spark.engine import Engine, QueryStream, Request, Row
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.statements.print_topic import PrintTopic
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.grammar.statements.session import SetProperty, UnsetProperty
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record, TopicReader
from ksql_spark.metastore.serdes import key_serde, value_serde
from ksql_spark.metastore.sources import DataSource
from ksql_spark.runtime.reading.results import api_value
from ksql_spark.runtime.reading.view import split_key
from ksql_spark.schema import ROWTIME, WINDOWEND, WINDOWSTART
from tests.cases.case_file import Case, Cells, Check, Restart, Sql, cell, table

#: how long an output may take, seconds; it only matters where a case fails
TIMEOUT_S = 60.0
#: COMPLETE=1: nothing for this long means that nothing more comes
QUIET_S = 8.0
DELETED = "<deleted>"


class CaseFailed(Exception):
    """What came out is not what the case says; the text is for a person."""


class Sink:
    """The topic of a stream or table, read from its beginning."""

    def __init__(self, servers: str, source: DataSource) -> None:
        self.source = source
        self.records: list[Record] = []
        #: how many records earlier checks have accounted for
        self.checked = 0
        self._reader = TopicReader(servers, source.topic)

    def poll(self, timeout_s: float) -> bool:
        """Take in what comes within the time; False where nothing did."""
        records = self._reader.poll_batch(timeout_s)
        self.records += records
        return bool(records)

    def read_to_end(self) -> None:
        """Take in all that is there now."""
        for batch in self._reader.read_to_end():
            self.records += batch

    def close(self) -> None:
        self._reader.close()

    @property
    def columns(self) -> Cells:
        """Names of the columns that a table shows unless its header names others."""
        bounds = [WINDOWSTART, WINDOWEND] if self.source.window else []
        names = [c.name for c in self.source.schema.key], [c.name for c in self.source.schema.value]
        return [*names[0], *bounds, *names[1]]

    def rows(self, columns: Sequence[str], mode: str) -> list[Cells]:
        """The records as rows of a table, as the mode wants them."""
        if mode == "folded":
            last = {record.key: record for record in self.records}
            return sorted(self._row(r, columns) for r in last.values() if r.value is not None)
        rows = self.shown(self.records[self.checked :], columns)
        return sorted(rows) if mode == "rowsort" else rows

    def shown(self, records: Sequence[Record], columns: Sequence[str]) -> list[Cells]:
        """Records as rows of a table."""
        return [self._row(r, columns) for r in records]

    def _row(self, record: Record, columns: Sequence[str]) -> Cells:
        source = self.source
        named: dict[str, str] = {ROWTIME: cell(record.timestamp_ms)}
        if record.key is not None:
            key, start, end = split_key(record.key, source.window)
            named |= {WINDOWSTART: cell(start), WINDOWEND: cell(end)}
            values = key_serde(source).decode(key) if source.schema.key else None
            named |= _shown(source.schema.key, values)
        if record.value is None:
            named |= dict.fromkeys((c.name for c in source.schema.value), DELETED)
        else:
            named |= _shown(source.schema.value, value_serde(source).decode(record.value))
        by_folded = {name.upper(): text for name, text in named.items()}
        unknown = [c for c in columns if c.upper() not in by_folded | _folded(self.columns)]
        if unknown:
            raise CaseFailed(f"{source.name} has no column {', '.join(unknown)}")
        return [by_folded.get(c.upper(), "NULL") for c in columns]


def _folded(names: Sequence[str]) -> dict[str, None]:
    return dict.fromkeys(n.upper() for n in names)


def _shown(columns: Sequence[Any], values: Sequence[Any] | None) -> dict[str, str]:
    if values is None:
        return {c.name: "NULL" for c in columns}
    return {c.name: cell(api_value(v, c.type)) for c, v in zip(columns, values, strict=True)}


class Run:
    """One run of a case; a context that frees what it holds.

    Args:
        case: what to run.
        make_engine: ``(properties of the server) -> Engine`` that is not started.
        admin: of the broker that the engine uses.
        is_completing: take what comes out instead of comparing it.
    """

    def __init__(
        self,
        case: Case,
        make_engine: Callable[[Mapping[str, str]], Engine],
        admin: KafkaAdmin,
        is_completing: bool,
    ) -> None:
        self.case = case
        self.name = f"case_{uuid.uuid4().hex[:8]}"
        self.completed: list[tuple[Check, list[str]]] = []
        of_case = {name: value.replace("${case}", self.name) for name, value in case.server.items()}
        own = {"ksql.service.id": self.name, "ksql.output.topic.name.prefix": f"{self.name}_"}
        self._make_engine = lambda: make_engine(own | of_case)
        self._engine: Engine | None = None
        self._admin = admin
        self._is_completing = is_completing
        self._properties: dict[str, Any] = {"auto.offset.reset": "earliest"}
        self._sinks: dict[str, Sink] = {}
        #: the checks since the last statement: they must still hold at the end
        self._final: dict[str, Check] = {}
        self._last: Sql | None = None
        self._stream: QueryStream | None = None
        #: the error of the last statement until an --@error has seen it
        self._refused: tuple[Sql, KsqlError] | None = None

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._engine is not None:
            self._engine.stop()
        for sink in self._sinks.values():
            sink.close()
        mine = (f"{self.name}_", f"_confluent-ksql-{self.name}")
        self._admin.delete_topics(name for name in self._admin.topics() if name.startswith(mine))

    @property
    def engine(self) -> Engine:
        """The engine, started when it is first needed."""
        if self._engine is None:
            engine = self._make_engine()
            engine.start()
            self._engine = engine
        return self._engine

    def run(self) -> None:
        """Run all steps.

        Raises:
            CaseFailed: something else came out.
        """
        for step in self.case.steps:
            if not (isinstance(step, Check) and step.kind == "error"):
                self._nothing_refused()
            self._do(step)
        self._nothing_refused()
        self._still_so()

    def _do(self, step: object) -> None:
        match step:
            case Sql():
                self._final.clear()
                self._last = step
                self._statement(step)
            case Restart():
                self._restart()
            case Check("output"):
                self._output(step)
            case Check("rows"):
                self._rows(step)
            case Check():
                self._error(step)

    def _nothing_refused(self) -> None:
        if self._refused is not None:
            statement, error = self._refused
            raise self._failed(statement.line, f"{error.condition}: {error.message}")

    def _failed(self, line: int, what: str) -> CaseFailed:
        text = f"{self.case.path}:{line}: {self.case.title}\n{what}"
        with contextlib.suppress(KsqlError):
            for query in self.engine.services.queries.all():
                text += "".join(f"\nquery {query.id} failed: {e.message}" for e in query.errors)
        return CaseFailed(text)

    # ---- statements ----------------------------------------------------------------------------------

    def _statement(self, step: Sql) -> None:
        variables = {"case": self.name}
        request = Request(step.text, dict(self._properties), variables)
        try:
            statement = grammar.parse_one(step.text, variables)
        except grammar.ParseFailed:
            statement = None  # the engine is to say so
        try:
            match statement:
                case SetProperty():
                    self._properties[statement.name] = statement.value
                case UnsetProperty():
                    self._properties.pop(statement.name, None)
                case Query() | PrintTopic():
                    self._stream = self.engine.query(request)
                case _:
                    self.engine.execute(request)
        except KsqlError as error:
            self._refused = step, error

    def _restart(self) -> None:
        self.engine.stop()
        self._engine = None
        _ = self.engine

    # ---- checks --------------------------------------------------------------------------------------

    def _error(self, check: Check) -> None:
        if self._refused is None:
            raise self._failed(check.line, f"expected {check.subject}, but nothing was refused")
        (_, error), self._refused = self._refused, None
        lines = error.message.replace(self.name, "${case}").splitlines()
        if error.condition != check.subject:
            raise self._failed(
                check.line, f"expected {check.subject}, not {error.condition}: {error.message}"
            )
        if self._is_completing:
            self.completed.append((check, lines))
        elif check.comments and [c.rstrip() for c in check.comments] != [t.rstrip() for t in lines]:
            raise self._failed(check.line, "\n".join(["the message is", *lines]))

    def _output(self, check: Check) -> None:
        sink = self._sink(check.subject.upper())
        header = check.header or [c.lower() for c in sink.columns]
        if self._is_completing:
            while sink.poll(QUIET_S):
                pass
            self.completed.append((check, table(header, sink.rows(header, check.mode))))
        else:
            expected = sorted(check.rows) if check.mode != "ordered" else check.rows
            self._wait(check, sink, header, expected)
            self._final[sink.source.name] = check
        sink.checked = len(sink.records)

    def _sink(self, name: str) -> Sink:
        """The topic of a source as it is now, read from its beginning."""
        source = self.engine.services.metastore.require(name)
        if name not in self._sinks:
            self._sinks[name] = Sink(self._admin.servers, source)
        self._sinks[name].source = source
        return self._sinks[name]

    def _wait(self, check: Check, sink: Sink, header: Cells, expected: list[Cells]) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        queries = self.engine.services.queries
        while True:
            sink.read_to_end()
            actual = sink.rows(header, check.mode)
            if actual == expected:
                return
            is_final = check.mode != "folded" and len(actual) >= len(expected)
            is_broken = any(q.errors for q in queries.all())
            if is_final or is_broken or time.monotonic() > deadline:
                raise self._failed(check.line, difference(header, expected, actual))
            if not sink.poll(0.5) and check.repeats and self._last is not None:
                self._statement(self._last)

    def _rows(self, check: Check) -> None:
        stream = self._stream
        if stream is None:
            raise self._failed(check.line, "there is no SELECT or PRINT before")
        self._stream = None
        expected = check.rows
        header = check.header or [c.name.lower() for c in stream.columns]
        actual: list[Cells] = []
        deadline = time.monotonic() + (QUIET_S if self._is_completing else TIMEOUT_S)
        with contextlib.closing(stream):
            while (rows := stream.read(0.2)) is not None:
                actual += [
                    [DELETED if r.tombstone and v is None else cell(v) for v in r.values] for r in rows
                ]
                is_enough = not self._is_completing and expected and len(actual) >= len(expected)
                if is_enough or time.monotonic() > deadline:
                    break
        if check.mode == "rowsort":
            actual, expected = sorted(actual), sorted(expected)
        if self._is_completing:
            self.completed.append((check, table(header, actual)))
        elif actual != expected:
            raise self._failed(check.line, difference(header, expected, actual))

    def _still_so(self) -> None:
        """Once the engine is stopped nothing may have come after the last checks."""
        if not self._final:
            return
        self.engine.stop()
        for name, check in self._final.items():
            sink = self._sinks[name]
            before = len(sink.records)
            sink.read_to_end()
            if len(sink.records) > before:
                header = check.header
                rows = sink.rows(header, "folded" if check.mode == "folded" else "ordered")
                # folded: an empty table is right before its first record, too; repeats: the last
                # statement may have run more than once
                if (check.repeats or check.mode == "folded") and rows == sorted(check.rows):
                    continue
                raise CaseFailed(
                    f"{self.case.path}:{check.line}: {self.case.title}\nmore came after it:\n"
                    + "\n".join(table(header, rows))
                )


def _result(row: Row) -> Cells:
    return [DELETED if row.tombstone and value is None else cell(value) for value in row.values]


def difference(header: Cells, expected: list[Cells], actual: list[Cells]) -> str:
    return "\n".join(["expected", *_indented(header, expected), "but there came", *_indented(header, actual)])


def _indented(header: Cells, rows: list[Cells]) -> Iterator[str]:
    return (f"  {line}" for line in table(header, rows))
