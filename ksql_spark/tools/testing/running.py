"""Runs tests one by one on an otherwise empty server."""

from __future__ import annotations

import contextlib
import io
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ksql_spark import grammar
from ksql_spark.grammar.nodes import Statement
from ksql_spark.grammar.statements.asserts import AssertSource, AssertTombstone, AssertValues
from ksql_spark.grammar.statements.functions import CreateFunction
from ksql_spark.grammar.statements.inserts import InsertValues
from ksql_spark.grammar.statements.scripts import RunScript
from ksql_spark.grammar.statements.sources import CreateSource
from ksql_spark.shell import statements
from ksql_spark.shell.client import Client, ClientError, ServerError, Unreachable
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.output.text import json_text
from ksql_spark.shell.scripts import read_script
from ksql_spark.shell.session import Failure, Session
from ksql_spark.shell.statements import Kind, quoted_name, quoted_text
from ksql_spark.shell.waiting import wait_for_queries
from ksql_spark.tools.testing.assertions import SCRATCH, AssertionFailed, Assertions
from ksql_spark.tools.testing.files import SqlTest
from ksql_spark.tools.testing.rows import ROWTIME, WINDOW
from ksql_spark.tools.testing.variations import CRASH, Step, texts_of

#: how often to check whether queries have caught up
_LOOK_S = 0.05
#: ksqlDB's name for the error of a failed assertion
_ASSERTION_ERROR = "AssertionError"
#: a query's source may be dropped only after the query
_DROP_ROUNDS = 10
#: how much longer queries may take after the engine was killed
_RESTART_S = 60.0
#: stream or table -> the rows that it has in the end, as texts, with how often each is there
Outcome = Mapping[str, Counter[str]]


@dataclass(frozen=True)
class Result:
    """The result of a test: why it failed, or None; and how long it took."""

    test: SqlTest
    failure: str | None
    seconds: float


class Runner:
    """Runs tests. Everything that a test creates is dropped after it, with its topics.

    Args:
        client: of the server.
        timeout_s: how long to wait for a record, or for queries to catch up.
    """

    def __init__(self, client: Client, timeout_s: float) -> None:
        self._client = client
        self._timeout_s = timeout_s
        self._topics = set(self._listed_topics())

    def run(self, test: SqlTest) -> Result:
        """Run a test.

        Raises:
            ClientError: the server does not respond, or something that the test created cannot be dropped.
        """
        began = time.monotonic()
        with self._run(test) as run:
            problem = run.run()
        return Result(test, _verdict(test, problem), time.monotonic() - began)

    def outcome(
        self,
        test: SqlTest,
        steps: Sequence[Step],
        partitions: int = 1,
        crash: Callable[[], None] | None = None,
    ) -> Outcome:
        """Run steps of a test; return what the tables and streams that queries write have in the end.

        Args:
            test: the test.
            steps: what to run of it.
            partitions: those of topics for which no statement says it.
            crash: what happens at CRASH.

        Raises:
            ClientError: as ``run``; or a statement or a query has failed, or a query is too slow.
        """
        with self._run(test, partitions) as run:
            try:
                for step in steps:
                    if step is not CRASH:
                        run.run_part(step.part)
                    elif crash is not None:
                        crash()
            except Failure as failure:
                if isinstance(failure.error, Unreachable):
                    raise failure.error from None
                raise ClientError(failure.located(test.path.name)) from None
            run.settle(_RESTART_S if CRASH in steps else 0.0)
            return {name: run.rows(name) for name in self._results()}

    def _results(self) -> list[str]:
        (answer,) = self._client.run("SHOW QUERIES;")
        return sorted({sink for query in answer["queries"] for sink in query["sinks"] or ()})

    @contextlib.contextmanager
    def _run(self, test: SqlTest, partitions: int = 1) -> Iterator[_Run]:
        """A run of a test, after which everything is dropped; after Ctrl-C the engine ends with all that."""
        run = _Run(self._client, test, self._timeout_s, partitions)
        with contextlib.closing(run):
            try:
                yield run
            except Exception:
                self._clear(run.functions)
                raise
            self._clear(run.functions)

    def _clear(self, functions: Sequence[str]) -> None:
        """Drop all queries, streams, tables, types and topics, and these functions. Raises ClientError."""
        self._client.run("TERMINATE ALL;")
        for round_ in range(_DROP_ROUNDS):
            remaining = [*self._listed("STREAM"), *self._listed("TABLE")]
            if not remaining:
                break
            for kind, name in remaining:
                try:
                    self._drop(kind, name)
                except ServerError:
                    if round_ + 1 == _DROP_ROUNDS:
                        raise
        (types,) = self._client.run("SHOW TYPES;")
        for name in types["types"]:
            self._client.run(f"DROP TYPE {quoted_name(name)};")
        for name in functions:
            self._client.run(f"DROP FUNCTION IF EXISTS {name};")
        for topic in set(self._listed_topics()) - self._topics:  # such as those of a SOURCE
            properties = f"KAFKA_TOPIC = {quoted_text(topic)}, VALUE_FORMAT = 'JSON'"
            self._client.run(f"CREATE STREAM {SCRATCH}TOPIC (A INT) WITH ({properties});")
            self._client.run(f"DROP STREAM {SCRATCH}TOPIC DELETE TOPIC;")

    def _listed_topics(self) -> Iterator[str]:
        (answer,) = self._client.run("SHOW TOPICS;")
        return (topic["name"] for topic in answer["topics"])

    def _listed(self, kind: str) -> Iterator[tuple[str, str]]:
        (answer,) = self._client.run(f"SHOW {kind}S;")
        return ((kind, source["name"]) for source in reversed(answer[f"{kind.lower()}s"]))

    def _drop(self, kind: str, name: str) -> None:
        try:
            self._client.run(f"DROP {kind} {quoted_name(name)} DELETE TOPIC;")
        except ServerError:  # another source uses this topic, or it is a SOURCE, or another source reads it
            self._client.run(f"DROP {kind} {quoted_name(name)};")


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
    """One run of a test."""

    def __init__(self, client: Client, test: SqlTest, timeout_s: float, partitions: int) -> None:
        self._client = client
        self._test = test
        self._partitions = partitions
        self._timeout_s = timeout_s
        self._session = Session(
            client,
            Console(io.StringIO(), tty=False, err=io.StringIO()),
            properties={"auto.offset.reset": "earliest"},
        )
        self._session.interrupt_ends_query_only = False
        self._assertions = Assertions(client, timeout_s)
        self._scripts: list[Path] = [test.path.resolve()]
        #: created by CREATE FUNCTION
        self.functions: list[str] = []
        #: the source that the last INSERT wrote to, and the latest time of all
        self._written: str | None = None
        self._latest = -1

    def run(self) -> Failure | None:
        """The failure that ended the test, or None."""
        try:
            self._run_text(self._test.text)
        except Failure as failure:
            return failure
        return None

    def close(self) -> None:
        """Stop reading."""
        self._assertions.close()

    def _run_text(self, text: str) -> None:
        for part in grammar.split(text):
            self.run_part(part)

    def run_part(self, part: grammar.StatementText) -> None:
        """Run one statement. Raises Failure."""
        try:
            self._run_part(part)
        except ClientError as error:
            raise Failure(error, part.line, part.column) from None

    def rows(self, name: str) -> Counter[str]:
        """The rows of a stream or table."""
        columns = self._assertions.columns(name)
        selected = ", ".join(one if one in WINDOW else quoted_name(one) for one in columns)
        rows = self._client.rows(f"SELECT {selected} FROM {quoted_name(name)};")
        return Counter(
            ", ".join(f"{column} {_shown(value)}" for column, value in zip(columns, row, strict=True))
            for row in rows
        )

    def _run_part(self, part: grammar.StatementText) -> None:
        if not part.complete:
            raise ClientError("This statement does not end in ';'.")
        if statements.kind_of(part) in (Kind.QUERY, Kind.PRINT):
            raise ClientError("A test cannot contain SELECT or PRINT: ASSERT VALUES checks what was written.")
        match self._parsed(part):
            case AssertValues() as statement:
                self._assertions.values(statement)
            case AssertTombstone() as statement:
                self._assertions.tombstone(statement)
            case AssertSource() as statement:
                self._assertions.source(statement)
            case RunScript() as statement:
                self._run_script(statement.path)
            case CreateFunction() as statement:
                self._session.run(part)
                self.functions.append(statement.name)
            case InsertValues() as statement:
                self._wait_for_turn(statement)
                self._session.run(part)
            case CreateSource() as statement:
                self._session.run(self._with_topic(part, statement))
            case _:
                self._session.run(part)

    def _parsed(self, part: grammar.StatementText) -> Statement | None:
        """The statement; None if the server reports an error in it."""
        variables = {name.upper(): value for name, value in self._session.variables.items()}
        try:
            return grammar.parse_statement(part, variables, allowed=grammar.StatementSet.TEST)
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
            self._run_text(read_script(str(file)))
        except Failure as failure:
            raise ClientError(failure.located(path)) from None
        finally:
            self._scripts.pop()

    def _with_topic(self, part: grammar.StatementText, statement: CreateSource) -> grammar.StatementText:
        """The statement, changed so that it creates a missing topic."""
        properties: dict[str, Any] = {one.name.upper(): one.value for one in statement.properties}
        if not properties or "PARTITIONS" in properties:
            return part
        (answer,) = self._client.run("SHOW ALL TOPICS;")
        if properties.get("KAFKA_TOPIC", statement.name) in (one["name"] for one in answer["topics"]):
            return part
        # it ends with WITH (…)
        return replace(part, text=f"{part.text[:-1]}, PARTITIONS = {self._partitions})")

    # ---- one record at a time ------------------------------------------------------------------------

    def _wait_for_turn(self, statement: InsertValues) -> None:
        """Let queries catch up with other sources first, unless timestamps determine the order anyway."""
        times = _times(statement)
        is_other = self._written not in (None, statement.name)
        if is_other and any(at is None or at <= self._latest for at in times):
            self.settle()
        self._written = statement.name
        self._latest = max(self._latest, *(-1 if at is None else at for at in times))

    def settle(self, more_s: float = 0.0) -> None:
        """Wait until each query has read its topics to the end, upstream queries first.

        Args:
            more_s: how much longer than the timeout this may take.

        Raises:
            ClientError: a query has failed, or is too slow.
        """
        console = Console(io.StringIO(), tty=False)
        wait_for_queries(self._client, console, look_s=_LOOK_S, timeout_s=self._timeout_s + more_s)


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
