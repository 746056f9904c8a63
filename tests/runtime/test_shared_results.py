"""Pull queries that several clients ask at once: each is computed once, and as new as it must be."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from ksql_spark import deadline
from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Call, Literal
from ksql_spark.plan.clauses import NamedExpression
from ksql_spark.plan.nodes import Values
from ksql_spark.plan.queries import Job, Lookup
from ksql_spark.runtime.reading.batch import BatchResult
from ksql_spark.runtime.reading.results import SMALL, PullResult, ResultColumn, Row, Shareable
from ksql_spark.runtime.reading.shared_results import (
    STALENESS,
    SharedResults,
    is_shareable,
    shared_staleness_ms,
)
from ksql_spark.schema import Column
from ksql_spark.types import BIGINT, DOUBLE, STRING, TIMESTAMP
from tests.waiting import until

COLUMNS = [ResultColumn("N", "BIGINT")]
LONG_S = 600.0


class Table:
    """Computes its only value, once it may."""

    def __init__(self) -> None:
        self.value = 0
        self.begun = 0
        self.ended = 0
        self.may_end = threading.Event()
        self.rows = 1
        self.error: KsqlError | None = None

    def compute(self) -> PullResult:
        self.begun += 1
        read = self.value
        try:
            while not self.may_end.wait(0.001):
                deadline.check()
        finally:
            self.ended += 1
        if self.error is not None:
            raise self.error
        return PullResult(COLUMNS, [Row([read]) for _ in range(self.rows)])


class Clients:
    """Clients of a table, each with a thread."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self.table = Table()
        self.shared = SharedResults()
        self.written: dict[int, int] = {}
        self._threads = threads

    def ask(
        self, staleness_s: float = 0.0, key: str | None = "SELECT", cancelled: threading.Event | None = None
    ) -> Future[list[int]]:
        """A client asks; when this returns, its statement has arrived."""
        gone = cancelled or threading.Event()

        def run() -> list[int]:
            stream = self.shared.get(
                key, self.table.compute, gone, staleness_s, lambda: {"t": dict(self.written)}
            )
            return [row.values[0] for row in stream.read(0) or ()]

        before = self._asked()
        future = self._threads.submit(run)
        until(lambda: self._asked() > before or future.done())
        return future

    def _asked(self) -> int:
        waiting = [*self.shared._next.values(), *self.shared._begun.values()]
        return self.table.begun + sum(len(each.clients) for each in waiting)


@pytest.fixture
def clients() -> Iterator[Clients]:
    with ThreadPoolExecutor(20) as threads:
        clients = Clients(threads)
        yield clients
        clients.table.may_end.set()


def test_who_asks_while_it_is_computed_shares_the_next_result(clients: Clients) -> None:
    first = clients.ask()
    until(lambda: clients.table.begun == 1)
    clients.table.value = 1  # a change that the first need not see, and the others must
    others = [clients.ask() for _ in range(10)]
    assert clients.table.begun == 1
    clients.table.may_end.set()
    assert first.result() == [0]
    assert [other.result() for other in others] == [[1]] * 10
    assert clients.table.begun == 2
    assert not clients.shared._begun  # which keeps no rows
    assert not clients.shared._next


def test_other_statements_wait_for_nobody(clients: Clients) -> None:
    asked = [clients.ask(key=key) for key in ("a", "b", None, None)]
    until(lambda: clients.table.begun == 4)
    clients.table.may_end.set()
    assert [each.result() for each in asked] == [[0]] * 4


def test_a_computation_ends_when_nobody_waits_any_more(clients: Clients) -> None:
    gone = [threading.Event() for _ in range(3)]
    first = clients.ask(cancelled=gone[0])
    until(lambda: clients.table.begun == 1)
    second = clients.ask(cancelled=gone[1])
    gone[1].set()  # it waited for the next one, which does not begin
    with pytest.raises(KsqlError) as error:
        second.result()
    assert error.value.condition == "STATEMENT_CANCELLED"
    assert not clients.shared._next
    third = clients.ask(LONG_S, cancelled=gone[2])  # joins the first
    gone[0].set()
    clients.table.may_end.wait(0.05)
    assert not clients.table.ended  # the third still waits for it
    gone[2].set()
    until(lambda: clients.table.ended == 1)
    for each in (first, third):
        with pytest.raises(KsqlError):
            each.result()
    clients.table.may_end.set()
    assert clients.ask().result() == [0]  # nobody else gets that error


def test_each_client_computes_a_large_result_for_itself(clients: Clients) -> None:
    clients.table.rows = SMALL + 1
    asked = [clients.ask()]
    until(lambda: clients.table.begun == 1)
    asked += [clients.ask() for _ in range(2)]
    clients.table.may_end.set()
    assert [len(each.result()) for each in asked] == [SMALL + 1] * 3
    assert clients.table.begun == 3


def test_all_get_the_error_of_their_computation(clients: Clients) -> None:
    clients.table.error = KsqlError("INTERNAL", reason="it failed")
    asked = [clients.ask()]
    until(lambda: clients.table.begun == 1)
    asked += [clients.ask() for _ in range(3)]
    clients.table.may_end.set()
    for each in asked:
        with pytest.raises(KsqlError, match="it failed"):
            each.result()
    assert clients.table.begun == 2


def test_who_takes_older_results_gets_them_unless_this_server_has_written(clients: Clients) -> None:
    first = clients.ask(LONG_S)
    until(lambda: clients.table.begun == 1)
    clients.table.value = 1
    second = clients.ask(LONG_S)
    clients.table.may_end.set()
    third = clients.ask(LONG_S)
    assert [each.result() for each in (first, second, third)] == [[0]] * 3
    assert clients.table.begun == 1
    assert clients.ask().result() == [1]
    clients.ask(LONG_S).result()  # keeps it again
    clients.table.value = 2
    clients.written[0] = 7
    assert clients.ask(LONG_S).result() == [2]


def test_an_error_is_not_kept_for_others(clients: Clients) -> None:
    clients.table.may_end.set()
    clients.table.error = KsqlError("INTERNAL", reason="it failed")
    with pytest.raises(KsqlError, match="it failed"):
        clients.ask(LONG_S).result()
    clients.table.error = None
    assert clients.ask(LONG_S).result() == [0]


def test_few_results_are_kept(clients: Clients) -> None:
    clients.table.may_end.set()
    for number in range(200):
        clients.ask(LONG_S, key=str(number)).result()
    assert len(clients.shared._begun) == 64


def test_only_a_property_that_was_set_allows_older_results() -> None:
    assert shared_staleness_ms(Config({})) == 0
    assert shared_staleness_ms(Config({STALENESS: 1000})) == 1000


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (Call("NOW", (), TIMESTAMP), True),  # the computation begins after each statement has arrived
        (Call("UCASE", (Literal("a", STRING),), STRING), True),
        (Call("UUID", (), STRING), False),
        (Call("ABS", (Call("RANDOM", (), DOUBLE),), DOUBLE), False),
    ],
)
def test_random_values_are_not_shared(call: Call, expected: bool) -> None:
    items = (NamedExpression("A", Literal(1, BIGINT)), NamedExpression("B", call))
    source: Any = None
    assert is_shareable(Lookup(source, None, None, items, frozenset())) is expected
    assert is_shareable(Job(Values((), ((call,),)), (), ())) is expected


class SparkJob:
    """A query of Spark that has a row each time it may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.may_go_on = threading.Semaphore(0)
        self.is_cancelled = threading.Event()
        self.known: list[Shareable] = []
        self.others_wait = False
        monkeypatch.setattr("ksql_spark.spark.batch.results", self._results)
        monkeypatch.setattr("ksql_spark.spark.jvm.cancel_jobs", lambda *_: self.is_cancelled.set())
        session: Any = SimpleNamespace(sparkContext=SimpleNamespace(setJobGroup=lambda *_, **__: None))
        columns = (Column("N", BIGINT),)
        frame: Any = None
        self.result = BatchResult(session, frame, columns, frozenset(), "STREAM_PULL", 2, lambda: None)
        self.result.share(self.known.append, lambda: self.others_wait)

    def _results(self, *_: object) -> Iterator[list[int]]:
        for number in range(SMALL + 1):
            while not self.may_go_on.acquire(timeout=0.01):
                if self.is_cancelled.is_set():
                    raise RuntimeError("the job was cancelled")
            if number == 2 and not self.may_go_on.acquire(blocking=False):
                return
            yield [number]


def test_a_job_goes_on_for_others_when_its_client_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    job = SparkJob(monkeypatch)
    job.others_wait = True
    job.may_go_on.release()
    job.result.close()
    job.may_go_on.release(2)
    job.result._worker.join(LONG_S)
    assert not job.is_cancelled.is_set()
    (shared,) = job.known
    assert isinstance(shared, PullResult)
    assert [row.values for row in shared.read(0) or ()] == [[0], [1]]
    assert shared.read(0) is None
    assert (shared.kind, shared.final_message) == ("STREAM_PULL", "Limit Reached")


def test_a_job_is_cancelled_when_the_last_who_waits_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    job = SparkJob(monkeypatch)
    job.others_wait = True
    job.result.close()
    assert not job.is_cancelled.is_set()
    job.others_wait = False
    job.result.close()
    assert job.is_cancelled.is_set()
    job.result._worker.join(LONG_S)
    assert job.known == [None]


def test_nobody_waits_for_a_job_with_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    job = SparkJob(monkeypatch)
    job.may_go_on.release(SMALL + 2)
    until(lambda: job.known == [None])
    rows: list[Any] = []
    while (piece := job.result.read(1)) is not None:
        rows += [row.values for row in piece]
    assert rows == [[n] for n in range(SMALL + 1)]
