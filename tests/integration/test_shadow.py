"""``ksql-spark import --shadow`` and ``--compare`` between two servers on one broker."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.shell.main import main
from tests.server.live_server import LiveServer

pytestmark = pytest.mark.kafka

PREFIX = "shadows_"
TIMEOUT_S = 100.0
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

        def until(code: int, *lines: str) -> None:
            deadline = time.monotonic() + TIMEOUT_S
            while (found := run("--compare"))[0] != code or not set(lines) <= set(found[1]):
                assert time.monotonic() < deadline, found
                time.sleep(1)

        code, report = run("--shadow")
        assert (code, report[-1]) == (0, "8 statements: 7 created, 1 left out")
        assert any("it would write COPIES, whose topic the other server writes" in line for line in report)
        sink = ours.services.metastore.require("SALES").topic
        assert sink == f"shadow_{other.services.metastore.require('SALES').topic}"
        until(
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
        until(
            1,
            "differs  STREAM DEAR: 13 rows there, 12 here; 1 only there, 0 only here",
            '         only there: {"ID": 22, "ITEM": "i1", "PRICE": 2.0}',
            "equal    TABLE HOURLY: 3 rows",
            "differs  TABLE SALES: 3 rows there, 3 here; 2 only there, 2 only here",
            '         only here: {"ITEM": "i1", "N": 7, "TOTAL": 15.0}',
            "4 results: 2 equal, 2 not",
        )
    topics = ours.services.admin.topics()
    ours.services.admin.delete_topics(name for name in topics if name.startswith(f"shadow_{PREFIX}"))
