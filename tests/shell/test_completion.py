from __future__ import annotations

from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory

from ksql_spark.shell.prompt.completion import complete
from ksql_spark.shell.prompt.files import complete_file
from ksql_spark.shell.prompt.metadata import Metadata, MetadataCache
from ksql_spark.shell.prompt.repl import _Completer
from ksql_spark.shell.session import Session

PLACE = {
    "type": "STRUCT",
    "fields": [{"name": "LAT", "schema": {"type": "DOUBLE"}}, {"name": "lon", "schema": {"type": "DOUBLE"}}],
}
STOP = {
    "type": "STRUCT",
    "fields": [{"name": "NAME", "schema": {"type": "STRING"}}, {"name": "PLACE", "schema": PLACE}],
}
METADATA = Metadata(
    streams={"RIDES": ("VENDORID", "FARE")},
    tables={"ZONES": ("LOCATIONID", "BOROUGH")},
    functions=("UCASE", "COUNT"),
    queries=("CSAS_BIG_1",),
    topics=("rides", "my-topic"),
    properties=("auto.offset.reset", "ksql.max.push.queries"),
    types=("ADDRESS",),
    schemas={
        "RIDES": {"VENDORID": {"type": "INTEGER"}, "FARE": {"type": "DOUBLE"}},
        "ZONES": {"LOCATIONID": {"type": "INTEGER"}, "BOROUGH": {"type": "STRING"}},
        "TRIPS": {
            "ID": {"type": "BIGINT"},
            "LOCATIONID": {"type": "INTEGER"},
            "VENDORID": {"type": "INTEGER"},
            "STOPS": {"type": "ARRAY", "memberSchema": STOP},
            "LAST_STOP": STOP,
        },
    },
    keys={"RIDES": ("VENDORID",), "ZONES": ("LOCATIONID",), "TRIPS": ("ID",)},
    signatures={"UCASE": "(col STRING) → STRING  Upper case"},
)


def offered(text: str) -> list[str]:
    return [candidate.text for candidate in complete(text, METADATA, ["help", "output"])]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("sel", ["select"]),
        ("select * from ", ["rides"]),
        ("SEL", ["SELECT"]),
        ("hel", ["help"]),
        ("SHOW STREAMS; PRI", ["PRINT"]),
        ("SHOW ST", ["STREAMS"]),
        ("SHOW SERV", ["SERVICES"]),
        ("CREATE STREAM x (k INT KEY) WITH (INF", ["INFER"]),
        ("CREATE STREAM x (k INT KEY) WITH (STA", []),
        ("CREATE STREAM x WITH (STA", ["START"]),
        ("CREATE TABLE x WITH (EVOLVE = ", ["'backfill'"]),
        ("CREATE STREAM x WITH (INFER = '", ["sample'"]),
        ("INSERT INTO x WITH (Q", ["QUERY_ID"]),
        ("INSERT INTO x WITH (KAF", []),
        ("CREATE STREAM x (k INT KEY) WITH (REPLICATED = ", ["TRUE", "FALSE"]),
        ("show streams ", ["extended"]),
        ("DESCRIBE ", ["RIDES", "ZONES", "FUNCTION"]),
        ("DESCRIBE FUNCTION U", ["UCASE"]),
        ("DROP STREAM ", ["RIDES"]),
        ("DROP TABLE IF EXISTS ", ["ZONES"]),
        ("DROP TABLE ZONES ", ["DELETE TOPIC"]),
        ("TERMINATE ", ["CSAS_BIG_1", "ALL"]),
        ("EXPLAIN CS", ["CSAS_BIG_1"]),
        ("PRINT ", ["rides", "'my-topic'"]),
        ("PRINT 'my", ["my-topic'"]),
        ("PRINT rides FROM", ["FROM BEGINNING"]),
        ("SET 'auto", ["auto.offset.reset'"]),
        ("UNSET ", ["'auto.offset.reset'"]),
        ("INSERT INTO ", ["RIDES", "ZONES"]),
        ("INSERT INTO RIDES (", ["VENDORID", "FARE"]),
        ("UPDATE ", ["ZONES"]),
        ("UPDATE ZONES ", ["SET"]),
        ("UPDATE ZONES SET ", ["LOCATIONID", "BOROUGH"]),
        ("UPDATE ZONES SET BOROUGH = 'x' WHERE L", ["LOCATIONID"]),
        ("DELETE ", ["FROM"]),
        ("TRUNCATE TABLE ", ["ZONES"]),
        ("DELETE FROM ", ["ZONES"]),
        ("DELETE FROM ZONES ", ["WHERE"]),
        ("DELETE FROM ZONES WHERE ", ["LOCATIONID", "BOROUGH"]),
        ("SELECT * FROM r", ["rides"]),
        ("SELECT * FROM RIDES r JOIN ", ["RIDES", "ZONES"]),
        ("SELECT * FROM RIDES r JOIN ZONES z FOR SYSTEM_TIME ", ["AS OF"]),
        ("SELECT * FROM RIDES r JOIN ZONES z FOR SYSTEM_TIME AS OF ", ["CURRENT_TIMESTAMP"]),
        ("SELECT * FROM RIDES r JOIN ZONES z FOR SYSTEM_TIME AS OF CURR", ["CURRENT_TIMESTAMP"]),
        ("SELECT * FROM RIDES r JOIN ZONES z FOR SYSTEM_TIME AS OF r.", ["VENDORID", "FARE"]),
        ("SELECT * FROM RIDES WHERE ", ["VENDORID", "FARE"]),
        ("SELECT * FROM `RIDES` WHERE v", ["vendorid"]),
        ("SELECT z. FROM RIDES r JOIN ZONES z ON r.", ["VENDORID", "FARE"]),
        ("SELECT * FROM RIDES r JOIN ZONES AS z ON z.", ["LOCATIONID", "BOROUGH"]),
        ("SELECT ", ["VENDORID", "FARE", "LOCATIONID", "BOROUGH"]),
        ("SELECT uc", ["ucase("]),
        ("SELECT * FROM RIDES EMIT ", ["CHANGES", "FINAL"]),
        ("SELECT COUNT(*) FROM RIDES GROUP ", ["BY"]),
        ("SELECT COUNT(*) FROM RIDES WINDOW ", ["TUMBLING ("]),
        ("CREATE ", ["STREAM", "TABLE"]),
        ("CREATE STREAM s (a BIG", ["BIGINT"]),
        ("CREATE STREAM s (a ADD", ["ADDRESS"]),
        ("CREATE STREAM s (a INT) WITH (KAFKA", ["KAFKA_TOPIC"]),
        ("CREATE STREAM s WITH (KAFKA_TOPIC='r", ["rides'"]),
        ("CREATE STREAM s WITH (VALUE_FORMAT='J", ["JSON'", "JSON_SR'"]),
        ("CREATE STREAM s WITH (VALUE_FORMAT=", ["'JSON'", "'AVRO'"]),
        ("CREATE STREAM s WITH (KAFKA_TOPIC = ", ["'rides'", "'my-topic'"]),
        ("CREATE STREAM s WITH (FORMAT='JSON', WRAP_SINGLE_VALUE=", ["TRUE", "FALSE"]),
        ("CREATE STREAM s WITH (WINDOW_TYPE='s", ["SESSION'"]),
        ("SELECT last_stop->", ["NAME", "PLACE"]),
        ("SELECT * FROM trips t WHERE t.last_stop->pl", ["place"]),
        ("SELECT * FROM trips t WHERE t.last_stop->place->", ["LAT", "`lon`"]),
        ("SELECT * FROM trips WHERE stops[1 + 1]->place->l", ["lat"]),
        ("SELECT * FROM trips WHERE id->", []),
        ("SELECT * FROM trips t JOIN zones z ON ", ["t.LOCATIONID = z.LOCATIONID"]),
        ("SELECT * FROM trips AS t JOIN rides ON t", ["t.VENDORID = rides.VENDORID"]),
        ("SELECT * FROM rides r JOIN zones z ON ", ["r.VENDORID = z.LOCATIONID"]),
    ],
)
def test_offers(text: str, first: list[str]) -> None:
    assert offered(text)[: len(first)] == first


@pytest.mark.parametrize("text", ["-- sel", "SELECT 'abc", "SELECT * FROM RIDES -- WHE"])
def test_offers_nothing_in_comments_and_strings(text: str) -> None:
    assert offered(text) == []


def test_file_names(tmp_path: Path) -> None:
    for name in ("one.sql", "Other.sql", ".hidden"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()

    def names(text: str) -> list[str] | None:
        found = complete_file(text)
        return None if found is None else [candidate.text for candidate in found]

    assert names(f"RUN SCRIPT '{tmp_path}/") == ["folder/", "one.sql'", "Other.sql'"]
    assert names(f"spool {tmp_path}/o") == ["one.sql"]
    assert names(f"\\o {tmp_path}/.h") == [".hidden"]
    assert names("run script /no/such/") == []
    assert names("SELECT * FROM ") is names(f"RUN SCRIPT '{tmp_path}/one.sql';") is None


def test_commands_with_a_backslash() -> None:
    assert [c.text for c in complete("SHOW TOPICS; \\d", METADATA, ["help", "\\d", "\\dt"])] == ["\\dt"]


def test_the_menu_says_what_a_candidate_is() -> None:
    def meta(text: str) -> str:
        return complete(text, METADATA)[0].meta

    assert meta("SELECT uca") == "(col STRING) → STRING  Upper case"
    assert meta("SELECT * FROM rides WHERE far") == "DOUBLE"
    assert (meta("SELECT * FROM rid"), meta("SELECT * FROM zon")) == ("stream", "table")


def test_replaces_what_was_typed() -> None:
    (candidate,) = complete("SELECT * FROM rid", METADATA)
    assert (candidate.text, candidate.length, candidate.kind) == ("rides", 3, "source")


def test_never_fails() -> None:
    text = (
        "CREATE STREAM s AS SELECT a, UCASE(`b`) FROM RIDES r JOIN ZONES AS z ON r.a = z.b WHERE x = 'it''s';"
    )
    for end in range(len(text) + 1):
        complete(text[:end], METADATA)
        complete(text[end:], METADATA)
        complete(text[:end], METADATA, after=text[end:])
        complete(text[end:], METADATA, after=text[:end])
    for text in ("->", "]->", "a]->", "SELECT x FROM -> ON", "SELECT * FROM rides JOIN ON ", "ON "):
        complete(text, METADATA)


def test_metadata_of_a_server(session: Session) -> None:
    metadata = MetadataCache(session.client).fetch()
    assert metadata.streams == {"RIDES": ("VENDORID", "FARE_AMOUNT", "ZONE")}
    assert metadata.tables == {"ZONES": ("VENDORID", "FARE_AMOUNT", "ZONE")}
    assert metadata.queries == ("CSAS_BIG_1",)
    assert metadata.topics == ("rides",)
    assert "auto.offset.reset" in metadata.properties
    assert metadata.functions == ("UCASE",)
    assert metadata.keys == {"RIDES": ("VENDORID",), "ZONES": ("VENDORID",)}
    assert metadata.schemas["RIDES"]["ZONE"]["type"] == "STRING"


def test_metadata_without_a_server() -> None:
    from ksql_spark.shell.client import Client

    assert MetadataCache(Client("127.0.0.1:1")).fetch() == Metadata()


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("SELECT q. FROM (SELECT FARE AS f, COUNT(*) AS n FROM RIDES) q WHERE q.", ["F", "N"]),
        ("SELECT * FROM (SELECT FARE FROM RIDES GROUP BY FARE) AS q WHERE ", ["FARE"]),
        ("SELECT * FROM (SELECT z.* FROM ZONES z JOIN RIDES r ON r.VENDORID = z.LOCATIONID) q WHERE q.", [
            "LOCATIONID", "BOROUGH"
        ]),
        ("SELECT * FROM (SELECT LAST_STOP AS s FROM TRIPS) q WHERE q.s->", ["NAME", "PLACE"]),
        ("SELECT * FROM (SELECT * FROM ZONES WHERE ", ["LOCATIONID", "BOROUGH"]),
        ("SELECT * FROM RIDES r JOIN (SELECT BOROUGH FROM ZONES) z ON z.", ["BOROUGH"]),
        ("WITH big AS (SELECT FARE AS much FROM RIDES) SELECT * FROM big b WHERE b.", ["MUCH"]),
        ("WITH a AS (SELECT FARE FROM RIDES), b AS (SELECT * FROM a) SELECT * FROM b WHERE b.", ["FARE"]),
        ("WITH big AS (SELECT FARE FROM RIDES) SELECT * FROM BI", ["BIG"]),
        ("CREATE STREAM x AS WITH a AS (SELECT FARE AS much FROM RIDES) SELECT 1 FROM a WHERE a.", ["MUCH"]),
    ],
)  # fmt: skip
def test_columns_of_sub_queries(text: str, first: list[str]) -> None:
    found = offered(text)
    assert found[: len(first)] == first
    assert not any("__QUERY" in one for one in found)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("SELECT | FROM RIDES", ["VENDORID", "FARE", "FROM"]),
        ("SELECT z.| FROM RIDES r JOIN ZONES AS z ON r.VENDORID = z.LOCATIONID;", ["LOCATIONID", "BOROUGH"]),
        ("SELECT r.f|a FROM RIDES r;", ["fare"]),
        ("SELECT UCASE(r.| FROM RIDES r", ["VENDORID", "FARE"]),
        ("SELECT UCASE(r.|) FROM RIDES r", ["VENDORID", "FARE"]),
        ("SELECT FARE, | FROM (SELECT FARE AS much FROM RIDES) q", ["MUCH"]),
        ("SELECT q.| FROM TRIPS t JOIN (SELECT FARE FROM RIDES) q ON 1 = 1", ["FARE"]),
        ("SELECT * FROM (SELECT r.| FROM RIDES r) q JOIN ZONES r ON r.BOROUGH = q.x", ["VENDORID", "FARE"]),
        ("SELECT q.x, | FROM (SELECT FARE FROM RIDES) q", ["FARE"]),
        ("WITH big AS (SELECT FARE AS much FROM RIDES) SELECT b.| FROM big b EMIT CHANGES;", ["MUCH"]),
        ("WITH big AS (SELECT r.| FROM RIDES r) SELECT * FROM big", ["VENDORID", "FARE"]),
        ("CREATE STREAM x AS SELECT z.| FROM ZONES z EMIT CHANGES;", ["LOCATIONID", "BOROUGH"]),
        ("INSERT INTO x SELECT z.| FROM ZONES z;", ["LOCATIONID", "BOROUGH"]),
        ("SELECT t.LAST_STOP->| FROM TRIPS t", ["NAME", "PLACE"]),
        ("SELECT LAST_STOP->place->| FROM TRIPS", ["LAT", "`lon`"]),
        ("SELECT * FROM TRIPS t JOIN ZONES z ON | JOIN RIDES r ON 1", ["t.LOCATIONID = z.LOCATIONID"]),
        # what belongs to another statement
        ("SELECT x.|; SELECT * FROM RIDES x;", []),
        ("SELECT x.|\n\nSELECT * FROM RIDES x;", []),
        ("SELECT x.|\nCREATE STREAM y AS SELECT * FROM RIDES x;", []),
        ("SELECT * FROM RIDES x; SELECT x.| FROM ZONES x; SELECT * FROM TRIPS x;", ["LOCATIONID", "BOROUGH"]),
        ("SELECT x.| -- FROM TRIPS x\n, 'FROM TRIPS x;' FROM ZONES x", ["LOCATIONID", "BOROUGH"]),
    ],
)  # fmt: skip
def test_columns_of_sources_that_are_named_after_the_cursor(text: str, first: list[str]) -> None:
    before, after = text.split("|")
    found = [candidate.text for candidate in complete(before, METADATA, after=after)]
    assert found[: len(first)] == first and (first or not found)
    assert not any("__QUERY" in one for one in found)


def test_tab_reads_on_after_the_cursor(session: Session) -> None:
    cache = MetadataCache(session.client)
    cache.current = METADATA
    document = Document("SELECT z. FROM ZONES z;", len("SELECT z."))
    found = _Completer(cache, InMemoryHistory()).get_completions(document, CompleteEvent())
    assert [one.text for one in found] == ["LOCATIONID", "BOROUGH"]


@pytest.mark.parametrize(
    "text", ["SELECT ((", "SELECT )) FROM", "FROM (SELECT", "(SELECT) ", "WITH (SELECT "]
)
def test_any_nesting_is_no_problem(text: str) -> None:
    offered(text)
    offered(f"SELECT * FROM (SELECT , {text}")
    for before in ("", "SELECT ", "SELECT (", "SELECT * FROM (SELECT "):
        complete(before, METADATA, after=f" {text}")


def test_what_was_used_more_comes_first_among_its_kind() -> None:
    found = complete("SELECT * FROM RIDES WHERE ", METADATA, used={"FARE": 3, "WHERE": 9})
    assert [one.text for one in found[:2]] == ["FARE", "VENDORID"]
    found = complete("SELECT ", METADATA, used={"COUNT": 1})
    assert [one.text for one in found if one.kind == "function"] == ["COUNT(", "UCASE("]


def test_connectors() -> None:
    metadata = Metadata(connectors=("ORDERS_IN", "jdbc-out"))
    for text in ("DESCRIBE CONNECTOR ", "drop connector if exists "):
        assert [one.text for one in complete(text, metadata)][:2] == ["ORDERS_IN", "`jdbc-out`"]


@pytest.mark.parametrize("address", [None, "http://127.0.0.1:8083"])
def test_a_question_does_not_start_connect(session: Session, address: str | None) -> None:
    asked: list[str] = []

    def run(text: str) -> list[dict[str, object]]:
        asked.append(text)
        services = [{"name": "Connect", "address": address, "startedHere": True}]
        answers = {
            "SHOW SERVICES;": {"services": services},
            "SHOW CONNECTORS;": {"connectors": [{"name": "C"}]},
        }
        return [answers.get(text, {})]

    session.client.run = run  # type: ignore[method-assign,assignment]
    assert MetadataCache(session.client).fetch().connectors == (("C",) if address else ())
    assert ("SHOW CONNECTORS;" in asked) is (address is not None)
