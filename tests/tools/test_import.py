"""``ksql-spark import`` between two servers of ours, which run on fakes of Kafka and Spark."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ksql_spark import grammar
from ksql_spark.shell import local
from ksql_spark.shell.client import Client
from ksql_spark.shell.main import main
from ksql_spark.tools.importer import items as reading
from ksql_spark.tools.importer import main as importer
from ksql_spark.tools.importer.items import Item
from tests.server.live_server import LiveServer
from tests.statements.world import World
from tests.tools.world_engine import WorldEngine

DECLARED = [
    "CREATE TYPE address AS STRUCT<street STRING, city STRING>",
    "CREATE TYPE money AS DECIMAL(10, 2)",
    "CREATE TYPE tags AS ARRAY<STRING>",
    "CREATE TYPE scores AS MAP<STRING, BIGINT>",
    "CREATE TYPE `Mixed` AS STRUCT<`lower` INT, deep STRUCT<a ARRAY<DECIMAL(4, 1)>>>",
    *(
        f"CREATE STREAM s{n} (id INT KEY, v BIGINT, name STRING, price money) "
        f"WITH (KAFKA_TOPIC = 's{n}', VALUE_FORMAT = 'JSON', PARTITIONS = {n})"
        for n in range(1, 13)
    ),
    "CREATE STREAM people (id INT KEY, home address, labels tags, points scores) "
    "WITH (KAFKA_TOPIC = 'people', FORMAT = 'JSON', PARTITIONS = 2)",
    "CREATE STREAM `mixed-Case` (`Id` INT KEY, v BIGINT) "
    "WITH (KAFKA_TOPIC = 'm', FORMAT = 'JSON', PARTITIONS = 1)",
    "CREATE STREAM timed (id INT KEY, moment STRING) WITH (KAFKA_TOPIC = 'timed', "
    "VALUE_FORMAT = 'DELIMITED', PARTITIONS = 1, "
    "TIMESTAMP = 'moment', TIMESTAMP_FORMAT = 'yyyy-MM-dd''T''HH:mm:ss')",
    *(
        f"CREATE TABLE t{n} (id INT PRIMARY KEY, v BIGINT, city STRING) "
        f"WITH (KAFKA_TOPIC = 't{n}', VALUE_FORMAT = 'JSON', PARTITIONS = 1)"
        for n in range(1, 11)
    ),
    # named so that the alphabet is the wrong order
    "CREATE STREAM z_first AS SELECT * FROM s1 WHERE v > 1",
    "CREATE STREAM m_second AS SELECT id, v + 1 AS w FROM z_first",
    "CREATE STREAM a_third AS SELECT id, w * 2 AS x FROM m_second",
    "CREATE TABLE counts AS SELECT name, COUNT(*) AS n FROM s2 GROUP BY name",
    "CREATE TABLE busy AS SELECT name, n FROM counts WHERE n > 10",
    "CREATE TABLE per_minute AS SELECT id, SUM(v) AS total FROM s3 "
    "WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY id",
    "CREATE TABLE final AS SELECT id, SUM(v) AS total FROM s3 "
    "WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 5 SECONDS) GROUP BY id EMIT FINAL",
    "CREATE STREAM enriched AS SELECT s.id AS id, s.v AS v, t.city AS city FROM s1 s "
    "LEFT JOIN t1 t ON s.id = t.id",
    "CREATE STREAM pairs AS SELECT a.id AS id, a.v AS av, b.v AS bv FROM s1 a "
    "JOIN z_first b WITHIN 1 HOUR GRACE PERIOD 1 MINUTE ON a.id = b.id",
    "CREATE TABLE both AS SELECT a.id AS id, a.v AS av, b.v AS bv FROM t1 a JOIN t2 b ON a.id = b.id",
    "CREATE TABLE aggregated AS SELECT city, COUNT(*) AS n FROM t3 GROUP BY city",
    "CREATE STREAM rekeyed WITH (KAFKA_TOPIC = 'other', PARTITIONS = 3) AS "
    "SELECT * FROM s4 PARTITION BY name",
    "CREATE STREAM exploded AS SELECT id, EXPLODE(labels) AS label FROM people",
    "CREATE STREAM everything (id INT KEY, v BIGINT) "
    "WITH (KAFKA_TOPIC = 'everything', FORMAT = 'JSON', PARTITIONS = 1)",
    "CREATE STREAM `from-mixed` AS SELECT * FROM `mixed-Case`",
    "INSERT INTO everything SELECT id, v FROM s5",
    "INSERT INTO everything SELECT id, v FROM s6 WHERE v > 3",
    "CREATE STREAM of_all AS SELECT * FROM everything",
    "CREATE TABLE of_counts AS SELECT name, COUNT(*) AS n FROM s7 GROUP BY name HAVING COUNT(*) > 2",
    "CREATE SOURCE STREAM read_only (id INT KEY, v BIGINT) WITH (KAFKA_TOPIC = 's1', VALUE_FORMAT = 'JSON')",
]


class Sides:
    """Two servers: the one to read, and ours."""

    def __init__(self, origin: World, here: World, urls: tuple[str, str]) -> None:
        self.origin, self.here = origin, here
        self.from_url, self.to_url = urls

    def run(self, *more: str) -> int:
        return main(["import", "--from", self.from_url, "--server", self.to_url, *more])

    def have(self, world: World) -> list[tuple[str, str, str]]:
        sources = [(s.kind, s.name, str(s.schema)) for s in world.services.metastore.sources()]
        queries = [("QUERY", "", grammar.render(grammar.parse_one(q.statement))) for q in world.queries.all()]
        return sorted(sources) + sorted(queries)


@pytest.fixture
def sides(tmp_path: Path) -> Iterator[Sides]:
    # no Connect cluster that happens to run on this machine
    alone = {"ksql.connect.url": "http://127.0.0.1:1"}
    origin, here = World(tmp_path / "origin", **alone), World(tmp_path / "here", **alone)
    with LiveServer(WorldEngine(origin)) as first, LiveServer(WorldEngine(here)) as second:
        yield Sides(origin, here, (first.url, second.url))
    origin.close()
    here.close()


def test_fifty_statements_are_created_in_order_and_once(
    sides: Sides, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(DECLARED) == 50
    for text in DECLARED:
        sides.origin.run(f"{text};", **{"auto.offset.reset": "earliest"})
    assert sides.run() == 0
    report = capsys.readouterr().out.splitlines()
    assert report[-1] == "50 statements: 50 created"
    assert all(line.startswith("created  ") for line in report[:-1])
    position = {line.split(" ", 2)[-1]: n for n, line in enumerate(report)}
    assert position["STREAM Z_FIRST"] < position["STREAM M_SECOND"] < position["STREAM A_THIRD"]
    assert position["TABLE COUNTS"] < position["TABLE BUSY"]
    assert sides.have(sides.here) == sides.have(sides.origin)
    assert len(sides.here.ids()) == 18
    starts = {q.properties.get("ksql.streams.auto.offset.reset") for q in sides.here.queries.all()}
    assert starts == {"earliest"}

    log = list(sides.here.log.records)
    assert sides.run() == 0
    assert capsys.readouterr().out.splitlines()[-1] == "50 statements: 50 already there"
    assert sides.here.log.records == log


def test_columns_that_were_added_come_with_their_source(
    sides: Sides, capsys: pytest.CaptureFixture[str]
) -> None:
    sides.origin.run(f"{DECLARED[1]}; {DECLARED[5]}; ALTER STREAM s1 ADD COLUMN more INT, most money;")
    sides.origin.run("ALTER STREAM s1 ADD COLUMN `last` INT; CREATE STREAM b AS SELECT id, `last` FROM s1;")
    statement = sides.origin.one("DESCRIBE s1;")["sourceDescription"]["statement"]
    assert statement == (
        f"{DECLARED[5]};\nALTER STREAM s1 ADD COLUMN more INT, most money;\n"
        "ALTER STREAM s1 ADD COLUMN `last` INT;"
    )
    assert sides.run() == 0
    assert capsys.readouterr().out.splitlines()[-1] == "3 statements: 3 created"
    assert sides.have(sides.here) == sides.have(sides.origin)
    assert sides.here.one("DESCRIBE s1;")["sourceDescription"]["statement"].count("ALTER STREAM") == 2


def test_a_dry_run_prints_statements_that_a_file_can_have(
    sides: Sides, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in DECLARED:
        sides.origin.run(f"{text};")
    assert sides.run("--dry-run") == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == "50 statements: 50 to be created"
    assert sides.have(sides.here) == []
    sides.here.run(printed.rsplit("\n", 2)[0])
    assert len(sides.here.services.metastore.sources()) == 43


def test_which_server_changes_is_told(
    sides: Sides, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless --server names it, or nothing changes."""
    monkeypatch.setattr(local, "DEFAULT_URL", sides.to_url)
    monkeypatch.setattr(local, "is_running", lambda: True)
    sides.origin.run(f"{DECLARED[1]};")
    assert main(["import", "--from", sides.from_url]) == 0
    assert capsys.readouterr().err == f"server: {sides.to_url} (--server URL names another one)\n"
    assert main(["import", "--from", sides.from_url, "--dry-run"]) == 0
    assert sides.run() == 0
    assert main(["state", "rebuild", "NONE"]) == 1
    assert main(["branch", "drop", "dev"]) == 2
    assert capsys.readouterr().err.count("server: ") == 2


def test_what_fails_is_told_and_what_needs_it_is_not_tried(
    sides: Sides, capsys: pytest.CaptureFixture[str]
) -> None:
    sides.origin.run(f"{DECLARED[5].replace(' money', ' INT')}; CREATE STREAM c AS SELECT * FROM s1;")
    sides.origin.run("CREATE STREAM d AS SELECT * FROM c; CREATE STREAM e (v INT) WITH (KAFKA_TOPIC = 'e', "
                     "VALUE_FORMAT = 'JSON', PARTITIONS = 1);")  # fmt: skip
    sides.here.run(
        "CREATE STREAM s1 (a INT) WITH (KAFKA_TOPIC = 'x', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
    )
    assert sides.run() == 1
    assert capsys.readouterr().out.splitlines() == [
        "created  STREAM E",
        "failed   STREAM S1: a stream of that name exists with other columns",
        "failed   STREAM C: not tried: it needs S1",
        "failed   STREAM D: not tried: it needs C",
        "4 statements: 1 created, 3 failed",
    ]


def test_where_queries_begin_can_be_said(sides: Sides) -> None:
    sides.origin.run(f"{DECLARED[5].replace(' money', ' INT')}; CREATE STREAM c AS SELECT * FROM s1;",
                     **{"auto.offset.reset": "earliest"})  # fmt: skip
    assert sides.run("--offset", "latest") == 0
    (query,) = sides.here.queries.all()
    assert query.properties == {"ksql.streams.auto.offset.reset": "latest"}


class KsqlDb:
    """What a ksqlDB server answers, as a client sees it."""

    def __init__(self, **answers: list[dict[str, Any]]) -> None:
        self.answers = answers

    def run(self, statement: str, settings: object = None) -> list[dict[str, Any]]:
        return self.answers.get(statement.split()[1].rstrip(";").lower(), [])


def test_ksqldb_stores_more_than_it_takes() -> None:
    statement = (
        "CREATE OR REPLACE STREAM IF NOT EXISTS S (ID INTEGER KEY, V STRING) WITH (CLEANUP_POLICY='delete', "
        "KAFKA_TOPIC='s', KEY_FORMAT='KAFKA', PARTITIONS=1, VALUE_FORMAT='JSON');"
    )
    described = {"name": "S", "statement": statement, "fields": []}
    log = {"name": "KSQL_PROCESSING_LOG", "statement": "CREATE STREAM …", "fields": []}
    server = KsqlDb(streams=[{"@type": "source_descriptions", "sourceDescriptions": [described, log]}])
    (item,) = reading.read(server)  # type: ignore[arg-type]
    assert "CLEANUP_POLICY" not in item.text and "REPLACE" not in item.text and "EXISTS" not in item.text
    assert "KEY_FORMAT" in item.text and item.text.startswith("CREATE STREAM S (")


def test_a_circle_of_queries_has_an_end() -> None:
    items = [
        Item("QUERY", "INSERTQUERY_3", "", "", frozenset({"B", "A"})),
        Item("QUERY", "INSERTQUERY_1", "", "", frozenset({"A", "B"})),
        Item("STREAM", "B", "", "", frozenset({"A"})),
        Item("STREAM", "A", "", "", frozenset({"B"})),
    ]
    assert [item.name for item in reading.in_order(items)] == ["A", "B", "INSERTQUERY_1", "INSERTQUERY_3"]


def test_the_other_server_is_asked_with_its_own_password(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def asked(client: Client, text: str, settings: object = None) -> list[dict[str, Any]]:
        seen.append((client.url, client._connection._http.auth))
        return []

    monkeypatch.setattr(Client, "run", asked)
    monkeypatch.setattr(Client, "info", lambda client: {})
    argv = ["import", "--from", "other:1", "--from-user", "u", "--from-password", "p", "--server", "here:2"]
    assert main(argv) == 0
    (auth,) = {getattr(auth, "_auth_header", None) for url, auth in seen if url == "http://other:1"}
    assert auth == "Basic " + base64.b64encode(b"u:p").decode()
    assert {auth for url, auth in seen if url == "http://here:2"} == {None}


def test_a_server_that_does_not_answer(sides: Sides, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "--from", "http://127.0.0.1:1", "--server", sides.to_url]) == 1
    assert "No server answers at http://127.0.0.1:1" in capsys.readouterr().err


class Functions:
    """A server that only has functions: by name, the file that defines them."""

    def __init__(self, **paths: str) -> None:
        self._paths = paths

    def run(self, statement: str) -> list[dict[str, Any]]:
        if statement.startswith("SHOW FUNCTIONS"):
            return [{"functions": [{"name": name} for name in self._paths]}]
        name = statement.removeprefix("DESCRIBE FUNCTION ").strip("`;")
        return [{"path": self._paths[name]}] if name in self._paths else []


def test_jars_of_missing_functions_are_named() -> None:
    old: Any = Functions(A="/udf/x.jar", ABS="internal", B="/udf/x.jar", ODD="internal")
    new: Any = Functions(ABS="internal")
    assert importer._omissions(old, new) == [
        "the function ODD does not exist here; queries that call it fail",
        "the functions A, B are in /udf/x.jar of the other server: copy that jar to the folder of"
        " ksql.extension.dir and restart this server; until then, queries that call them fail",
    ]
