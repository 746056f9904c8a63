"""FORGET on real servers: both guarantees, a paused query, a server that is killed meanwhile."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.services.broker import EmbeddedBroker
from tests.integration.own_server import Server
from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S, until

pytestmark = [pytest.mark.kafka, pytest.mark.long]

STATEMENTS = """
CREATE STREAM visits (id INT KEY, customer STRING)
  WITH (KAFKA_TOPIC = '{0}visits', VALUE_FORMAT = 'JSON', PARTITIONS = {1});
CREATE TABLE counts AS SELECT customer, COUNT(*) AS n FROM visits GROUP BY customer;
"""

THROUGH_A_STREAM = """
CREATE STREAM visits (id INT KEY, customer STRING)
  WITH (KAFKA_TOPIC = '{0}visits', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM named AS SELECT * FROM visits WHERE customer IS NOT NULL;
CREATE TABLE counts AS SELECT customer, COUNT(*) AS n FROM named GROUP BY customer;
"""

#: each stop leaves out the checkpoint of results that are written
STOPS_EARLY = "ksql.query.stop.timeout.ms=0", "ksql.checkpoint.interval.ms=600000"

FORGET = "FORGET FROM counts WHERE customer = 'ann';"


def insert(server: ServerProcess, *customers: str) -> None:
    server.execute("".join(f"INSERT INTO visits VALUES ({i}, '{c}');" for i, c in enumerate(customers)))


def await_counts(server: ServerProcess, expected: dict[str, int]) -> None:
    found: list[object] = []

    def is_so() -> bool:
        found[:] = server.rows("SELECT * FROM counts;")
        return sorted(found) == sorted([c, n] for c, n in expected.items())  # type: ignore[type-var]

    until(is_so, lambda: found)


def counts(server: ServerProcess) -> dict[str, int]:
    return dict(server.rows("SELECT * FROM counts;"))


def await_more_of_bob_alone(server: ServerProcess) -> None:
    """A record of bob is counted; how often those before it were is not known."""
    (bob,) = counts(server).values()
    insert(server, "bob")
    until(lambda: counts(server)["bob"] > bob)
    assert counts(server).keys() == {"bob"}


def refusal(server: ServerProcess, text: str) -> str:
    answer = httpx.post(f"{server.url}/ksql", json={"ksql": text}, timeout=TIMEOUT_S)
    assert answer.status_code == 400, answer.text
    return str(answer.json()["message"])


@contextlib.contextmanager
def servers(
    admin: KafkaAdmin, folder: Path, prefix: str, *properties: str
) -> Iterator[Callable[[], ServerProcess]]:
    """What starts the server of a test, whose topics begin with ``prefix`` and are deleted in the end."""
    path = folder / "server.properties"
    common = (
        f"bootstrap.servers={admin.servers}",
        f"ksql.service.id={prefix}",
        f"ksql.output.topic.name.prefix={prefix}",
        "ksql.streams.auto.offset.reset=earliest",
        "ksql.spark.memory=1200m",
        "ksql.spark.warm.up.enabled=false",
    )
    path.write_text("\n".join([*common, *properties, ""]), encoding="utf-8")
    try:
        yield lambda: ServerProcess(folder / "data", "--properties", str(path)).ready()
    finally:
        admin.delete_topics([name for name in admin.topics() if prefix in name])


def test_records_that_come_again_bring_no_key_back(kafka_admin: KafkaAdmin, tmp_path: Path) -> None:
    prefix = "forget_again_"
    with servers(kafka_admin, tmp_path, prefix, *STOPS_EARLY) as start:
        with start() as server:
            server.execute(THROUGH_A_STREAM.format(prefix))
            insert(server, "ann", "bob", "ann")
            await_counts(server, {"ann": 2, "bob": 1})
            server.execute("PAUSE ALL;")
            message = refusal(server, FORGET)
            assert "Query CSAS_NAMED_1 has not committed" in message and "it is paused" in message, message
            await_counts(server, {"ann": 2, "bob": 1})
            server.execute("RESUME ALL;")
            server.execute(FORGET)
            await_more_of_bob_alone(server)
            insert(server, "ann")
            until(lambda: "ann" in counts(server), lambda: counts(server))
            server.crash()
            server.process.communicate()
        with start() as server:
            server.execute(FORGET)
            await_more_of_bob_alone(server)


@pytest.mark.parametrize(("guarantee", "partitions"), [("at_least_once", 4), ("exactly_once_v2", 12)])
def test_a_key_is_forgotten_once(
    guarantee: str, partitions: int, kafka_admin: KafkaAdmin, tmp_path: Path
) -> None:
    prefix = f"forget{partitions}_"
    with servers(kafka_admin, tmp_path, prefix, f"ksql.streams.processing.guarantee={guarantee}") as start:
        with start() as server:
            server.execute(STATEMENTS.format(prefix, partitions))
            insert(server, "ann", "bob", "ann", "cy")
            await_counts(server, {"ann": 2, "bob": 1, "cy": 1})
            (answer,) = server.execute(FORGET.replace(";", " WITH (PREVIEW = true);"))
            assert {place["outcome"] for place in answer["places"]} == {"reachable", "left"}
            await_counts(server, {"ann": 2, "bob": 1, "cy": 1})
            (answer,) = server.execute(FORGET)
            outcomes = {place["place"]: place["outcome"] for place in answer["places"]}
            # a batch of a transaction begins with a record
            assert outcomes["state"] == ("deleted" if guarantee == "at_least_once" else "pending")
            await_counts(server, {"bob": 1, "cy": 1})
            insert(server, "ann", "bob")
            await_counts(server, {"ann": 1, "bob": 2, "cy": 1})
            insert(server, "ann")
            await_counts(server, {"ann": 2, "bob": 2, "cy": 1})
            server.execute("PAUSE ALL;")
            (answer,) = server.execute(FORGET)
            assert "pending" in {place["outcome"] for place in answer["places"]}
            server.execute("RESUME ALL;")
            insert(server, "ann")
            await_counts(server, {"ann": 1, "bob": 2, "cy": 1})
            timer = threading.Timer(random.Random(partitions).random() * 2, server.crash)
            timer.start()
            with contextlib.suppress(httpx.HTTPError):
                httpx.post(f"{server.url}/ksql", json={"ksql": FORGET}, timeout=60)
            timer.join()
            server.process.communicate()
        with start() as server:
            server.execute(FORGET)  # nobody has got an answer
            await_counts(server, {"bob": 2, "cy": 1})
            insert(server, "ann", "cy")
            await_counts(server, {"ann": 1, "bob": 2, "cy": 2})
            server.crash()
            server.process.communicate()
        with start() as server:  # what was forgotten once is not forgotten again
            insert(server, "ann")
            await_counts(server, {"ann": 2, "bob": 2, "cy": 2})


HOURLY = """
CREATE TABLE hourly AS SELECT customer, COUNT(*) AS n FROM visits
  WINDOW TUMBLING (SIZE 1 HOURS, GRACE PERIOD 0 SECONDS) GROUP BY customer;
CREATE TABLE often AS SELECT customer, n FROM counts WHERE n > 1;
CREATE TABLE totals AS SELECT n, COUNT(*) AS customers FROM counts GROUP BY n;
"""


def test_statements_beside_it(server: Server, topic_names: Callable[[str], str]) -> None:
    made = STATEMENTS.format(topic_names("beside"), 1) + HOURLY
    server.run(f"SET 'auto.offset.reset' = 'earliest'; {made}")
    for hour in range(3):
        for customer in ("ann", "bob", "cy", "ann"):
            columns = f"({hour * 3_600_000 + 1}, {hour}, '{customer}')"
            server.run(f"INSERT INTO visits (ROWTIME, id, customer) VALUES {columns};")
    server.has("SELECT * FROM counts;", [("ann", 6), ("bob", 3), ("cy", 3)])
    until(lambda: len(server.rows("SELECT * FROM hourly;")) == 9)
    statements = [
        "FORGET FROM counts WHERE customer = 'ann';",
        "FORGET FROM counts WHERE customer = 'bob';",
        "FORGET FROM counts WHERE customer = 'ann';",
        "REPROCESS hourly;",
        "FORGET FROM hourly WHERE customer = 'ann';",
        "REPROCESS hourly;",
    ]
    with ThreadPoolExecutor(len(statements)) as pool:
        answers = list(pool.map(server.run, statements))
    assert all(answer.query_id for (answer,) in answers)
    server.has("SELECT * FROM counts;", [("cy", 3)])
    server.has("SELECT customer FROM often;", [("cy",)])
    server.has("SELECT * FROM totals WHERE customers > 0;", [(3, 1)])  # an empty group stays
    server.run("FORGET FROM hourly WHERE customer = 'ann';")
    server.run("INSERT INTO visits VALUES (0, 'ann'), (1, 'bob');")
    server.has("SELECT * FROM counts;", [("ann", 1), ("bob", 1), ("cy", 3)])
    older = server.rows("SELECT customer FROM hourly WHERE windowstart < 10800000;")
    assert set(older) == {("bob",), ("cy",)}


def test_the_broker_is_away(tmp_path: Path) -> None:
    with (
        EmbeddedBroker(tmp_path / "kafka", 0) as broker,
        ServerProcess(tmp_path / "data", "--bootstrap-servers", broker.bootstrap_servers) as server,
    ):
        server.ready()
        server.execute(STATEMENTS.format("", 2), **{"auto.offset.reset": "earliest"})
        insert(server, "ann", "bob")
        await_counts(server, {"ann": 1, "bob": 1})
        port = int(broker.bootstrap_servers.rpartition(":")[2])
        broker.stop()
        answer = httpx.post(f"{server.url}/ksql", json={"ksql": FORGET}, timeout=TIMEOUT_S)
        assert "broker" in answer.json()["message"].lower(), answer.text
        with EmbeddedBroker(tmp_path / "kafka", port):
            until(lambda: httpx.get(f"{server.url}/healthcheck", timeout=TIMEOUT_S).json()["isHealthy"])
            assert counts(server) == {"ann": 1, "bob": 1}
            server.execute(FORGET)
            await_counts(server, {"bob": 1})
            insert(server, "ann")
            await_counts(server, {"ann": 1, "bob": 1})
