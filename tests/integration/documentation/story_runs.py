"""Runs a story of ``examples`` on the shared engine, with events that are the same in every run."""

from __future__ import annotations

import io
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import httpx

from ksql_spark.datagen import SCHEMAS
from ksql_spark.engine import Engine
from ksql_spark.kafka.consumer import Record, TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.metastore.serdes import key_serde, value_serde
from ksql_spark.runtime.reading.view import split_key
from ksql_spark.shell import statements
from ksql_spark.shell.client import Client
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.session import Session
from ksql_spark.tools.demo import stories
from tests.waiting import TIMEOUT_S

SEED = 7
#: how many records or changes a program makes that would go on for ever
BACKGROUND = 20

Row = dict[str, Any]


class Given(NamedTuple):
    """One generated event: its key as it is in the record, its values and its time in epoch ms."""

    key: Any
    values: Row
    time: int


class StoryRun:
    """One run of a story.

    Args:
        name: the story.
        url: the REST API of the engine.
        engine: where it runs.
        counts: schema -> how many events are generated.
        step_ms: time between two events.
        registry: the schema registry for programs.
        folder: the story's ``${folder}``.
        then: called at each ``--@then``, with its number from 0.
    """

    def __init__(
        self,
        name: str,
        url: str,
        engine: Engine,
        counts: dict[str, int],
        *,
        step_ms: int = 1000,
        registry: str | None = None,
        folder: Path | None = None,
        then: Callable[[StoryRun, int], None] = lambda run, number: None,
    ) -> None:
        self.story = stories.load(name)
        self.url = url
        self.events: dict[str, list[Given]] = {}
        self._engine = engine
        self._servers = str(engine.services.config["bootstrap.servers"])
        self._counts = counts
        self._step_ms = step_ms
        self._registry = registry
        self._then = then
        self._variables = {"folder": str(folder)}
        #: programs that go on
        self.running: list[subprocess.Popen[str]] = []

    def tell(self) -> StoryRun:
        """Run all statements, generators and programs of the story, in order."""
        session = Session(Client(self.url), Console(io.StringIO(), tty=False), variables=self._variables)
        pauses = itertools.count()
        try:
            for step in self.story.steps:
                match step:
                    case stories.Generate():
                        self._generate(step)
                    case stories.Program():
                        self._program(step)
                    case stories.Then():
                        self._then(self, next(pauses))
                    case stories.Show(source=str() as sql) if not self.events and "EMIT" in sql:
                        # what comes from elsewhere is there before the first events
                        self._push(sql)
                    case stories.Show():
                        pass
                    case _:
                        session.run(step)
        finally:
            session.client.close()
        return self

    def _generate(self, step: stories.Generate) -> None:
        schema = SCHEMAS[step.arguments[0]]
        options = step.arguments[1:]
        started = dict(zip(options[::2], options[1::2], strict=True)).get("--start")
        now = datetime.fromisoformat(f"{started}Z").timestamp() if started else time.time()
        start = int(now * 1000)
        # a table's rows are there before the events that are joined with them
        step_ms = 0 if step.is_awaited else self._step_ms
        # sequences of two generators must differ
        random = Random(f"{schema.name} {SEED}")
        generated = schema.events(random, lambda number: start + number * step_ms)
        events = list(itertools.islice(generated, self._counts.get(schema.name)))
        producer = RecordProducer(self._servers)
        for event in events:
            producer.send_async(schema.name, event.key, event.value, event.timestamp_ms)
        producer.close()
        self.events[schema.name] = [
            Given(_plain_key(e.key), json.loads(e.value), e.timestamp_ms) for e in events
        ]

    def _program(self, step: stories.Program) -> None:
        """Run a program to its end; one that goes on does as much as fits into a test."""
        if step.is_awaited:
            self.program(step.file.name, *step.arguments)
            return
        command = self._command(
            step.file.name, *step.arguments, "--count", str(BACKGROUND), "--seed", str(SEED)
        )
        self.running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))

    def close(self) -> None:
        """End the programs that go on."""
        for process in self.running:
            process.terminate()
            process.communicate(timeout=TIMEOUT_S)

    def _command(self, name: str, *arguments: str) -> list[str]:
        more = ["--bootstrap-servers", self._servers, "--schema-registry", str(self._registry)]
        own = [statements.substitute(argument, self._variables) for argument in arguments]
        return [sys.executable, str(self.story.file.parent / name), *own, *more]

    def program(self, name: str, *arguments: str) -> str:
        """Run a program of the story to its end; what it printed."""
        command = self._command(name, *arguments)
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        return done.stdout

    # ---- what came out ----------------------------------------------------------------------------------

    def rows(self, name: str, count: int) -> list[Row]:
        """The first ``count`` rows of a stream, and all that came with them; keys are columns too."""
        return [row for _, row in self._read(name, lambda read: len(read) >= count) if row is not None]

    def table(self, name: str, truth: dict[Any, Any], of: Callable[[Row], Any]) -> None:
        """Wait until a table has the rows ``truth``: key -> what ``of`` makes of a row.

        A key is a value, or a tuple of several and of the bounds of a window. Numbers are compared to six
        decimals. Rows of which ``of`` makes None are left out.
        """

        def folded(read: list[tuple[Any, Row | None]]) -> dict[Any, Any]:
            last = dict(read)
            shown = {key: of(row) for key, row in last.items() if row is not None}
            return {key: _rounded(value) for key, value in shown.items() if value is not None}

        expected = {key: _rounded(value) for key, value in truth.items()}
        assert expected
        read = self._read(name, lambda read: folded(read) == expected)
        shown = folded(read)
        assert shown == expected, f"{name}: {shown} is not {expected}"

    def lookup(self, sql: str) -> list[Row]:
        """What a pull query answers over REST."""
        answer = httpx.post(f"{self.url}/query-stream", json={"sql": sql}, timeout=TIMEOUT_S, trust_env=False)
        assert answer.status_code == 200, answer.text
        header, *rows = (json.loads(line) for line in answer.text.splitlines())
        return [dict(zip(header["columnNames"], row, strict=True)) for row in rows]

    def shown(self) -> int:
        """Check that each query of the story that is shown gives a row; return how many there are."""
        queries = [
            s.source for s in self.story.steps if isinstance(s, stories.Show) and isinstance(s.source, str)
        ]
        for sql in queries:
            if "EMIT" in sql:
                self._push(sql)
            else:
                assert self.lookup(sql), sql
        return len(queries)

    def _push(self, sql: str) -> None:
        """Wait for the first row of a push query."""
        body = {"sql": sql.replace(";", " LIMIT 1;"), "properties": {"auto.offset.reset": "earliest"}}
        answer = httpx.post(f"{self.url}/query-stream", json=body, timeout=TIMEOUT_S, trust_env=False)
        assert len(answer.text.splitlines()) >= 2, f"{sql} {answer.text}"

    def _read(self, name: str, is_enough: Callable[[list[Any]], bool]) -> list[tuple[Any, Row | None]]:
        """Read a topic from its beginning until it is enough, or for the longest time."""
        source = self._engine.services.metastore.require(name.upper())
        registry = self._engine.services.registry
        keys, values = key_serde(source, registry), value_serde(source, registry)
        rows: list[tuple[Any, Row | None]] = []

        def read(record: Record) -> tuple[Any, Row | None]:
            key: Any = None
            row: Row = {}
            if record.key is not None and source.schema.key:
                plain, start, end = split_key(record.key, source.window)
                parts = tuple(keys.decode(plain))
                row |= {c.name: part for c, part in zip(source.schema.key, parts, strict=True)}
                key = parts + ((start, end) if source.window else ())
                key = key[0] if len(key) == 1 else key
            if record.value is None:
                return key, None
            decoded = values.decode(record.value) or (None,) * len(source.schema.value)
            return key, row | {c.name: v for c, v in zip(source.schema.value, decoded, strict=True)}

        deadline = time.monotonic() + TIMEOUT_S
        with TopicReader(self._servers, source.topic) as reader:
            while not is_enough(rows) and time.monotonic() < deadline:
                rows += [read(record) for record in reader.poll_batch(0.5)]
        return rows


def _plain_key(key: bytes | None) -> Any:
    if key is None or len(key) != 4 or key.isalpha():
        return None if key is None else key.decode()
    return int.from_bytes(key, "big")


def _rounded(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_rounded(part) for part in value)
    return round(value, 6) if isinstance(value, float) else value
