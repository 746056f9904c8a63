"""POST /copy/{target}: files into streams; results as CSV and lines of JSON (reference §7.6)."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from decimal import Decimal

import httpx
import pytest
from app_client import AppClient
from fake_engine import FakeEngine
from live_server import LiveServer

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
        httpx.post(f"{live.url}/copy/rides", content=body(), headers={"Content-Type": "text/csv"})
    while engine.inserter_made is None or not engine.inserter_made.closed:
        pass
    assert httpx.get(f"{live.url}/info").status_code == 200


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
