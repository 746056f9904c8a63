"""Pull queries that Spark runs, over REST: shapes of answers, big tables, the end."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from confluent_kafka import Producer

from ksql_spark.engine import Engine, Request
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.runtime.reading import batch
from ksql_spark.runtime.reading.results import QueryStream
from ksql_spark.services.broker import EmbeddedBroker
from tests.server.postgres.port import Port
from tests.waiting import TIMEOUT_S, until

pytestmark = pytest.mark.kafka

#: more than are sent to Spark in the text of a query
MANY = 2500


@pytest.fixture
def produce(broker: EmbeddedBroker) -> Callable[[str, dict[bytes, bytes | None]], None]:
    """Write records to a topic and return when they are there."""

    def write(topic: str, records: dict[bytes, bytes | None]) -> None:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
        for key, value in records.items():
            producer.produce(topic, key=key, value=value)
        assert producer.flush(TIMEOUT_S) == 0

    return write


@pytest.fixture
def numbers(
    execute: Callable[[str], Any],
    topic_names: Callable[[str], str],
    kafka_admin: KafkaAdmin,
    produce: Callable[[str, dict[bytes, bytes | None]], None],
) -> Iterator[str]:
    """A table of many numbers over a topic; a stream of the same."""
    topic = topic_names("numbers")
    kafka_admin.create_topic(topic, 2, config={"cleanup.policy": "compact"})
    records = {f"k{n}".encode(): json.dumps({"N": n, "GROUPED": n % 10}).encode() for n in range(MANY)}
    produce(topic, {**records, b"bad": b"no JSON"})
    columns = "n INT, grouped INT) WITH (KAFKA_TOPIC = '%s', VALUE_FORMAT = 'JSON')"
    execute(f"CREATE SOURCE TABLE numbers (k STRING PRIMARY KEY, {columns % topic};")
    execute(f"CREATE SOURCE STREAM numbers_stream (k STRING KEY, {columns % topic};")
    yield topic
    execute("DROP TABLE numbers; DROP STREAM numbers_stream;")


def query_stream(url: str, sql: str, accept: str | None = None) -> httpx.Response:
    headers = {"Accept": accept} if accept else {}
    return httpx.post(f"{url}/query-stream", json={"sql": sql}, headers=headers, timeout=TIMEOUT_S)


def rows(response: httpx.Response) -> list[Any]:
    assert response.status_code == 200, response.text
    return [json.loads(line) for line in response.text.splitlines()][1:]


def test_a_table_that_is_handed_over_in_a_file(url: str, numbers: str) -> None:
    sql = "SELECT grouped, COUNT(*) AS n, MAX(n) AS most FROM numbers GROUP BY grouped ORDER BY 1 LIMIT 2;"
    assert rows(query_stream(url, sql)) == [[0, 250, 2490], [1, 250, 2491]]
    sql = "SELECT a.k, b.n FROM numbers a JOIN numbers b ON a.n = b.n WHERE a.k IN ('k7', 'k8')"
    assert rows(query_stream(url, f"{sql} ORDER BY b.n DESC;")) == [["k8", 8], ["k7", 7]]
    everything = rows(query_stream(url, "SELECT n FROM numbers ORDER BY n;"))
    assert everything == [[n] for n in range(MANY)]


def test_many_keys_that_are_looked_up(url: str, numbers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ksql_spark.runtime.reading.batch._FEW_BYTES", 10)
    sql = "SELECT k, n FROM numbers WHERE k IN ('k7', 'k8', 'none') ORDER BY n DESC;"
    assert rows(query_stream(url, sql)) == [["k8", 8], ["k7", 7]]


def test_rows_that_cannot_be_read_are_left_out(url: str, numbers: str) -> None:
    for sql in (
        "SELECT k FROM numbers WHERE k = 'bad';",
        "SELECT UCASE(k) FROM numbers WHERE k = 'bad';",
        "SELECT k FROM numbers WHERE k = 'bad' ORDER BY k;",
        "SELECT DISTINCT k FROM numbers_stream WHERE k = 'bad';",
    ):
        assert rows(query_stream(url, sql)) == []


def test_shapes_of_answers(url: str, numbers: str) -> None:
    on_table = query_stream(url, "SELECT k, n FROM numbers WHERE k = 'k3' ORDER BY n;")
    header, row = (json.loads(line) for line in on_table.text.splitlines())
    assert (header["columnNames"], header["columnTypes"]) == (["K", "N"], ["STRING", "INTEGER"])
    assert row == ["k3", 3]
    body = {"ksql": "SELECT k, n FROM numbers ORDER BY n LIMIT 2;"}
    frames = httpx.post(f"{url}/query", json=body, timeout=TIMEOUT_S).json()
    assert frames[0]["header"]["schema"] == "`K` STRING KEY, `N` INTEGER"
    assert frames[1:] == [{"row": {"columns": ["k0", 0]}}, {"row": {"columns": ["k1", 1]}}]
    body = {"ksql": "SELECT COUNT(*) AS n FROM numbers_stream;"}
    frames = httpx.post(f"{url}/query", json=body, timeout=TIMEOUT_S).json()
    assert frames[0]["header"]["schema"] == "`N` BIGINT"
    assert frames[1:] == [{"row": {"columns": [MANY]}}, {"finalMessage": "Query Completed"}]
    body = {"ksql": "SELECT n FROM numbers_stream ORDER BY n LIMIT 1;"}
    frames = httpx.post(f"{url}/query", json=body, timeout=TIMEOUT_S).json()
    assert frames[1:] == [{"row": {"columns": [0]}}, {"finalMessage": "Limit Reached"}]
    wrong = query_stream(url, "SELECT n FROM numbers ORDER BY groupd;")
    assert wrong.status_code == 400 and "Did you mean GROUPED?" in wrong.json()["message"]


def test_explain(execute: Callable[[str], Any], numbers: str) -> None:
    sql = "SELECT a.n FROM numbers a JOIN numbers_stream b ON a.k = b.k WHERE b.k = 'x' ORDER BY a.n"
    (answer,) = execute(f"EXPLAIN {sql};")
    assert "shared" not in answer["queryDescription"]["executionPlan"]
    *_, answer = execute(f"SET 'ksql.query.pull.max.staleness.ms' = '1000'; EXPLAIN {sql};")
    described = answer["queryDescription"]
    assert described["queryType"] == "PULL"
    assert described["sources"] == ["NUMBERS", "NUMBERS_STREAM"]
    assert "Look-up in table NUMBERS | Keys: 'x'" in described["executionPlan"]
    assert "Scan of stream NUMBERS_STREAM" in described["executionPlan"]
    assert described["executionPlan"].endswith("Execution: shared by the same statements within 1000 ms.")


#: takes hours
SLOW = (
    "SELECT COUNT(*) FROM numbers a JOIN numbers b ON a.grouped = b.grouped JOIN numbers c "
    "ON b.grouped = c.grouped AND SUBSTRING(a.k, 1, 3) <= SUBSTRING(c.k, 2, 3) JOIN numbers d "
    "ON c.grouped = d.grouped AND SUBSTRING(b.k, 1, 3) <= SUBSTRING(d.k, 2, 3);"
)


@pytest.mark.parametrize("client", ["engine", "HTTP", "PostgreSQL"])
def test_a_slow_query_ends_when_its_client_goes(
    engine: Engine, url: str, numbers: str, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    begun: list[batch.BatchResult] = []

    class Noted(batch.BatchResult):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            begun.append(self)

    def is_running() -> bool:
        tracker = engine.services.spark.session().sparkContext.statusTracker()
        return bool(begun) and any(
            (job := tracker.getJobInfo(id_)) is not None and job.status == "RUNNING"
            for id_ in tracker.getJobIdsForGroup(begun[0].query_id)
        )

    monkeypatch.setattr(batch, "BatchResult", Noted)
    if client == "engine":
        stream = engine.query(Request(SLOW))
        until(is_running)
        assert stream.read(0.1) == []
        stream.close()
        assert stream.read(0.1) is None
    elif client == "HTTP":
        body = json.dumps({"sql": SLOW}).encode()
        address = urlsplit(url)
        with socket.create_connection((str(address.hostname), address.port or 0)) as connection:
            head = f"POST /query-stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)
            until(is_running)
    else:
        with Port(engine) as port, port.connect() as connected:  # type: ignore[arg-type]
            connected.pgconn.send_query(SLOW.encode())
            until(is_running)
            connected.close()
            until(lambda: not begun[0]._worker.is_alive())
    until(lambda: not begun[0]._worker.is_alive())
    until(lambda: not is_running())
    until(lambda: not list(engine.services.views.folder.glob("pull-*")))
    assert not engine._parts.queries._results._begun


def test_equal_queries_that_come_together_are_computed_once(
    engine: Engine, url: str, numbers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = "SELECT grouped, COUNT(*) AS n FROM numbers GROUP BY grouped ORDER BY grouped LIMIT 1;"
    runs, first, may_go_on = [], threading.Event(), threading.Event()
    run = batch.run

    def counted(*arguments: Any) -> QueryStream:
        runs.append(arguments)
        first.set()
        assert may_go_on.wait(TIMEOUT_S)
        return run(*arguments)

    monkeypatch.setattr(batch, "run", counted)
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(query_stream, url, sql)]
        assert first.wait(TIMEOUT_S)
        asked += [threads.submit(query_stream, url, sql) for _ in range(7)]
        waiting = engine._parts.queries._results._next
        until(lambda: sum(len(each.clients) for each in waiting.values()) == 7)
        may_go_on.set()
        assert [rows(each.result()) for each in asked] == [[[0, 250]]] * 8
    assert len(runs) == 2


def test_a_view_that_is_closed_tells_those_who_wait(engine: Engine, numbers: str) -> None:
    services = engine.services
    source = services.metastore.require("NUMBERS")
    view = services.views.current(source, 60)
    closing = threading.Timer(0.5, services.views.drop, ["NUMBERS"])
    closing.start()
    with pytest.raises(KsqlError) as waiting:
        view.wait_for({0: 2**40}, 60)
    closing.join()
    with pytest.raises(KsqlError) as reading:
        view.scan()
    assert {waiting.value.condition, reading.value.condition} == {"SOURCE_UNKNOWN"}
    assert len(services.views.current(source, 60).scan()) == MANY + 1


def test_a_view_passes_over_keys_that_are_none(
    url: str,
    execute: Callable[[str], Any],
    topic_names: Callable[[str], str],
    kafka_admin: KafkaAdmin,
    produce: Callable[[str, dict[bytes, bytes | None]], None],
) -> None:
    topic = topic_names("windows")
    kafka_admin.create_topic(topic, 1)
    produce(topic, {b"k": b'{"V": 1}', b"a" + struct.pack(">q", 60_000): b'{"V": 2}'})
    execute(
        "CREATE SOURCE TABLE windows (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = "
        f"'{topic}', VALUE_FORMAT = 'JSON', WINDOW_TYPE = 'TUMBLING', WINDOW_SIZE = '1 MINUTE');"
    )
    assert rows(query_stream(url, "SELECT * FROM windows;")) == [["a", 60_000, 120_000, 2]]
    sql = "SELECT k, WINDOWEND, v FROM windows ORDER BY WINDOWSTART;"
    assert rows(query_stream(url, sql)) == [["a", 120_000, 2]]
    execute("DROP TABLE windows;")
