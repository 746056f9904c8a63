"""Functions in jars for ksqlDB, in queries of all kinds."""

from __future__ import annotations

import re
import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from ksql_spark.config import Config
from ksql_spark.engine import Engine
from ksql_spark.errors import KsqlError
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark.session import SparkProcess
from tests.integration.functions import java_jars
from tests.integration.functions.function_server import Server

pytestmark = pytest.mark.kafka

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "java-functions.md"
PROPERTIES = {
    "ksql.service.id": "java_functions_",
    "ksql.functions.formula.base.value": "100",
    "ksql.functions._global_.offset": "1000",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("jars")
    jar = java_jars.compiled(folder)
    shutil.copy(jar, folder / "second.jar")
    (folder / "broken.jar").write_text("this is no jar")
    sources = tmp_path_factory.mktemp("page")
    (code,) = re.findall(r"^```java\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.S | re.M)
    (sources / "Area.java").write_text(code)
    java_jars.compiled(folder, "area.jar", sources)
    return folder


@pytest.fixture(scope="module")
def orders(server: Server) -> str:
    server.run(
        "CREATE STREAM orders (id INT KEY, n INT, qty BIGINT, price DOUBLE, cost DECIMAL(6, 2), note STRING)"
        " WITH (kafka_topic='jar_orders', value_format='JSON', partitions=1);"
        "INSERT INTO orders VALUES (1, 2, 3000000000, 1.5, 2.50, 'ab cd');"
        "INSERT INTO orders VALUES (2, 3, NULL, -2.0, 4.00, 'ef');"
        "INSERT INTO orders VALUES (3, NULL, 5, NULL, NULL, NULL);"
    )
    return "ORDERS"


def test_what_is_wrong_with_jars_is_told(server: Server, reports: list[str]) -> None:
    told = "\n".join(reports)
    assert "broken.jar: zip END header not found" in told
    assert "NotAll.withoutDigits(java.lang.String): a result BigDecimal needs its digits" in told
    assert "NotAll.ofLambda(java.util.function.Function): functions in jars take no lambdas yet" in told
    assert "second.jar: multiply: The function MULTIPLY already exists: it is defined in" in told
    (shown,) = server.run("SHOW FUNCTIONS;")
    assert {"MULTIPLY", "NOT_ALL", "SUMMARY_STATS", "WORDS"} <= {f.name for f in shown.functions}


def test_functions_are_described(server: Server, folder: Path) -> None:
    (described,) = server.run("DESCRIBE FUNCTION multiply;")
    assert (described.author, described.version, described.type) == ("ada", "1.0.2", "SCALAR")
    assert described.path == str(folder / "functions.jar")
    assert described.description == "Multiplies two numbers."
    found = {f.argument_types: (f.return_type, f.description) for f in described.functions}
    assert found[("INTEGER", "INTEGER")] == ("BIGINT", "Whole numbers.")
    assert found[("DECIMAL", "DECIMAL")][1] == "Exact numbers."
    assert len(found) == 4


def test_variants_in_a_stream(server: Server, orders: str) -> None:
    server.run(
        "CREATE STREAM products AS SELECT id, MULTIPLY(n, 3) AS a, MULTIPLY(n, qty) AS b,"
        " MULTIPLY(price, n) AS c, MULTIPLY(cost, cost) AS d, FORMULA(id) AS e, FORMULA(id, n, 7) AS f"
        " FROM orders;"
    )
    found = server.rows("SELECT id, a, b, c, d, e, f FROM products EMIT CHANGES LIMIT 3;", 3)
    assert found == [
        [1, 6, 6000000000, 3.0, Decimal("6.2500"), 1101, 1110],
        [2, 9, None, -6.0, Decimal("16.0000"), 1102, 1112],
        [3, None, None, None, None, 1103, 1110],
    ]


def test_values_of_all_types(server: Server, orders: str) -> None:
    found = server.rows(
        "SELECT TURNED(STRUCT(X := price, Y := 1.0E0))->X AS st, TURNED(ARRAY[n, 1, NULL]) AS l,"
        " TURNED(MAP('k' := CAST(id AS BIGINT)))[CAST(1 AS BIGINT)] AS m,"
        " CAST(TURNED(FROM_DAYS(n)) AS STRING) AS d,"
        " CAST(TURNED(PARSE_TIME('10:00:01', 'HH:mm:ss')) AS STRING) AS t,"
        " CAST(TURNED(FROM_UNIXTIME(n)) AS STRING) AS ts,"
        " FROM_BYTES(TURNED(TO_BYTES('az', 'utf8')), 'utf8') AS b,"
        " TURNED(id = 1) AS o, TURNED(note) AS s FROM orders EMIT CHANGES LIMIT 1;"
    )
    assert found == [
        [1.0, [None, 1, 2], "k", "1969-12-30", "13:59:59", "1969-12-31T23:59:59.998", "za", False, "dc ba"]
    ]


def test_wherever_an_expression_may_be(server: Server, orders: str) -> None:
    """In CASE, lambdas and conditions, in pull queries and in INSERT."""
    found = server.rows(
        "SELECT id, CASE WHEN id = 1 THEN MULTIPLY(id, 5) ELSE 0 END AS c,"
        " TRANSFORM(ARRAY[1, 2], x => MULTIPLY(x, 2)) AS l FROM orders WHERE MULTIPLY(id, 2) > 2;"
    )
    assert found == [[2, 0, [2, 4]], [3, 0, [2, 4]]]
    server.run("INSERT INTO orders (id, qty, note) VALUES (4, MULTIPLY(2, 2), TURNED('xy'));")
    assert server.rows("SELECT qty, note FROM orders WHERE id = 4;") == [[4, "yx"]]


def test_a_function_that_fails_is_an_error_of_its_record(server: Server, orders: str) -> None:
    server.run("CREATE STREAM halves AS SELECT id, PICKY(n) AS h, WORDS(note) AS w FROM orders;")
    found = server.rows("SELECT id, h, w FROM halves EMIT CHANGES LIMIT 3;", 3)
    assert found == [[1, 1, "ab"], [1, 1, "cd"], [2, None, "ef"]]
    causes = server.rows(
        "SELECT message->recordProcessingError->errorMessage AS m,"
        " message->recordProcessingError->cause[1] AS c, input->`offset` AS o FROM ksql_processing_log"
        " WHERE logger LIKE '%CSAS_HALVES%' EMIT CHANGES LIMIT 1;",
        1,
    )
    assert causes == [["PICKY(N) failed.", "IllegalArgumentException: 3 is odd (Picky.java, line 12)", 1]]


def test_table_functions(server: Server, orders: str) -> None:
    found = server.rows("SELECT id, WORDS(id + 1) AS w FROM orders EMIT CHANGES LIMIT 5;", 5)
    assert found == [[1, 1], [1, 2], [2, 1], [2, 2], [2, 3]]


def test_an_aggregate_with_structs(server: Server, orders: str) -> None:
    """A call that fails leaves the group as it was."""
    server.run(
        "CREATE TABLE stats AS SELECT 1 AS k, SUMMARY_STATS(price) AS s, TOTAL(cost) AS t,"
        " TOTAL(id, qty, 1) AS l FROM orders WHERE id < 4 GROUP BY 1;"
    )
    query = "SELECT s->SAMPLE_SIZE AS n, s->SUM AS sum, s->MEAN AS mean, t, l FROM stats WHERE k = 1;"
    server.until(query, [[1, 1.5, 1.5, Decimal("6.50"), 3000000000]])
    assert server.rows("SELECT MULTIPLY(l, 2) AS m FROM stats WHERE k = 1;") == [[6000000000]]
    batch = "SELECT SUMMARY_STATS(price)->SUM AS s, TOTAL(qty) AS q FROM orders WHERE id IN (1, 3);"
    assert server.rows(batch) == [[1.5, 3000000005]]


def test_state_goes_on_with_another_jar(
    broker: EmbeddedBroker, spark_process: SparkProcess, tmp_path: Path
) -> None:
    jar = java_jars.compiled(tmp_path / "ext", "functions-1.0.jar")
    config = {
        "bootstrap.servers": broker.bootstrap_servers,
        "ksql.spark.data.dir": str(tmp_path),
        "ksql.service.id": "java_functions_restart_",
        "ksql.functions.total.unused": "1",
    }
    for number, total in ((1, 1), (2, 3)):
        engine = Engine(Config(config), spark_process)
        engine.start()
        try:
            server = Server(engine)
            if number == 1:
                server.run(
                    "CREATE STREAM s (n BIGINT) WITH (kafka_topic='jar_kept', value_format='JSON',"
                    " partitions=1); CREATE TABLE kept AS SELECT 1 AS k, TOTAL(n) AS t FROM s GROUP BY 1;"
                )
            server.run(f"INSERT INTO s VALUES ({number});")
            server.until("SELECT t FROM kept WHERE k = 1;", [[total]])
        finally:
            engine.stop()
        jar = jar.rename(jar.with_name("functions-1.1.jar"))
        config["ksql.functions.total.unused"] = "2"


def test_sessions_merge(server: Server, orders: str) -> None:
    server.run(
        "CREATE STREAM clicks (u STRING, n BIGINT) WITH (kafka_topic='jar_clicks', value_format='JSON',"
        " partitions=1);"
        "CREATE TABLE sessions AS SELECT u, TOTAL(n) AS t FROM clicks WINDOW SESSION (10 SECONDS) GROUP BY u;"
        "INSERT INTO clicks (ROWTIME, u, n) VALUES (1000, 'a', 1);"
        "INSERT INTO clicks (ROWTIME, u, n) VALUES (15000, 'a', 2);"
        "INSERT INTO clicks (ROWTIME, u, n) VALUES (8000, 'a', 4);"
    )
    server.until("SELECT u, t FROM sessions;", [["a", 7]])


def test_a_table_takes_rows_back(server: Server) -> None:
    server.run(
        "CREATE TABLE items (id INT PRIMARY KEY, kind STRING, n BIGINT, cost DECIMAL(6, 2))"
        " WITH (kafka_topic='jar_items', value_format='JSON', partitions=1);"
        "CREATE TABLE kinds AS SELECT kind, TOTAL(n) AS t FROM items GROUP BY kind;"
        "INSERT INTO items VALUES (1, 'a', 1, 0); INSERT INTO items VALUES (2, 'a', 10, 0);"
        "INSERT INTO items VALUES (1, 'b', 5, 0);"
    )
    server.until("SELECT kind, t FROM kinds;", [["a", 10], ["b", 5]])
    with pytest.raises(KsqlError, match="cannot be applied to a table source"):
        server.run("CREATE TABLE costs AS SELECT kind, TOTAL(cost) AS t FROM items GROUP BY kind;")


def test_arguments_that_no_variant_takes(server: Server, orders: str) -> None:
    with pytest.raises(KsqlError, match=r"multiply|MULTIPLY") as refused:
        server.run("CREATE STREAM x AS SELECT id, MULTIPLY(note, 1) AS m FROM orders;")
    assert "(BIGINT V1, BIGINT V2)" in refused.value.message


def test_the_page(server: Server) -> None:
    _, statements = re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.S | re.M)
    created, _, read = statements.rpartition("SELECT ")
    server.run(created)
    query, result = read.split("   -- ")
    assert server.rows(f"SELECT {query}") == [[float(result)]]
