"""User functions in Python, from the examples' folder, wherever an expression may stand."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import psutil
import pytest

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.errors import KsqlError
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark.session import SparkProcess
from tests.integration.functions.function_server import Server
from tests.waiting import TIMEOUT_S

pytestmark = pytest.mark.kafka
pytest.importorskip("pyarrow")

EXAMPLES = Path(__file__).parents[3] / "examples" / "functions"
PROPERTIES = {"ksql.service.id": "user_functions_", "ksql.create.function.enabled": "true"}

BROKEN = "def nothing(:\n"
PICKY = '''
from ksql_spark.udf import scalar_function

@scalar_function
def picky(number: int) -> int:
    """Takes no odd numbers."""
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2
'''
PICKY_ROWS = '''
from collections.abc import Iterator

from ksql_spark.udf import table_function

@table_function
def halves(number: int) -> Iterator[int]:
    """Two rows; an odd number fails after the first one."""
    yield number // 2
    if number % 2:
        raise ValueError(f"{number} is odd")
    yield number // 2
'''
UNMERGED = '''
from ksql_spark.udf import aggregate_function

@aggregate_function
class Joined:
    """All texts in the order of their arrival; two groups cannot become one."""

    def initialize(self) -> str:
        return ""

    def aggregate(self, state: str, text: str) -> str:
        return state + text

    def result(self, state: str) -> str:
        return state
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("functions")
    for file in EXAMPLES.glob("*.py"):
        shutil.copy(file, folder)
    (folder / "picky.py").write_text(PICKY)
    (folder / "halves.py").write_text(PICKY_ROWS)
    (folder / "unmerged.py").write_text(UNMERGED)
    (folder / "broken.py").write_text(BROKEN)
    (folder / "_helper.py").write_text("raise RuntimeError('not to be loaded by itself')\n")
    return folder


@pytest.fixture(scope="module")
def names(server: Server) -> str:
    server.run(
        "CREATE STREAM names (id INT KEY, name STRING, number BIGINT, degrees DOUBLE)"
        " WITH (kafka_topic='udf_names', value_format='JSON', partitions=1);"
        "INSERT INTO names VALUES (1, 'ann lee', 2, 100);"
        "INSERT INTO names VALUES (2, 'bob', 3, -40);"
        "INSERT INTO names VALUES (3, NULL, 4, NULL);"
    )
    return "NAMES"


def test_in_pull_queries_that_group(server: Server, names: str) -> None:
    query = "SELECT number / 3 AS third, JOINED(INITIALS(name)) AS j, GEOMETRIC_MEAN(number) AS m FROM names"
    assert server.rows(f"{query} WHERE id < 3 GROUP BY number / 3 ORDER BY third;") == [
        [0, "AL", pytest.approx(2.0)],
        [1, "B", pytest.approx(3.0)],
    ]
    words = (
        "SELECT DISTINCT w.word FROM (SELECT WORDS(name) AS word FROM names WHERE id < 3) w ORDER BY w.word;"
    )
    assert server.rows(words) == [["ann"], ["bob"], ["lee"]]


def test_what_cannot_be_loaded_is_told(server: Server, reports: list[str]) -> None:
    (said,) = [text for text in reports if "broken.py" in text]
    assert "SyntaxError" in said and "line 1" in said
    assert not any("_helper" in text for text in reports)


def test_functions_are_shown_and_described(server: Server, folder: Path) -> None:
    (shown,) = server.run("SHOW FUNCTIONS;")
    kinds = {row.name: row.type for row in shown.functions}
    assert kinds["INITIALS"] == "SCALAR"
    assert kinds["GEOMETRIC_MEAN"] == "AGGREGATE"
    assert kinds["WORDS"] == "TABLE"
    (described,) = server.run("DESCRIBE FUNCTION word_at;")
    assert described.path == str(folder / "text.py")
    assert described.description.startswith("A word of a text")
    assert [f.argument_types for f in described.functions] == [
        ("STRING", "INTEGER"),
        ("STRING", "INTEGER", "STRING"),
    ]
    assert described.functions[0].arguments[1].description == "1 for the first word"


def test_a_push_query(server: Server, names: str) -> None:
    found = server.rows(
        "SELECT id, INITIALS(name) AS i, FAHRENHEIT(degrees) AS f, WORD_AT(name, 2) AS w,"
        " WORD_AT(name, 5, '-') AS o FROM names EMIT CHANGES LIMIT 3;"
    )
    assert found == [[1, "AL", 212.0, "lee", "-"], [2, "B", -40.0, None, "-"], [3, None, None, None, None]]


def test_a_row_that_fails_is_null(server: Server, names: str) -> None:
    found = server.rows("SELECT id, PICKY(number) AS p FROM names EMIT CHANGES LIMIT 3;")
    assert found == [[1, 1], [2, None], [3, 2]]


def test_failures_are_in_the_processing_log(server: Server, names: str) -> None:
    """Those of calls for batches, of calls within a CASE, and of aggregates."""
    server.run(
        "CREATE TABLE failing AS SELECT 1 AS k, GEOMETRIC_MEAN(degrees) AS g, COUNT(PICKY(number)) AS a,"
        " COUNT(CASE WHEN id = 2 THEN PICKY(number + 100) END) AS b FROM names GROUP BY 1;"
    )
    found = server.rows(
        "SELECT message->recordProcessingError->cause[1] AS cause FROM ksql_processing_log"
        " WHERE logger LIKE '%CTAS_FAILING%' EMIT CHANGES LIMIT 3;",
        3,
    )
    causes = sorted(str(cause).split(" (")[0] for (cause,) in found)
    assert causes == ["ValueError: 103 is odd", "ValueError: 3 is odd", "ValueError: math domain error"]


def test_a_table_function_that_fails_gives_no_rows_and_the_others_go_on(server: Server, names: str) -> None:
    server.run(
        "CREATE STREAM halved AS SELECT id, HALVES(number) AS h, EXPLODE(ARRAY[id, id]) AS i FROM names;"
    )
    found = server.rows("SELECT id, h, i FROM halved EMIT CHANGES LIMIT 6;")
    assert found == [[1, 1, 1], [1, 1, 1], [2, None, 2], [2, None, 2], [3, 2, 3], [3, 2, 3]]
    (row,) = server.rows(
        "SELECT message->recordProcessingError->cause[1] AS cause, input->`offset` AS off"
        " FROM ksql_processing_log WHERE logger LIKE '%CSAS_HALVED%' EMIT CHANGES LIMIT 1;"
    )
    assert row[0].startswith("ValueError: 3 is odd") and row[1] is not None


def test_conditions_that_fail_do_not_hold(server: Server, names: str) -> None:
    found = server.rows("SELECT id FROM names WHERE NOT (PICKY(number) = 2) EMIT CHANGES LIMIT 1;")
    assert found == [[1]]


def test_branches_that_are_not_taken_are_not_called(server: Server, names: str) -> None:
    found = server.rows(
        "SELECT CASE WHEN number % 2 = 0 THEN PICKY(number) ELSE -1 END AS p,"
        " TRANSFORM(ARRAY[number, 8], x => PICKY(x)) AS t FROM names EMIT CHANGES LIMIT 3;"
    )
    assert found == [[1, [1, 4]], [-1, None], [2, [2, 4]]]


def test_structs_and_rows(server: Server, names: str) -> None:
    found = server.rows(
        "SELECT id, WIDTH(RANGE_OF(ARRAY[degrees, 1])) AS w, WORDS(COALESCE(name, 'x, y.')) AS word"
        " FROM names EMIT CHANGES LIMIT 5;"
    )
    assert found == [[1, 99.0, "ann"], [1, 99.0, "lee"], [2, 41.0, "bob"], [3, 0.0, "x"], [3, 0.0, "y"]]


def test_aggregates_of_streams_windows_and_sessions(server: Server) -> None:
    server.run(
        "CREATE STREAM sizes (k STRING KEY, weight DOUBLE, word STRING, ts BIGINT)"
        " WITH (kafka_topic='udf_sizes', value_format='JSON', partitions=1, timestamp='ts');"
        "CREATE TABLE means AS SELECT k, GEOMETRIC_MEAN(weight) AS g, MOST_COMMON(INITIALS(word)) AS m"
        " FROM sizes GROUP BY k HAVING WIDTH(STRUCT(low := 0, high := GEOMETRIC_MEAN(weight))) > 1;"
        "CREATE TABLE hourly AS SELECT k, MOST_COMMON(word) AS m FROM sizes"
        " WINDOW TUMBLING (SIZE 1 HOURS) GROUP BY k;"
        "CREATE TABLE visits AS SELECT k, MOST_COMMON(word) AS m, COUNT(*) AS n FROM sizes"
        " WINDOW SESSION (1 HOURS) GROUP BY k;"
        "INSERT INTO sizes VALUES ('a', 2, 'x', 0);"
        "INSERT INTO sizes VALUES ('a', 8, 'y', 5400000);"
        "INSERT INTO sizes VALUES ('b', 0, 'z', 0);"
        "INSERT INTO sizes VALUES ('a', -4, NULL, 3000000);"
        "INSERT INTO sizes VALUES ('a', 4, 'y', 3000000);"
    )
    server.until("SELECT k, ROUND(g, 6) AS g, m FROM means;", [["a", 4.0, "Y"]])
    server.until("SELECT k, m FROM visits;", [["a", "y"], ["b", "z"]])
    server.until("SELECT k, m FROM hourly;", [["a", "x"], ["a", "y"], ["b", "z"]])


def test_aggregates_of_tables_take_rows_back(server: Server) -> None:
    server.run(
        "CREATE TABLE users (id INT PRIMARY KEY, city STRING, weight DOUBLE)"
        " WITH (kafka_topic='udf_users', value_format='JSON', partitions=1);"
        "CREATE TABLE cities AS SELECT city, GEOMETRIC_MEAN(weight) AS g FROM users GROUP BY city;"
        "INSERT INTO users VALUES (1, 'ulm', 2);"
        "INSERT INTO users VALUES (2, 'ulm', 8);"
        "INSERT INTO users VALUES (1, 'bonn', 3);"
    )
    server.until("SELECT city, ROUND(g, 6) AS g FROM cities;", [["ulm", 8.0], ["bonn", 3.0]])
    with pytest.raises(KsqlError, match="MOST_COMMON"):
        server.run("CREATE TABLE nope AS SELECT city, MOST_COMMON(city) AS m FROM users GROUP BY city;")


def test_values_and_pull_queries(server: Server) -> None:
    server.run(
        "CREATE TABLE keyed (id INT PRIMARY KEY, name STRING)"
        " WITH (kafka_topic='udf_keyed', value_format='JSON', partitions=1);"
        "CREATE TABLE copied AS SELECT * FROM keyed;"
        "INSERT INTO keyed VALUES (1, INITIALS('one two'));"
    )
    server.until(
        "SELECT id, WORD_AT(CONCAT(name, ' ', INITIALS(name)), 2) AS w FROM copied WHERE id = 1;", [[1, "O"]]
    )


def test_statements_bring_functions(server: Server, names: str) -> None:
    (made,) = server.run(
        "CREATE FUNCTION greet (name STRING, times INT) RETURNS STRUCT<TEXT STRING, N INT>"
        " LANGUAGE PYTHON AS $$\n"
        "    text = ' '.join(['hi', name or '${nobody}'] * times)\n"
        "    return {'TEXT': text, 'N': len(text)}\n"
        "$$;"
    )
    assert made.command_status.message == "Function GREET created"
    server.run("CREATE STREAM greetings AS SELECT id, GREET(name, 1) AS g FROM names;")
    found = server.rows("SELECT id, g->text, g->n FROM greetings EMIT CHANGES LIMIT 3;")
    assert found == [[1, "hi ann lee", 10], [2, "hi bob", 6], [3, "hi ${nobody}", 12]]
    for change in (
        "DROP FUNCTION greet;",
        "CREATE OR REPLACE FUNCTION greet () RETURNS INT LANGUAGE PYTHON AS '1';",
    ):
        with pytest.raises(KsqlError, match=r"it is used by CSAS_GREETINGS_\d+"):
            server.run(change)
    server.run("DROP STREAM greetings; DROP FUNCTION greet;")
    with pytest.raises(KsqlError, match="name 'GREET'"):
        server.rows("SELECT GREET(name, 1) AS g FROM names EMIT CHANGES LIMIT 1;")


def test_a_module_in_a_statement(server: Server, names: str) -> None:
    code = "from ksql_spark.udf import scalar_function\n\n"
    code += "@scalar_function\ndef twice(n: int) -> int:\n    return 2 * n\n"
    server.run(f"CREATE FUNCTION twice LANGUAGE PYTHON AS $${code}$$;")
    server.run(f"CREATE OR REPLACE FUNCTION twice LANGUAGE PYTHON AS $${code.replace('2 *', '20 *')}$$;")
    found = server.rows("SELECT TWICE(number) AS n FROM names EMIT CHANGES LIMIT 1;")
    assert found == [[40]]


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("CREATE FUNCTION bad () RETURNS INT LANGUAGE PYTHON AS $$return ($$;", "SyntaxError"),
        ("CREATE FUNCTION bad LANGUAGE PYTHON AS $$x = 1$$;", "no function BAD"),
        (
            "CREATE FUNCTION bad (s STRING) RETURNS INT LANGUAGE PYTHON AS $$ def bad(s): return int(s) $$;",
            "never returns a value",
        ),
        ("CREATE FUNCTION ucase () RETURNS INT LANGUAGE PYTHON AS $$return 1$$;", "comes with the server"),
        ("CREATE FUNCTION initials () RETURNS INT LANGUAGE PYTHON AS $$return 1$$;", "text.py"),
        ("DROP FUNCTION ucase;", "comes with the server"),
        ("DROP FUNCTION initials;", "text.py"),
        ("DROP FUNCTION initial;", "Did you mean INITIALS"),
    ],
)
def test_statements_that_are_refused(server: Server, statement: str, reason: str) -> None:
    with pytest.raises(KsqlError, match=reason):
        server.run(statement)


HANGING = """
import os, time
from ksql_spark.udf import scalar_function

@scalar_function
def hangs(path: str) -> str:
    with open(path, "w") as file:
        file.write(str(os.getpid()))
    while True:
        time.sleep(60)
"""


def test_a_query_that_hangs_in_a_function_can_be_ended(server: Server, names: str, tmp_path: Path) -> None:
    server.run(f"CREATE FUNCTION hangs LANGUAGE PYTHON AS $${HANGING}$$;")
    said = tmp_path / "pid"
    query = f"SELECT HANGS('{said}') AS x FROM names WHERE id = 1 EMIT CHANGES;"
    stream = server.engine.query(Request(query, {"auto.offset.reset": "earliest"}))
    deadline = time.monotonic() + TIMEOUT_S
    while not (said.exists() and said.read_text()):
        assert stream.read(0.2) is not None
        assert time.monotonic() < deadline
    stream.close()
    process = psutil.Process(int(said.read_text())) if psutil.pid_exists(int(said.read_text())) else None
    if process is not None:
        process.wait(TIMEOUT_S)


def test_a_restart_brings_functions_and_queries_back(
    broker: EmbeddedBroker, spark_process: SparkProcess, tmp_path: Path
) -> None:
    extensions = tmp_path / "ext"  # the default, below the data folder
    extensions.mkdir()
    (extensions / "_mine.py").write_text(PICKY)
    config = {
        "bootstrap.servers": broker.bootstrap_servers,
        "ksql.spark.data.dir": str(tmp_path),
        "ksql.service.id": "restarted_functions_",
        "ksql.extension.modules": "_mine",
    }
    allowed = Config({**config, "ksql.create.function.enabled": "true"})
    allowing = Engine(allowed, spark_process)
    try:
        allowing.start()
        server = Server(allowing)
        server.run(
            "CREATE FUNCTION add_up LANGUAGE PYTHON AS $$"
            "from ksql_spark.udf import aggregate_function\n"
            "@aggregate_function\nclass AddUp:\n"
            "    def initialize(self) -> int: return 0\n"
            "    def aggregate(self, state: int, n: int) -> int: return state + n\n"
            "    def result(self, state: int) -> int: return state\n$$;"
            "CREATE STREAM numbers (k INT KEY, n BIGINT)"
            " WITH (kafka_topic='udf_numbers', value_format='JSON', partitions=1);"
            "CREATE TABLE sums AS SELECT k, ADD_UP(PICKY(n)) AS s FROM numbers GROUP BY k;"
            "INSERT INTO numbers VALUES (1, 4); INSERT INTO numbers VALUES (1, 5);"
        )
        server.until("SELECT k, s FROM sums;", [[1, 2]])
    finally:
        allowing.stop()
    later = Engine(allowed, spark_process)
    try:
        later.start()
        server = Server(later)
        server.run("INSERT INTO numbers VALUES (1, 20);")
        server.until("SELECT k, s FROM sums;", [[1, 12]])
    finally:
        later.stop()
    refusing = Engine(Config(config), spark_process)
    reports: list[str] = []
    try:
        refusing.start(reports.append)
        server = Server(refusing)
        assert any("ksql.create.function.enabled" in line for line in reports)
        (query,) = refusing.services.queries.all()
        assert query.state == "ERROR" and "ADD_UP" in query.errors[-1].message
        server.run("DROP FUNCTION add_up;")  # which gives up the statement that was not executed
        server.run("DROP TABLE sums DELETE TOPIC; DROP STREAM numbers DELETE TOPIC;")
    finally:
        refusing.stop()


def test_functions_are_one_servers(server: Server, engine: Engine) -> None:
    """Another engine in the same process knows none of them, and takes none by statement."""
    with pytest.raises(KsqlError, match="INITIALS"):
        engine.execute(Request("DESCRIBE FUNCTION initials;"))
    with pytest.raises(KsqlError, match=r"ksql\.create\.function\.enabled"):
        engine.execute(Request("CREATE FUNCTION one () RETURNS INT LANGUAGE PYTHON AS 'return 1';"))
