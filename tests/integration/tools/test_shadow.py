"""``ksql-spark import --shadow`` and ``--compare`` between two servers on one broker."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.consumer import Record, TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.runtime.queries.differences import latest
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.shell.main import main
from tests.server.live_server import LiveServer
from tests.waiting import TIMEOUT_S, until

pytestmark = pytest.mark.kafka

PREFIX = "shadows_"
STATEMENTS = f"""
CREATE STREAM orders (id INT KEY, item STRING, price DOUBLE)
  WITH (KAFKA_TOPIC = '{PREFIX}orders', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM copies (id INT KEY, item STRING)
  WITH (KAFKA_TOPIC = '{PREFIX}copies', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM dear AS SELECT * FROM orders WHERE price > 1 EMIT CHANGES;
CREATE TABLE sales AS SELECT item, COUNT(*) AS n, SUM(price) AS total FROM orders GROUP BY item EMIT CHANGES;
CREATE TABLE hourly WITH (KEY_FORMAT = 'JSON', VALUE_FORMAT = 'DELIMITED', VALUE_DELIMITER = '|') AS
  SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY item EMIT CHANGES;
CREATE TABLE sessions AS
  SELECT item, HISTOGRAM(item) AS h, COUNT(*) AS n FROM orders WINDOW SESSION (1 MINUTE)
  GROUP BY item EMIT CHANGES;
INSERT INTO dear SELECT * FROM orders WHERE price < 0 EMIT CHANGES;
INSERT INTO copies SELECT id, item FROM orders EMIT CHANGES;
"""


def insert(engine: Engine, first: int, count: int) -> None:
    values = (
        f"INSERT INTO orders (ROWTIME, id, item, price) VALUES ({n * 1000}, {n}, 'i{n % 3}', {n % 5});"
        for n in range(first, first + count)
    )
    engine.execute(Request("".join(values)))


def watch(there: LiveServer, here: LiveServer, ours: Engine) -> None:
    """Compare until nothing is behind any more, and after a row that only one of the topics has."""
    command = "import sys; from ksql_spark.shell.main import main; sys.exit(main(sys.argv[1:]))"
    options = ("import", "--from", there.url, "--server", here.url, "--watch")
    with subprocess.Popen(
        (sys.executable, "-c", command, *options), stdout=subprocess.PIPE, text=True
    ) as watching:
        timer = threading.Timer(TIMEOUT_S, watching.kill)
        timer.start()
        lines: list[str] = []

        def until(wanted: str) -> None:
            assert watching.stdout is not None
            for line in watching.stdout:
                lines.append(line.rstrip())
                if lines[-1].startswith(wanted):
                    return
            raise AssertionError(lines)

        until("4 results: 2 equal, 2 not")
        for query in ours.services.queries.all():
            ours.execute(Request(f"RESUME {query.id};"))
        until("4 results: 4 equal")
        topic = ours.services.metastore.require("DEAR").topic
        ours.services.producer.send(topic, b"\0\0\0c", b'{"ITEM": "x", "PRICE": 2.0}', 0)
        until("differs  STREAM DEAR: 13 rows there, 14 here; 0 only there, 1 only here")
        watching.send_signal(signal.SIGINT)
        assert watching.wait(TIMEOUT_S) == 1
        timer.cancel()
    assert "equal    STREAM DEAR: 13 rows" in lines and "equal    TABLE SALES: 3 rows" in lines


@pytest.mark.long
def test_results_of_both_are_compared(
    make_engine: Callable[..., Engine], capsys: pytest.CaptureFixture[str]
) -> None:
    other, ours = make_engine("other"), make_engine("ours")
    other.execute(Request(STATEMENTS, {"auto.offset.reset": "earliest"}))
    insert(other, 0, 20)
    with LiveServer(other) as there, LiveServer(ours) as here:

        def run(*options: str) -> tuple[int, list[str]]:
            code = main(["import", "--from", there.url, "--server", here.url, *options])
            return code, capsys.readouterr().out.splitlines()

        def until_compared(code: int, *lines: str) -> None:
            def is_so() -> bool:
                found_code, found = run("--compare")
                return found_code == code and set(lines) <= set(found)

            until(is_so, lambda: run("--compare"))

        code, report = run("--shadow")
        assert (code, report[-1]) == (0, "8 statements: 7 created, 1 left out")
        assert any("it would write COPIES, whose topic the other server writes" in line for line in report)
        sink = ours.services.metastore.require("SALES").topic
        assert sink == f"shadow_{other.services.metastore.require('SALES').topic}"
        until_compared(
            0,
            "equal    STREAM DEAR: 12 rows",
            "equal    TABLE HOURLY: 3 rows",
            "equal    TABLE SALES: 3 rows",
            "equal    TABLE SESSIONS: 3 rows",
            "4 results: 4 equal",
        )

        # now ours lags behind in two results
        for query in ours.services.queries.all():
            if query.id.startswith(("CTAS_SALES", "CSAS_DEAR")):
                ours.execute(Request(f"PAUSE {query.id};"))
        insert(other, 20, 1)
        insert(other, 22, 1)
        until_compared(
            1,
            "behind   STREAM DEAR: 13 rows there, 12 here; 1 only there, 0 only here",
            '         only there: {"ID": 22, "ITEM": "i1", "PRICE": 2.0}',
            "equal    TABLE HOURLY: 3 rows",
            "behind   TABLE SALES: 3 rows there, 3 here; 2 only there, 2 only here",
            '         only here: {"ITEM": "i1", "N": 7, "TOTAL": 15.0}',
            "4 results: 2 equal, 2 not",
        )
        watch(there, here, ours)
    topics = ours.services.admin.topics()
    ours.services.admin.delete_topics(name for name in topics if name.startswith(f"shadow_{PREFIX}"))


CUT = "cut_"
RESULTS = f"""
CREATE STREAM orders (id INT KEY, item STRING, price DOUBLE)
  WITH (KAFKA_TOPIC = '{CUT}orders', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM dear WITH (KAFKA_TOPIC = '{CUT}dear') AS SELECT * FROM orders WHERE price > 1 EMIT CHANGES;
INSERT INTO dear SELECT * FROM orders WHERE price < 1 EMIT CHANGES;
CREATE TABLE sales WITH (KAFKA_TOPIC = '{CUT}sales') AS
  SELECT item, COUNT(*) AS n FROM orders GROUP BY item EMIT CHANGES;
"""


@pytest.mark.long
def test_results_are_taken_over_while_records_arrive(
    make_engine: Callable[..., Engine], broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each record is answered once, by the other server or by ours, and the table counts all of them."""
    other, ours = make_engine("left"), make_engine("taking")
    other.execute(Request(RESULTS, {"auto.offset.reset": "earliest"}))
    is_over = threading.Event()
    count = 0

    def produce() -> None:
        nonlocal count
        producer = RecordProducer(broker.bootstrap_servers, linger_ms=5)
        while not is_over.wait(0.05):
            for n in range(count, count + 20):
                value = json.dumps({"ITEM": f"i{n % 7}", "PRICE": n % 5}).encode()
                producer.send_async(f"{CUT}orders", n.to_bytes(4, "big"), value)
            producer.flush()
            count += 20
        producer.close()

    def records(topic: str) -> list[Record]:
        with TopicReader(broker.bootstrap_servers, f"{CUT}{topic}") as reader:
            return [record for some in reader.read_to_end() for record in some]

    producing = threading.Thread(target=produce)
    producing.start()
    try:
        with LiveServer(other) as there, LiveServer(ours) as here:
            options = ("import", "--from", there.url, "--server", here.url)
            assert main([*options, "--shadow"]) == 0
            until(lambda: bool(records("dear")) and bool(records("sales")))
            assert main([*options, "--cut-over"]) == 0, capsys.readouterr().out
            before = len(records("dear"))
            until(lambda: len(records("dear")) > before + 100)
    finally:
        is_over.set()
        producing.join()
    wanted = {n for n in range(count) if n % 5 != 1}
    sums = Counter(f"i{n % 7}" for n in range(count))
    until(lambda: len(records("dear")) >= len(wanted))
    found = Counter(int.from_bytes(record.key or b"", "big") for record in records("dear"))
    assert found == Counter(wanted)
    until(
        lambda: (
            {k[1]: json.loads(r.value or b"") for k, r in latest(records("sales")).items()}
            == {item.encode(): {"N": n} for item, n in sums.items()}
        )
    )
    assert other.services.queries.all() == []
    topics = ours.services.admin.topics()
    assert not [name for name in topics if name.startswith(f"shadow_{CUT}")]
