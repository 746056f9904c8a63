"""Topics that are deleted, made again or shortened under the queries of a running server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from ksql_spark.kafka.admin import KafkaAdmin
from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S, until

pytestmark = pytest.mark.kafka

SCENE = """
CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM a AS SELECT k, v + 1 AS w FROM s EMIT CHANGES;
CREATE TABLE t AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;
"""


def queries(server: ServerProcess) -> dict[str, Any]:
    body = httpx.get(f"{server.url}/healthcheck", timeout=TIMEOUT_S).json()
    found: dict[str, Any] = body["details"]["queries"]
    return found


def insert(server: ServerProcess, count: int = 1) -> None:
    server.execute("INSERT INTO s VALUES ('a', 1);" * count)


def counted(server: ServerProcess) -> list[list[Any]]:
    return server.rows("SELECT n FROM t WHERE k = 'a';")


def errors_of(server: ServerProcess) -> str:
    (entity,) = server.execute("DESCRIBE s EXTENDED;")
    return str(entity["sourceDescription"]["errorStats"])


@pytest.mark.long
def test_topics_change_under_queries(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        server.ready()
        admin = KafkaAdmin(server.bootstrap_servers())
        server.execute(SCENE, **{"auto.offset.reset": "earliest"})
        insert(server, 3)
        until(lambda: counted(server) == [[3]])

        # the source goes, and comes back
        admin.delete_topics(["s"])
        until(lambda: len(queries(server)["inError"]) == 2)
        assert all("Topic s, which the query reads" in why for why in queries(server)["reasons"].values())
        (shown,) = server.execute("SHOW QUERIES;")
        assert all("no longer exists" in query["error"] for query in shown["queries"])
        admin.create_topic("s", 1)
        until(lambda: queries(server)["isHealthy"])
        insert(server)
        until(lambda: counted(server) == [[4]])

        # its retention is faster than the queries
        server.execute("PAUSE ALL;")
        insert(server, 5)
        plain = AdminClient({"bootstrap.servers": server.bootstrap_servers(), "log_level": 0})
        (deleted,) = plain.delete_records([TopicPartition("s", 0, 4)]).values()
        deleted.result(TIMEOUT_S)
        server.execute("RESUME ALL;")
        until(lambda: counted(server) == [[6]])
        until(lambda: "lost-records: 6" in errors_of(server))

        # a sink goes
        ids = admin.identities(["A"])
        admin.delete_topics(["A"])
        until(lambda: admin.identities(["A"]).keys() == {"A"} and admin.identities(["A"]) != ids)
        insert(server)
        until(lambda: admin.end_offsets("A")["A", 0] >= 1)
        until(lambda: counted(server) == [[7]])

        # what is asked of a topic that has gone
        server.execute("TERMINATE ALL;")
        admin.delete_topics(["T", "s"])
        for text in ("SELECT * FROM t WHERE k = 'a';", "SELECT k FROM t GROUP BY k;", "SELECT * FROM s;",
                     "SELECT * FROM s EMIT CHANGES;", "SELECT * FROM t EMIT CHANGES;"):  # fmt: skip
            answer = httpx.post(f"{server.url}/query-stream", json={"sql": text}, timeout=TIMEOUT_S)
            assert answer.status_code == 400, (text, answer.text)
            assert "Could not find topic" in answer.json()["message"], text
        code, out, err = server.stop()
        assert (code, err) == (0, ""), out
        server.wait_until_alone()
