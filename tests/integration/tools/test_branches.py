"""``ksql-spark branch`` on a real engine: copies, differences, promotion, removal."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.shell.main import main
from tests.server.live_server import LiveServer
from tests.waiting import until

pytestmark = pytest.mark.kafka

PREFIX = "branches_"
STATEMENTS = """
CREATE STREAM orders (id INT KEY, item STRING, price DOUBLE)
  WITH (KAFKA_TOPIC = 'branches_orders', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM dear WITH (KAFKA_TOPIC = 'branches_dear') AS SELECT * FROM orders WHERE price > 1 EMIT CHANGES;
CREATE TABLE sales WITH (KAFKA_TOPIC = 'branches_sales') AS
  SELECT item, COUNT(*) AS n FROM dear GROUP BY item EMIT CHANGES;
CREATE STREAM named WITH (KAFKA_TOPIC = 'branches_named') AS
  SELECT dear.item, sales.n FROM dear JOIN sales ON dear.item = sales.item EMIT CHANGES;
INSERT INTO dear SELECT * FROM orders WHERE price < 0 EMIT CHANGES;
"""


def insert(engine: Engine, first: int, count: int) -> None:
    values = (
        f"INSERT INTO orders (ROWTIME, id, item, price) VALUES ({n * 1000}, {n}, 'i{n % 3}', {n % 5 - 1});"
        for n in range(first, first + count)
    )
    engine.execute(Request("".join(values)))


@pytest.fixture
def engine(make_engine: Callable[..., Engine]) -> Iterator[Engine]:
    made = make_engine("branches")
    made.execute(Request(STATEMENTS, {"auto.offset.reset": "earliest"}))
    insert(made, 0, 20)
    yield made


@pytest.mark.long
def test_a_change_is_tried_and_taken_over(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    with LiveServer(engine) as server:

        def run(*arguments: str) -> tuple[int, list[str]]:
            code = main(["branch", *arguments, "--server", server.url])
            out = capsys.readouterr()
            return code, (out.out + out.err).splitlines()

        def until_diff(*lines: str) -> None:
            until(lambda: set(lines) <= set(run("diff", "dev")[1]), lambda: run("diff", "dev"))

        code, lines = run("create", "dev", "--only", "dear,sales,nothing")
        assert code == 2 and "No query writes NOTHING: it writes DEAR, NAMED, SALES." in lines[0]
        assert run("create", "dev") == (
            0,
            [
                "created  STREAM DEV__DEAR",
                "created  TABLE DEV__SALES",
                "created  STREAM DEV__NAMED",
                "created  QUERY DEV__DEAR",
            ],
        )
        assert engine.services.metastore.require("DEV__SALES").topic == "dev__branches_sales"
        until_diff("equal    STREAM DEAR: 12 rows", "equal    TABLE SALES: 3 rows")

        before = engine.services.metastore.require("SALES").statement
        engine.execute(
            Request(
                "CREATE OR REPLACE TABLE dev__sales WITH (EVOLVE = 'backfill') AS"
                " SELECT item, COUNT(*) AS n, SUM(price) AS total FROM dev__dear GROUP BY item EMIT CHANGES;"
                "CREATE TABLE dev__ids AS SELECT id, COUNT(*) AS n FROM dev__dear GROUP BY id EMIT CHANGES;",
                {"auto.offset.reset": "earliest"},
            )
        )
        until_diff("differs  TABLE SALES: 3 rows", "new      TABLE IDS")
        assert engine.services.metastore.require("SALES").statement == before

        code, lines = run("promote", "dev")
        assert (code, sorted(lines)) == (
            0,
            ["changed  TABLE SALES", "changing TABLE SALES", "created  TABLE IDS"],
        )
        assert [c.name for c in engine.services.metastore.require("SALES").schema.value] == ["N", "TOTAL"]
        insert(engine, 20, 5)
        until_diff("equal    TABLE SALES: 3 rows", "equal    TABLE IDS: 15 rows")
        assert run("promote", "dev") == (0, [])

        code, lines = run("drop", "dev")
        assert code == 0 and len(lines) == 4 and all(line.startswith("dropped") for line in lines)
        assert not [s.name for s in engine.services.metastore.sources() if s.name.startswith("DEV__")]
        assert run("drop", "dev")[0] == 2
