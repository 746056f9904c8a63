"""Servers of a release, or of the last commit, are replaced by present ones, one after the other."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.runtime.command_log import command_topic
from tests.integration import cluster_servers as cluster
from tests.integration.server_process import ROOT, ServerProcess
from tests.waiting import TIMEOUT_S, until

pytestmark = [pytest.mark.kafka, pytest.mark.long]

#: states of the code that present servers replace: the last commit, and the tag of each release; they run
#: with the packages and JVM artifacts of the present one
OLDER = ("HEAD",)
REFUSAL = "A newer release has written to the command log"
BOTH = {"first:8088", "second:8088"}
COUNTS = "CREATE TABLE {} AS SELECT k, COUNT(*) AS c FROM e GROUP BY k EMIT CHANGES;"


@pytest.fixture(params=OLDER)
def older(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A folder with an older state of the code."""
    found = subprocess.run(["git", "archive", "--format=tar", request.param], cwd=ROOT, capture_output=True)
    if found.returncode:
        pytest.skip(f"git does not have {request.param} here")
    with tarfile.open(fileobj=io.BytesIO(found.stdout)) as packed:
        packed.extractall(tmp_path / "older", filter="data")
    return tmp_path / "older"


def refusal(asked: ServerProcess, text: str) -> str:
    """Why a statement is refused; nothing: it was carried out."""
    answer = httpx.post(f"{asked.url}/ksql", json={"ksql": text}, timeout=TIMEOUT_S)
    return "" if answer.status_code == 200 else str(answer.json()["message"])


def share(*servers: ServerProcess) -> Callable[[], bool]:
    """Whether each of two servers says that all queries run, some on each."""
    return lambda: all(set(cluster.hosts(one).values()) == BOTH for one in servers)


def test_servers_are_replaced_one_after_the_other(clean_kafka: str, tmp_path: Path, older: Path) -> None:
    broker = clean_kafka
    with (
        # one after the other: Kafka gives two that come at once every other slot, and one of them all queries
        cluster.server(tmp_path, "first", broker, root=older).serving() as first,
        cluster.server(tmp_path, "second", broker, root=older).serving() as second,
    ):
        first.execute(cluster.SOURCE)
        for n, table in enumerate(cluster.TABLES):
            (first, second)[n % 2].execute(COUNTS.format(table))
        first.execute("CREATE STREAM copies AS SELECT k, n FROM e EMIT CHANGES;")
        until(share(first, second))
        cluster.produce(broker, range(1000))
        until(lambda: cluster.are_right(first, 1000) and cluster.are_right(second, 1000))
        code, _, errors = first.stop()
        assert code == 0, errors
        with cluster.server(tmp_path, "first", broker).ready() as newer:
            # the older one follows what the newer one writes, and the other way round; each runs what it gets
            until(share(newer, second))
            newer.execute(f"CREATE TYPE of_newer AS INT; {COUNTS.format('by_newer')}")
            second.execute(f"CREATE TYPE of_older AS INT; {COUNTS.format('by_older')}")
            tables = [*cluster.TABLES, "by_newer", "by_older"]
            cluster.produce(broker, range(1000, 2000))
            for one in (newer, second):
                until(lambda one=one: cluster.are_right(one, 2000, tables))  # type: ignore[misc]
                (shown,) = one.execute("SHOW TYPES;")
                assert {"OF_NEWER", "OF_OLDER"} <= shown["types"].keys()
            until(share(newer, second))
            code, _, errors = second.stop()
            assert code == 0, errors
            with cluster.server(tmp_path, "second", broker).ready() as last:
                until(share(newer, last))
                cluster.produce(broker, range(2000, 3000))
                for one in (newer, last):
                    until(lambda one=one: cluster.are_right(one, 3000, tables))  # type: ignore[misc]
                cluster.check_copy(broker, "copies", 3000)  # no stop has repeated anything
                write_as_a_later_release(broker)
                for one, name in ((newer, "a"), (last, "b")):
                    statement = f"CREATE TYPE {name} AS INT;"
                    until(lambda one=one, s=statement: REFUSAL in refusal(one, s))  # type: ignore[misc]
                cluster.produce(broker, range(3000, 3500))
                for one in (newer, last):  # they go on with what they know
                    until(lambda one=one: cluster.are_right(one, 3500, tables))  # type: ignore[misc]
                last.stop()
            newer.stop()


def write_as_a_later_release(broker: str) -> None:
    """Add a command to the log that no release knows yet."""
    topic = command_topic(cluster.PREFIX)
    with TopicReader(broker, topic) as reader:
        commands = [json.loads(record.value or b"{}") for batch in reader.read_to_end() for record in batch]
    last = commands[-1]
    later = last | {"version": 99, "follows": last["token"], "token": "later"}
    with contextlib.closing(RecordProducer(broker)) as producer:
        producer.send_async(topic, None, json.dumps(later).encode())
        producer.flush()
