"""Who waits for Spark while a server starts, and for how long."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ksql_spark.deadline import Deadline, limited
from ksql_spark.errors import KsqlError
from ksql_spark.runtime.driver import startup
from ksql_spark.runtime.driver.startup import SparkStart


def condition_of(starting: SparkStart) -> str:
    with pytest.raises(KsqlError) as caught:
        starting.wait()
    return caught.value.condition


def test_statements_wait_until_it_is_open() -> None:
    runs = threading.Event()
    starting = SparkStart(lambda: None, lambda: 0.0, lambda: False)
    starting.begin()
    starting.join()
    with ThreadPoolExecutor() as pool:

        def waits() -> bool:
            starting.wait()
            return runs.is_set()

        waiting = pool.submit(waits)
        assert not starting._is_open.is_set()
        runs.set()
        starting.open()
        assert waiting.result(20)
    starting.wait()


def test_what_no_other_attempt_can_mend_ends_the_server() -> None:
    def fail() -> None:
        raise KsqlError("JAVA_MISSING", version=17, found="none")

    starting = SparkStart(fail, lambda: 0.0, lambda: False)
    starting.begin()
    with pytest.raises(KsqlError, match="Java"):
        starting.join()
    assert condition_of(starting) == "NOT_READY"


def test_the_first_start_is_tried_again_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "FIRST_PAUSE_S", 0.01)
    errors = [KsqlError("SPARK_FAILED", reason="killed", log="x"), OSError("no memory"), ValueError("later")]
    told, problems = list[str](), list[str | None]()

    def start() -> None:
        problems.append(starting.problem)
        if errors:
            raise errors.pop(0)

    starting = SparkStart(start, lambda: 0.0, lambda: False, told.append)
    starting.begin()
    starting.join()
    assert starting.problem is None and len(problems) == 4 and problems[0] is None
    assert [str(problem) for problem in problems[1:]] == told
    assert "Spark did not start: killed" in told[0] and "no memory" in told[1] and "next attempt" in told[1]


def test_an_attempt_whose_jvm_ends_at_once_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "FIRST_PAUSE_S", 0.01)
    ends = [KsqlError("SPARK_RESTARTING")]

    def ready() -> None:
        if ends:
            raise ends.pop()

    starts = list[int]()
    starting = SparkStart(lambda: starts.append(1), lambda: 0.0, lambda: False)
    assert starting.until_running(ready) and len(starts) == 2


def test_nobody_tries_for_ever() -> None:
    """Where another part does not start, or the server stops."""

    def fail() -> None:
        raise KsqlError("SPARK_FAILED", reason="no memory", log="spark.out")

    starting = SparkStart(fail, lambda: 0.0, lambda: False)
    starting.begin()
    starting.settle()
    is_stopping = threading.Event()
    stopped = SparkStart(fail, lambda: 0.0, is_stopping.is_set)
    stopped.begin()
    is_stopping.set()
    stopped.join()
    assert condition_of(stopped) == "STOPPED"


def test_nobody_waits_for_ever() -> None:
    assert condition_of(SparkStart(lambda: None, lambda: 0.01, lambda: False)) == "NOT_READY"
    assert condition_of(SparkStart(lambda: None, lambda: 0.0, lambda: True)) == "STOPPED"


@pytest.mark.parametrize(
    ("deadline", "condition"),
    [
        (Deadline(0.01), "NOT_READY"),  # the statement itself is in order
        (Deadline(0, lambda: "STATEMENT_CANCELLED"), "STATEMENT_CANCELLED"),
    ],
)
def test_a_statement_that_is_planned(deadline: Deadline, condition: str) -> None:
    with limited(deadline):
        assert condition_of(SparkStart(lambda: None, lambda: 0.0, lambda: False)) == condition


def test_what_was_never_begun() -> None:
    starting = SparkStart(lambda: None, lambda: 0.0, lambda: False)
    starting.join()  # a Spark that runs already
    assert not starting._is_open.is_set()
