"""POST /copy/{target}: files into streams; results as CSV, lines of JSON and Arrow (reference §7.6)."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from decimal import Decimal

import httpx
import pytest

from ksql_spark.client import OperationalError, connect
from ksql_spark.engine import RawJson, ResultColumn, Row
from ksql_spark.errors import KsqlError
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    VARIANT,
    Array,
    Field,
    Map,
    SqlType,
    Struct,
)
from ksql_spark.types import Decimal as DecimalType
from tests.server.app_client import AppClient
from tests.server.fake_engine import FakeEngine, FakeStream
from tests.server.live_server import LiveServer
from tests.waiting import TIMEOUT_S

ROWS = [
    {"`VENDORID`": 1, "`ZONE`": 'it\'s, "x"', "`FARE_AMOUNT`": 12.5},
    {"`VENDORID`": 2, "`ZONE`": None, "`FARE_AMOUNT`": None},
]
CSV = 'vendorid,Zone,FARE_AMOUNT\n1,"it\'s, ""x""",12.50\n\n2,,\n'
LINES = (
    '{"vendorid":1,"zone":"it\'s, \\"x\\"","fare_amount":12.50}\n'
    '{"vendorid":2,"zone":null,"fare_amount":null}\n'
)


def send(client: AppClient, content: str | bytes, type_: str) -> httpx.Response:
    data = content.encode() if isinstance(content, str) else content
    response: httpx.Response = client.post("/copy/rides", content=data, headers={"Content-Type": type_})
    return response


def written(engine: FakeEngine) -> list[object]:
    assert engine.inserter_made is not None and engine.inserter_made.closed
    return [json.loads(line) for line in engine.inserter_made.rows]


@pytest.mark.parametrize(
    ("content", "type_"),
    [
        (CSV, "text/csv; charset=utf-8"),
        (CSV.replace(",", "\t").replace("s\t", "s,"), "text/tab-separated-values"),
        (LINES, "application/x-ndjson"),
        ("[" + LINES.replace("}\n{", "},\n{") + "]", "application/json"),
    ],
    ids=["csv", "tsv", "lines", "array"],
)
def test_a_file_becomes_rows(client: AppClient, engine: FakeEngine, content: str, type_: str) -> None:
    response = send(client, content, type_)
    assert (response.status_code, response.json()) == (200, {"target": "rides", "rows": 2})
    assert written(engine) == ROWS
    assert b"12.50" in engine.inserter_made.rows[0]  # type: ignore[union-attr]


def test_a_parquet_file_becomes_rows(client: AppClient, engine: FakeEngine) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [{name.strip("`"): value for name, value in row.items()} for row in ROWS]
    rows[0]["FARE_AMOUNT"] = Decimal("12.50")
    file = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    assert send(client, file.getvalue(), "application/vnd.apache.parquet").json()["rows"] == 2
    assert written(engine) == ROWS


@pytest.mark.parametrize(
    ("content", "type_", "message", "count"),
    [
        (
            "vendorid\n1\nx\n",
            "text/csv",
            "line 3: 'x' in vendorid is no INTEGER. 1 row was written",
            1,
        ),
        ("zone\na\nb\nbad\n", "text/csv", "line 4: a bad row. 2 rows were written before it.", 2),
        ("vendorid,zone\n1\n", "text/csv", "line 2: 1 values for 2 columns. 0 rows were written", 0),
        ('zone\n"' + "x" * 200_000, "text/csv", "field larger than field limit", 0),
        ("", "text/csv", "it is empty: its first line names the columns.", 0),
        (b"\xff\xfe", "text/csv", "it is not UTF-8 text.", 0),
        ('{"zone":"a"}\n{', "application/x-ndjson", "line 2: Expecting property name", 1),
        ("x", "application/vnd.apache.parquet", "it is no Parquet file", 0),
    ],
)
def test_files_that_are_wrong(
    client: AppClient, engine: FakeEngine, content: str | bytes, type_: str, message: str, count: int
) -> None:
    response = send(client, content, type_)
    assert response.status_code == 400, response.text
    assert message in response.json()["message"]
    assert len(written(engine)) == count


def test_what_is_no_file(client: AppClient) -> None:
    assert send(client, "a", "text/plain").status_code == 415
    response = client.post("/copy/nowhere", content=b"a\n1\n", headers={"Content-Type": "text/csv"})
    assert response.status_code == 400 and "nowhere" in response.json()["message"].lower()


def test_a_long_file_is_written_while_it_comes(live: LiveServer, engine: FakeEngine) -> None:
    """Far more than may wait in memory; the client sends the second half once the first is written."""

    def body() -> Iterator[bytes]:
        yield b"vendorid\n" + b"".join(b"%d\n" % n for n in range(20_000))
        while engine.inserter_made is None or len(engine.inserter_made.rows) < 1000:
            pass
        for _ in range(20):
            yield b"7\n" * 10_000

    response = httpx.post(
        f"{live.url}/copy/rides", content=body(), headers={"Content-Type": "text/csv"}, timeout=120
    )
    assert response.json() == {"target": "rides", "rows": 220_000}


def test_a_client_that_leaves(live: LiveServer, engine: FakeEngine) -> None:
    def body() -> Iterator[bytes]:
        yield b"vendorid\n" + b"1\n" * 2000
        while engine.inserter_made is None or not engine.inserter_made.rows:
            pass
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        httpx.post(
            f"{live.url}/copy/rides", content=body(), headers={"Content-Type": "text/csv"}, timeout=TIMEOUT_S
        )
    while engine.inserter_made is None or not engine.inserter_made.closed:
        pass
    assert httpx.get(f"{live.url}/info", timeout=TIMEOUT_S).status_code == 200


def test_results_as_csv_and_lines(client: AppClient) -> None:
    body = {"sql": "SELECT * FROM rides;"}
    plain = client.post("/query-stream", json=body).text.splitlines()
    names = json.loads(plain[0])["columnNames"]
    rows = [json.loads(line) for line in plain[1:]]
    found = client.post("/query-stream", json=body, headers={"Accept": "application/x-ndjson"})
    assert found.headers["content-type"] == "application/x-ndjson"
    assert [json.loads(line) for line in found.text.splitlines()] == [
        dict(zip(names, row, strict=True)) for row in rows
    ]
    found = client.post("/query-stream", json=body, headers={"Accept": "text/csv"})
    assert found.headers["content-type"].startswith("text/csv")
    assert found.text.splitlines()[0] == ",".join(names) and len(found.text.splitlines()) == 1 + len(rows)


ALL_TYPES: dict[SqlType, list[object]] = {
    INTEGER: [1, -(2**31)],
    BIGINT: [2**63 - 1, 0],
    DOUBLE: [1.5, "-Infinity"],
    DecimalType(38, 2): [Decimal("123456789012345678901234567890123456.78"), Decimal("0.10")],
    BOOLEAN: [True, False],
    STRING: ["é😀", "a\ud800"],
    BYTES: ["SGk=", ""],
    DATE: ["2026-01-31", "+10000-01-01"],
    TIME: ["23:59:59.999", "00:00"],
    TIMESTAMP: ["1999-12-31T23:59:59.999", "-0043-03-15T00:00:00.000"],
    Array(DATE): [["1970-01-01", None], []],
    Map(STRING, DOUBLE): [{"a": 1.5, "b": None}, {}],
    Struct((Field("WHO", STRING), Field("at", TIMESTAMP))): [{"WHO": "x", "at": None}, {"WHO": None}],
    VARIANT: [RawJson('{"a": [1.10, null]}'), RawJson("1")],
    Array(VARIANT): [[RawJson('"x"'), None], [RawJson("{}")]],
}


def test_results_as_arrow(live: LiveServer, engine: FakeEngine) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    columns = [ResultColumn.of(f"c{at}", type_) for at, type_ in enumerate(ALL_TYPES)]
    rows = [[values[at] for values in ALL_TYPES.values()] for at in range(2)]

    def stream() -> FakeStream:
        return FakeStream("PULL", columns, map(Row, [*rows, [None] * len(columns)]))

    with connect(live.url) as connection:
        engine.next_stream = stream()
        by_json = connection.execute("SELECT * FROM rides;").arrow()
        engine.next_stream = stream()
        table = connection.arrow("SELECT * FROM rides;")
        assert table.schema.equals(by_json.schema) and table.equals(by_json)
        engine.next_stream = FakeStream("PULL", columns)
        assert connection.arrow("SELECT * FROM rides;").equals(by_json.slice(0, 0))
        engine.next_stream = FakeStream("PUSH", columns, map(Row, rows), error=KsqlError("STOPPED"))
        with pytest.raises(OperationalError):
            connection.arrow("SELECT * FROM rides EMIT CHANGES;")
    answer = httpx.post(
        f"{live.url}/query-stream",
        json={"sql": "S"},
        headers={"Accept": "application/vnd.apache.arrow.stream"},
        timeout=TIMEOUT_S,
    )
    assert answer.headers["content-type"] == "application/vnd.apache.arrow.stream"
    assert pyarrow.ipc.open_stream(answer.content).read_all().num_rows
