from __future__ import annotations

from decimal import Decimal

import pytest

from ksql_spark.engine import ResultColumn, Row
from ksql_spark.errors import KsqlError
from ksql_spark.server.errors import RequestError
from ksql_spark.server.streaming.responses import accepted
from tests.server.app_client import AppClient
from tests.server.fake_engine import FakeEngine, FakeStream

FRAMES = "application/vnd.ksql.v1+json"
DELIMITED = "application/vnd.ksqlapi.delimited.v1"
PROTOBUF = "application/vnd.ksql.v1+protobuf"
COLUMNS = [ResultColumn("K", "STRING", True), ResultColumn("a`b", "DECIMAL(4, 2)")]


def post(client: AppClient, accept: str | None = None, path: str = "/query-stream") -> tuple[str, str]:
    member = "sql" if path == "/query-stream" else "ksql"
    response = client.post(path, json={member: "SELECT"}, headers={"Accept": accept} if accept else {})
    assert response.status_code == 200
    return response.headers["content-type"], response.text


def test_delimited_is_the_default(client: AppClient, engine: FakeEngine) -> None:
    engine.next_stream = FakeStream(
        "PUSH",
        COLUMNS,
        [Row(["a", Decimal("1.10")]), Row(["a", None], tombstone=True)],
        final_message="Limit Reached",
    )
    assert post(client) == (
        DELIMITED,
        '{"queryId":"transient_RIDES_1","columnNames":["K","a`b"],"columnTypes":["STRING","DECIMAL(4, 2)"]}\n'
        '["a",1.10]\n',
    )


def test_frames_of_a_push_query(client: AppClient, engine: FakeEngine) -> None:
    engine.next_stream = FakeStream(
        "PUSH", COLUMNS, [Row(["a", 1]), Row(["a", None], tombstone=True)], final_message="Limit Reached"
    )
    assert post(client, FRAMES) == (
        FRAMES,
        '[{"header":{"queryId":"transient_RIDES_1","schema":"`K` STRING, `a``b` DECIMAL(4, 2)"}},\n'
        '{"row":{"columns":["a",1]}},\n'
        '{"row":{"columns":["a",null],"tombstone":true}},\n'
        '{"finalMessage":"Limit Reached"}]\n',
    )


def test_frames_of_a_pull_query_flag_the_key_and_have_no_final_message(
    client: AppClient, engine: FakeEngine
) -> None:
    engine.next_stream = FakeStream(
        "PULL", COLUMNS, [Row(["a", 1]), Row(["b", 2])], final_message="Query Completed"
    )
    assert post(client, FRAMES)[1] == (
        '[{"header":{"queryId":"transient_RIDES_1","schema":"`K` STRING KEY, `a``b` DECIMAL(4, 2)"}},\n'
        '{"row":{"columns":["a",1]}},\n'
        '{"row":{"columns":["b",2]}}]\n'
    )


def test_frames_end_with_a_message_even_where_the_engine_has_none(
    client: AppClient, engine: FakeEngine
) -> None:
    engine.next_stream = FakeStream("STREAM_PULL", COLUMNS)
    assert post(client, FRAMES)[1].endswith('{"finalMessage":"Query Completed"}]\n')


def test_json_array(client: AppClient, engine: FakeEngine) -> None:
    engine.next_stream = FakeStream("PULL", COLUMNS, [Row(["a", 1])])
    assert post(client, "application/json") == (
        "application/json",
        '[{"queryId":"transient_RIDES_1","columnNames":["K","a`b"],'
        '"columnTypes":["STRING","DECIMAL(4, 2)"]},\n'
        '["a",1]]\n',
    )


def test_query_speaks_frames(client: AppClient, engine: FakeEngine) -> None:
    engine.next_stream = FakeStream("PULL", COLUMNS)
    content_type, text = post(client, "application/json", "/query")
    assert content_type == FRAMES
    assert text.startswith('[{"header":')


@pytest.mark.parametrize("path", ["/query", "/query-stream"])
def test_frames_with_messages(client: AppClient, engine: FakeEngine, path: str) -> None:
    columns = [ResultColumn("K", "STRING", True)]
    rows = [Row(["a"]), Row(["b"], tombstone=True)]
    engine.next_stream = FakeStream("PUSH", columns, rows, final_message="Limit Reached")
    assert post(client, PROTOBUF, path) == (
        PROTOBUF,
        '[{"header":{"queryId":"transient_RIDES_1","schema":"`K` STRING",'
        '"protoSchema":"syntax = \\"proto3\\";\\n\\nmessage ConnectDefault1 {\\n  string K = 1;\\n}\\n"}},\n'
        '{"row":{"protobufBytes":"CgFh"}},\n'
        '{"row":{"protobufBytes":"CgFi","tombstone":true}},\n'
        '{"finalMessage":"Limit Reached"}]\n',
    )


def test_a_query_whose_columns_have_no_message_is_closed(client: AppClient, engine: FakeEngine) -> None:
    engine.next_stream = FakeStream("PUSH", COLUMNS)
    response = client.post("/query-stream", json={"sql": "SELECT"}, headers={"Accept": PROTOBUF})
    assert (response.status_code, response.json()["error_code"]) == (400, 40001)
    assert "Illegal initial character or name: a`b" in response.json()["message"]
    assert response.json()["statementText"] == "SELECT;"
    assert engine.streams[0].closed.is_set()


def test_many_rows_come_whole_and_in_order(client: AppClient, engine: FakeEngine) -> None:
    engine.next_stream = FakeStream("PULL", COLUMNS, [Row([str(n), n]) for n in range(10_001)])
    lines = post(client)[1].splitlines()
    assert lines[1:] == [f'["{n}",{n}]' for n in range(10_001)]


def test_error_before_the_first_byte_has_a_status(client: AppClient) -> None:
    response = client.post("/query-stream", json={"sql": "SELECT * FROM NOWHERE;"})
    assert (response.status_code, response.json()["error_code"]) == (400, 40001)


def test_an_error_of_a_known_look_up_has_its_statement(
    client: AppClient, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise KsqlError("INVALID_STATEMENT", reason="no key of this table")

    monkeypatch.setattr(engine, "look_up", refuse)
    error = client.post("/query", json={"ksql": "SELECT * FROM t WHERE k = 1;"}).json()
    assert (error["error_code"], error["statementText"]) == (40001, "SELECT * FROM t WHERE k = 1;")


@pytest.mark.parametrize(
    ("accept", "tail"),
    [
        (
            DELIMITED,
            '["a",1]\n{"@type":"generic_error","error_code":50000,"message":"Kafka at k:1 does ',
        ),
        (
            FRAMES,
            '{"row":{"columns":["a",1]}},\n{"errorMessage":{"@type":"generic_error","error_code":50000,',
        ),
        ("application/json", '["a",1],\n{"@type":"generic_error","error_code":50000,'),
    ],
)
def test_later_error_is_in_band(client: AppClient, engine: FakeEngine, accept: str, tail: str) -> None:
    failure = KsqlError("BROKER_UNREACHABLE", servers="k:1", reason="x")
    engine.next_stream = FakeStream("PUSH", COLUMNS, [Row(["a", 1])], error=failure)
    text = post(client, accept)[1]
    assert tail in text
    assert text.endswith("\n" if accept == DELIMITED else "]\n")
    assert "finalMessage" not in text


def test_unexpected_error_in_band_is_short(client: AppClient, engine: FakeEngine) -> None:
    engine.next_stream = FakeStream("PUSH", COLUMNS, error=RuntimeError("boom\nand a trace"))
    text = post(client)[1]
    assert "boom" in text and "trace" not in text


def test_half_of_a_surrogate_pair_does_not_end_the_response(client: AppClient, engine: FakeEngine) -> None:
    engine.next_stream = FakeStream("PULL", COLUMNS, [Row(["\ud83d", 1]), Row(["b", 2])])
    assert post(client)[1].splitlines()[1:] == ['["?",1]', '["b",2]']


def test_print_is_lines(client: AppClient) -> None:
    response = client.post("/query", json={"ksql": "PRINT rides;"})
    assert response.headers["content-type"].startswith("text/plain")
    assert response.text.splitlines()[0] == "Key format: KAFKA_INT"
    response = client.post("/query-stream", json={"sql": "PRINT rides;"})
    assert response.headers["content-type"] == DELIMITED
    assert response.text.splitlines()[0] == "Key format: KAFKA_INT"


def test_print_is_not_acceptable_in_other_forms(client: AppClient, engine: FakeEngine) -> None:
    response = client.post("/query-stream", json={"sql": "PRINT rides;"}, headers={"Accept": FRAMES})
    assert response.status_code == 406
    assert engine.streams[0].closed.is_set()


def test_stream_is_closed_at_its_end(client: AppClient, engine: FakeEngine) -> None:
    post(client)
    assert engine.streams[0].closed.is_set()


def test_closing_an_unknown_query(client: AppClient) -> None:
    response = client.post("/close-query", json={"queryId": "nope"})
    assert (response.status_code, response.json()["error_code"]) == (400, 40000)
    assert "nope" in response.json()["message"]


OFFERED = ("a/default", "b/other")


@pytest.mark.parametrize(
    ("header", "chosen"),
    [
        (None, "a/default"),
        ("*/*", "a/default"),
        ("b/other", "b/other"),
        ("B/OTHER; charset=utf-8", "b/other"),
        ("a/default;q=0.5, b/other", "b/other"),
        ("text/html, */*;q=0.1", "a/default"),
    ],
)
def test_accept(header: str | None, chosen: str) -> None:
    assert accepted(header, OFFERED) == chosen


@pytest.mark.parametrize("header", ["text/html", "b/other;q=0", "b/other;q=much"])
def test_accept_nothing_offered(header: str) -> None:
    with pytest.raises(RequestError, match=r"a/default, b/other"):
        accepted(header, OFFERED)
