"""Who waits for Spark while a server starts, and for how long."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ksql_spark.deadline import Deadline, limited
from ksql_spark.errors import KsqlError
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


def test_a_spark_that_cannot_be_started() -> None:
    def fail() -> None:
        raise KsqlError("SPARK_FAILED", reason="no memory", log="spark.out")

    starting = SparkStart(fail, lambda: 0.0, lambda: False)
    starting.begin()
    starting.settle()
    assert condition_of(starting) == "NOT_READY"
    with pytest.raises(KsqlError, match="no memory"):
        starting.join()


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
