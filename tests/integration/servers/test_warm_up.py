"""What a server without queries does before the first statement comes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ksql_spark.config import Config
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.runtime.driver import warm_up as warming
from ksql_spark.runtime.driver.warm_up import WarmUp
from ksql_spark.spark.session import SparkProcess
from ksql_spark.storage import LocalFolder
from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S, until

pytestmark = pytest.mark.kafka


@pytest.fixture
def make(
    spark_process: SparkProcess, kafka_admin: KafkaAdmin, topic_names: Callable[[str], str], tmp_path: Path
) -> Callable[[bool], tuple[WarmUp, str]]:
    """A maker of warm-ups, and of the beginnings of their topics' names."""

    def make_one(is_needed: bool) -> tuple[WarmUp, str]:
        assert spark_process.session is not None
        prefix = f"{topic_names('warm_up')}_"
        warm_up = WarmUp(
            spark_process.session,
            kafka_admin,
            RecordProducer(kafka_admin.servers),
            Config({"bootstrap.servers": kafka_admin.servers}),
            topics=prefix,
            checkpoints=LocalFolder(tmp_path / "warm_up"),
            is_needed=lambda: is_needed,
        )
        return warm_up, prefix

    return make_one


def topics(admin: KafkaAdmin, prefix: str) -> list[str]:
    return [name for name in admin.topics() if name.startswith(prefix)]


def test_it_runs_and_leaves_nothing(
    make: Callable[[bool], tuple[WarmUp, str]],
    kafka_admin: KafkaAdmin,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(warming, "TIMEOUT_S", TIMEOUT_S)
    warm_up, prefix = make(True)
    with caplog.at_level("INFO"):
        warm_up.start()
        warm_up.wait()
    assert "warmed up in" in caplog.text
    assert not topics(kafka_admin, prefix) and not list(tmp_path.iterdir())
    warm_up.stop()


@pytest.mark.long
def test_a_server_that_a_shell_only_looks_at(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        server.ready()
        server.execute("SHOW STREAMS; SHOW TABLES;")  # as a shell does at once, for completion
        log = tmp_path / "logs" / "server.log"
        until(lambda: "warmed up in" in log.read_text(encoding="utf-8"))
        server.stop()


def test_it_is_stopped_in_the_middle(
    make: Callable[[bool], tuple[WarmUp, str]],
    kafka_admin: KafkaAdmin,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(warming, "TIMEOUT_S", TIMEOUT_S)
    warm_up, prefix = make(True)
    warm_up.start()
    until(lambda: topics(kafka_admin, prefix))
    warm_up.stop()
    assert not topics(kafka_admin, prefix)
    warm_up.wait()
    assert not topics(kafka_admin, prefix) and not list(tmp_path.iterdir())
    assert not caplog.text


def test_it_is_not_needed_where_statements_come_at_once(
    make: Callable[[bool], tuple[WarmUp, str]], tmp_path: Path
) -> None:
    warm_up, _ = make(False)
    warm_up.start()
    warm_up.wait()
    assert not list(tmp_path.iterdir())
    warm_up.stop()
