"""Runs tests one by one, each on an engine of its own."""

from __future__ import annotations

import contextlib
import io
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ksql_spark import grammar
from ksql_spark.engine import QueryStream
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.nodes import Statement
from ksql_spark.grammar.statements.asserts import AssertSource, AssertTombstone, AssertValues
from ksql_spark.grammar.statements.inserts import InsertValues
from ksql_spark.grammar.statements.print_topic import PrintTopic
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.grammar.statements.scripts import RunScript
from ksql_spark.grammar.statements.session import (
    DefineVariable,
    SetProperty,
    UndefineVariable,
    UnsetProperty,
)
from ksql_spark.grammar.statements.sources import CreateSource
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.schema import ROWTIME
from ksql_spark.shell.client import ClientError
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.output.text import json_text
from ksql_spark.shell.scripts import read_script
from ksql_spark.shell.session import Failure
from ksql_spark.shell.waiting import wait_for_queries
from ksql_spark.tools.testing.assertions import AssertionFailed, Assertions
from ksql_spark.tools.testing.files import CASE, Check, Restart, SqlTest, is_refusal
from ksql_spark.tools.testing.servers import MakeEngine, Refused, Server, Topic
from ksql_spark.tools.testing.tables import DELETED, Cells, cell, difference, table
from ksql_spark.tools.testing.variations import Step, texts_of

#: how often to check whether queries have caught up
_LOOK_S = 0.05
#: ksqlDB's name for the error of a failed assertion
_ASSERTION_ERROR = "AssertionError"
#: how much longer queries may take after the engine was killed
_RESTART_S = 60.0
#: --complete: after nothing has come for this long, nothing more comes
_QUIET_S = 8.0
#: stream or table -> the rows that it has in the end, as texts, with how often each is there
Outcome = Mapping[str, Counter[str]]
#: checks, and what came out in their place: the lines of a table or message
Completed = Sequence[tuple[Check, Sequence[str]]]


@dataclass(frozen=True)
class Result:
    """The result of a test.

    Attributes:
        test: the test.
        failure: why it failed, or None.
        seconds: how long it took.
        completed: with ``completes``, what came out.
    """

    test: SqlTest
    failure: str | None
    seconds: float
    completed: Completed = ()


class Runner:
    """Runs tests, each with topics of its own, which are deleted after it.

    Args:
        make_engine: makes engines.
        admin: of their broker.
        folder: for their data.
        timeout_s: how long to wait for a record, or for queries to catch up.
        owns_broker: whether nobody else uses the broker: all topics that a test leaves are deleted.
    """

    def __init__(
        self,
        make_engine: MakeEngine,
        admin: KafkaAdmin,
        folder: Path,
        timeout_s: float,
        owns_broker: bool = False,
    ) -> None:
        self._make_engine = make_engine
        self._admin = admin
        self._folder = folder
        self._timeout_s = timeout_s
        self._kept = set(admin.topics()) if owns_broker else None

    def run(self, test: SqlTest, completes: bool = False, timeout_s: float | None = None) -> Result:
        """Run a test.

        Args:
            test: the test.
            completes: take what comes out in the place of tables and messages, instead of comparing it.
            timeout_s: another timeout for this run.

        Raises:
            KsqlError: the engine does not start, or its topics cannot be deleted.
        """
        began = time.monotonic()
        with self._run(test, completes=completes, timeout_s=timeout_s) as run:
            failure = _verdict(test, run.run())
            if failure is not None:
                failure = "\n".join([failure, *run.server.errors()])
        return Result(test, failure, time.monotonic() - began, run.completed)

    def outcome(
        self, test: SqlTest, steps: Sequence[Step], partitions: int = 1, every_record: bool = False
    ) -> Outcome:
        """Run steps of a test; return what the tables and streams that queries write have in the end.

        Args:
            test: the test.
            steps: what to run of it.
            partitions: those of topics for which no statement says it.
            every_record: whether all records of tables count, not only the last one of each key.

        Raises:
            ClientError: a statement or a query has failed, or a query is too slow.
            KsqlError: as ``run``.
        """
        parts = [step.part for step in steps]
        with self._run(test, partitions, waits=True) as run:
            try:
                for part in parts:
                    run.step(part)
            except Failure as failure:
                raise ClientError(failure.located(test.path.name)) from None
            was_killed = any(isinstance(part, Restart) and part.is_kill for part in parts)
            run.settle(_RESTART_S if was_killed else 0.0)
            return run.outcome(every_record)

    @contextlib.contextmanager
    def _run(
        self,
        test: SqlTest,
        partitions: int = 1,
        waits: bool = False,
        completes: bool = False,
        timeout_s: float | None = None,
    ) -> Iterator[_Run]:
        texts = [step.text for step in test.steps if isinstance(step, grammar.StatementText)]
        names_topics = any(f"${{{CASE}}}" in text for text in texts)
        server = Server(self._make_engine, self._admin, self._folder, test.server, names_topics)
        try:
            yield _Run(server, test, timeout_s or self._timeout_s, partitions, waits, completes)
        finally:
            server.close()
            if self._kept is not None:
                names = set(self._admin.topics()) - self._kept
                self._admin.delete_topics(name for name in names if not name.startswith("__"))


def _verdict(test: SqlTest, problem: Failure | None) -> str | None:
    """Return why a test failed; None if it passed."""
    if not test.expects_error:
        return None if problem is None else problem.located(test.path.name)
    place = f"{test.path.name}:{test.line}:1"
    if problem is None:
        return f"{place}: The test passed, but it expects an error."
    wants_assertion = (test.expected_error or "").endswith(_ASSERTION_ERROR)
    if test.expected_error is not None and wants_assertion != isinstance(problem.error, AssertionFailed):
        kind = "an assertion that fails" if wants_assertion else "a statement that fails"
        return f"The test expects {kind}, but: {problem.located(test.path.name)}"
    if test.expected_message not in str(problem.error):
        return f"The test expects '{test.expected_message}', but: {problem.located(test.path.name)}"
    return None


class _Run:
    """One run of a test.

    Args:
        server: its engine.
        test: the test.
        timeout_s: see Runner.
        partitions: those of topics for which no statement says it.
        waits: whether a row waits for its turn even if the test has tables, which say where to wait.
        completes: see Runner.run.
    """

    def __init__(
        self, server: Server, test: SqlTest, timeout_s: float, partitions: int, waits: bool, completes: bool
    ) -> None:
        self.server = server
        self.completed: list[tuple[Check, Sequence[str]]] = []
        self._test = test
        self._timeout_s = timeout_s
        self._partitions = partitions
        has_tables = any(isinstance(step, Check) and not is_refusal(step) for step in test.steps)
        self._waits = waits or not has_tables
        self._completes = completes
        self._assertions = Assertions(server, timeout_s)
        self._scripts: list[Path] = [test.path.resolve()]
        #: the outputs since the last statement: they must still hold at the end
        self._final: dict[str, Check] = {}
        self._last: grammar.StatementText | None = None
        #: what the last SELECT or PRINT gives, until a check takes it
        self._stream: tuple[grammar.StatementText, QueryStream] | None = None
        #: the source that the last INSERT wrote to, and the latest time of all
        self._written: str | None = None
        self._latest = -1

    def run(self) -> Failure | None:
        """The failure that ended the test, or None."""
        steps = self._test.steps
        try:
            for step, after in zip_longest(steps, steps[1:]):
                if isinstance(step, grammar.StatementText) and isinstance(after, Check) and is_refusal(after):
                    self._refusal(step, after)
                elif not is_refusal(step):
                    self.step(step)
            self._check_stream()
            self._still_so()
        except Failure as failure:
            return failure
        return None

    def step(self, step: grammar.StatementText | Check | Restart) -> None:
        """Run one statement, compare one table, or stop the engine. Raises Failure."""
        match step:
            case Check():
                with _located(step.line):
                    self._compare(step)
            case Restart():
                self.server.restart(step.is_kill)
            case _:
                self._final.clear()
                self._last = step
                with _located(step.line, step.column):
                    self._statement(step)

    def settle(self, more_s: float = 0.0) -> None:
        """Wait until each query has read its topics to the end, upstream queries first.

        Args:
            more_s: how much longer than the timeout this may take.

        Raises:
            ClientError: a query has failed, or is too slow.
        """
        console = Console(io.StringIO(), tty=False)
        wait_for_queries(self.server, console, look_s=_LOOK_S, timeout_s=self._timeout_s + more_s)

    def outcome(self, every_record: bool) -> Outcome:
        """What the tables and streams that queries write have, see Runner.outcome."""
        (answer,) = self.server.run("SHOW QUERIES;")
        sinks = sorted({sink for query in answer["queries"] for sink in query["sinks"] or ()})
        return {name: self._counted(self.server.topic(name), every_record) for name in sinks}

    @staticmethod
    def _counted(topic: Topic, every_record: bool) -> Counter[str]:
        topic.read_to_end()
        is_folded = topic.source.kind == "TABLE" and not every_record
        texts: list[str] = []
        for record in topic.last_records() if is_folded else topic.records:
            values = topic.values(record)
            shown = (f"{name} {_shown(values.get(name))}" for name in topic.columns)
            texts.append(", ".join(shown) + (f" {DELETED}" if record.value is None else ""))
        return Counter(texts)

    # ---- statements ----------------------------------------------------------------------------------

    def _statement(self, part: grammar.StatementText, is_refused: bool = False) -> None:
        if not part.complete:
            raise ClientError("This statement does not end in ';'.")
        if part.verb == "COPY":
            raise ClientError("A test cannot contain COPY: INSERT INTO … VALUES writes rows.")
        text, server = f"{part.text};", self.server
        match self._parsed(part):
            case AssertValues() as statement:
                self._assertions.values(statement)
            case AssertTombstone() as statement:
                self._assertions.tombstone(statement)
            case AssertSource() as statement:
                self._assertions.source(statement)
            case RunScript() as statement:
                self._run_script(statement.path)
            case SetProperty() as statement:
                server.execute(text)  # checks it
                server.properties[statement.property_name] = statement.value
            case UnsetProperty() as statement:
                server.properties.pop(statement.property_name, None)
            case DefineVariable() as statement:
                server.variables[statement.name] = statement.value
            case UndefineVariable() as statement:
                server.variables.pop(statement.name, None)
            case Query() | PrintTopic():
                self._check_stream()
                self._stream = part, server.query(text)
            case InsertValues() as statement:
                self._wait_for_turn(statement)
                server.execute(text)
            case CreateSource() as statement if statement.properties and not is_refused:
                self._create(part, statement)
            case _:
                server.execute(text)

    def _parsed(self, part: grammar.StatementText) -> Statement | None:
        """The statement; None if the engine reports an error in it."""
        (alone,) = grammar.split(f"{part.text};")
        try:
            return grammar.parse_statement(alone, self.server.variables, allowed=grammar.StatementSet.TEST)
        except grammar.ParseFailed as failure:
            if part.verb == "ASSERT":
                raise ClientError(str(failure)) from None
            return None

    def _run_script(self, path: str) -> None:
        file = (self._scripts[-1].parent / path).resolve()
        if file in self._scripts:
            raise ClientError(f"The script {path} runs itself.")
        self._scripts.append(file)
        try:
            for part in grammar.split(read_script(str(file))):
                with _located(part.line, part.column):
                    self._statement(part)
        except Failure as failure:
            error = AssertionFailed if isinstance(failure.error, AssertionFailed) else ClientError
            raise error(failure.located(path)) from None
        finally:
            self._scripts.pop()

    def _create(self, part: grammar.StatementText, statement: CreateSource) -> None:
        """Create a stream or table, with its topic where that is missing."""
        try:
            self.server.execute(f"{part.text};")
        except Refused as refused:
            if refused.condition != "TOPIC_MISSING":
                raise
            # it ends with WITH (…)
            self.server.execute(f"{part.text[:-1]}, PARTITIONS = {self._partitions});")

    def _refusal(self, part: grammar.StatementText, check: Check) -> None:
        """Run a statement that is to be refused, and compare how. Raises Failure."""
        self._final.clear()
        with _located(check.line):
            try:
                self._statement(part, is_refused=True)
            except Refused as refused:
                lines = str(refused).replace(self.server.name, f"${{{CASE}}}").splitlines()
                said = "\n".join(f"  {line}" for line in lines)
                if refused.condition != check.subject:
                    raise AssertionFailed(
                        f"Expected {check.subject}, but the error is {refused.condition}:\n{said}"
                    ) from None
                if self._completes:
                    self.completed.append((check, lines))
                elif check.comments and [c.rstrip() for c in check.comments] != [t.rstrip() for t in lines]:
                    raise AssertionFailed(f"The error's message is:\n{said}") from None
                return
            raise AssertionFailed(f"Expected {check.subject}, but there is no error.")

    # ---- tables --------------------------------------------------------------------------------------

    def _compare(self, check: Check) -> None:
        """Compare a table. Raises ClientError."""
        if not check.comments and not self._completes:
            raise ClientError("There is no table below it. --complete writes what comes out.")
        if check.kind == "rows":
            self._rows(check)
            return
        topic = self.server.topic(check.subject.upper())
        if self._completes:
            with contextlib.suppress(ClientError):
                self.settle()
            while topic.poll(_QUIET_S):
                pass
            header = check.header or [name.lower() for name in topic.columns]
            self.completed.append((check, table(header, topic.rows(header, check.mode))))
        else:
            self._await(topic, check)
            self._final[topic.source.name] = check
        topic.checked = len(topic.records)

    def _await(self, topic: Topic, check: Check) -> None:
        """Wait until a topic has what a table says. Raises AssertionFailed."""
        expected, header = check.rows, check.header
        deadline = time.monotonic() + self._timeout_s
        while True:
            topic.read_to_end()
            actual = topic.rows(header, check.mode)
            if actual == expected:
                return
            is_final = check.mode != "folded" and len(actual) >= len(expected)
            is_late = time.monotonic() > deadline
            if is_final or is_late or self.server.errors():
                when = f"After {self._timeout_s:g} s (--timeout) the" if is_late else "The"
                raise AssertionFailed(f"{when} table is another one.\n{difference(header, expected, actual)}")
            if not topic.poll(0.5) and check.repeats and self._last is not None:
                self._statement(self._last)

    def _rows(self, check: Check) -> None:
        if self._stream is None:
            raise ClientError("There is no SELECT or PRINT before it.")
        (_, stream), self._stream = self._stream, None
        expected = check.rows
        header = check.header or [column.name.lower() for column in stream.columns]
        actual: list[Cells] = []
        deadline = time.monotonic() + (_QUIET_S if self._completes else self._timeout_s)
        with contextlib.closing(stream):
            while (rows := stream.read(0.2)) is not None:
                actual += [
                    [DELETED if r.tombstone and v is None else cell(v) for v in r.values] for r in rows
                ]
                is_enough = not self._completes and expected and len(actual) >= len(expected)
                if is_enough or time.monotonic() > deadline:
                    break
        if check.mode == "rowsort":
            actual.sort()
        if self._completes:
            self.completed.append((check, table(header, actual)))
        elif actual != expected:
            raise AssertionFailed(f"The table is another one.\n{difference(header, expected, actual)}")

    def _still_so(self) -> None:
        """Once the engine has stopped, nothing may have come after the last checks. Raises Failure."""
        if not self._final:
            return
        topics = {name: self.server.topic(name) for name in self._final}
        self.server.stop()
        for name, check in self._final.items():
            topic = topics[name]
            before = len(topic.records)
            topic.read_to_end()
            if len(topic.records) == before:
                continue
            header = check.header
            rows = topic.rows(header, "folded" if check.mode == "folded" else "ordered")
            # folded: an empty table is right before its first record, too
            if check.mode != "folded" or rows != check.rows:
                more = "\n".join(f"  {line}" for line in table(header, rows))
                raise Failure(AssertionFailed(f"More came after it:\n{more}"), check.line, 1)

    def _check_stream(self) -> None:
        """Check that the last SELECT or PRINT was compared. Raises Failure."""
        if self._stream is not None:
            part, _ = self._stream
            error = ClientError("No --@rows after it says what it must give.")
            raise Failure(error, part.line, part.column)

    # ---- one record at a time ------------------------------------------------------------------------

    def _wait_for_turn(self, statement: InsertValues) -> None:
        """Let queries catch up with other sources first, unless timestamps determine the order anyway."""
        if not self._waits:
            return
        times = _times(statement)
        is_other = self._written not in (None, statement.name)
        if is_other and any(at is None or at <= self._latest for at in times):
            self.settle()
        self._written = statement.name
        self._latest = max(self._latest, *(-1 if at is None else at for at in times))


@contextlib.contextmanager
def _located(line: int, column: int = 1) -> Iterator[None]:
    """Turn errors of a block into failures at this place."""
    try:
        yield
    except KsqlError as error:
        raise Failure(Refused(error), line, column) from None
    except ClientError as error:
        raise Failure(error, line, column) from None


def _times(statement: InsertValues) -> list[int | None]:
    """The ROWTIME of each row as a number; None if the statement gives none."""
    texts = texts_of(statement, ROWTIME)
    return [int(text) if text is not None and text.isdigit() else None for text in texts]


def _shown(value: Any) -> str:
    """A value as text; numbers of floating point without the digits that the order of a sum decides about."""
    match value:
        case float():
            return f"{value:.9g}"
        case list():
            return f"[{', '.join(map(_shown, value))}]"
        case dict():
            return f"{{{', '.join(f'{name}: {_shown(one)}' for name, one in value.items())}}}"
        case _:
            return value if isinstance(value, str) else json_text(value)
