"""COPY: files into streams, and results into files."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from pathlib import Path

import pytest

from ksql_spark.engine import ResultColumn, Row
from ksql_spark.shell.client import ServerError
from ksql_spark.shell.commands.command import Context
from ksql_spark.shell.copying import refused, rows_of
from ksql_spark.shell.scripts import run_text
from ksql_spark.shell.session import Failure, Session
from tests.server.fake_engine import FakeEngine, FakeStream

ROWS = [
    {"`VENDORID`": 1, "`ZONE`": 'it\'s, "x"', "`FARE_AMOUNT`": "12.50"},
    {"`VENDORID`": 2, "`ZONE`": None, "`FARE_AMOUNT`": None},
]
LINES = [
    '{"vendorid": 1, "zone": "it\'s, \\"x\\"", "fare_amount": 12.50}',
    '{"vendorid": 2, "zone": null, "fare_amount": null}',
]


def copy(session: Session, text: str) -> None:
    run_text(text, Context(session))


def written(engine: FakeEngine) -> list[object]:
    return [json.loads(line) for line in engine.inserter_made.rows]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", '\ufeffvendorid,Zone,FARE_AMOUNT\n1,"it\'s, ""x""",12.50\n\n2,,\n'),
        ("a.tsv", 'vendorid\tzone\tfare_amount\n1\t"it\'s, ""x"""\t12.50\n2\t\t\n'),
        ("a.jsonl", f"{LINES[0]}\n\n{LINES[1]}"),
        ("a.json", f" [{LINES[0]},\n {LINES[1]}]"),
    ],
)  # fmt: skip
def test_a_file_becomes_rows(
    session: Session, engine: FakeEngine, out: io.StringIO, tmp_path: Path, name: str, text: str
) -> None:
    session.console.tty = True
    (tmp_path / name).write_text(text, encoding="utf-8")
    copy(session, f"DEFINE f = '{tmp_path}'; COPY rides FROM '${{f}}/{name}';")
    assert written(engine) == ROWS
    assert "2 rows inserted into rides" in out.getvalue()


def test_a_parquet_file_becomes_rows(session: Session, engine: FakeEngine, tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [{name.strip("`"): value for name, value in row.items()} for row in ROWS]
    rows[0]["FARE_AMOUNT"] = Decimal("12.50")
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    copy(session, f"COPY rides FROM '{tmp_path}/a.parquet'")
    assert written(engine) == ROWS


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "vendorid,zone\nx,y\n", "line 2: 'x' in vendorid is no INTEGER"),
        ("a.csv", "vendorid,zone\n1\n", "line 2: 1 values for 2 columns"),
        ("a.csv", 'vendorid,zone\n1,"a\n2,b\n', "line 3: unexpected end of data"),
        ("a.csv", "zone,ZONE\na,b\n", "line 1: there are two columns ZONE"),
        ("a.csv", "vendorid,odd\n1,2\n", "there is no column odd. There are: VENDORID, FARE_AMOUNT, ZONE"),
        ("a.csv", "", "is empty"),
        ("a.jsonl", "{}\n{", "line 2: Expecting property name"),
        ("a.jsonl", "[1]\n", "element 1: a row is an object"),
        ("a.xls", "", "COPY cannot read a.xls: it reads .csv"),
        ("a.parquet", "x", "it is no Parquet file"),
    ],
)
def test_files_that_are_wrong(session: Session, tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(Failure, match=message):
        copy(session, f"COPY rides FROM '{tmp_path}/{name}';")


def test_copies_that_are_none(session: Session, tmp_path: Path) -> None:
    for text, message in (
        ("COPY rides TO 'x.csv';", "This is no COPY: COPY name FROM"),
        ("COPY rides FROM 'nothing.csv';", "Cannot read nothing.csv: No such file"),
        (f"COPY (SELECT 1) TO '{tmp_path}/x.xls';", "COPY cannot write x.xls"),
        (f"COPY (SELECT * FROM rides EMIT CHANGES) TO '{tmp_path}/x.csv';", "a push query has no end"),
        ("COPY nothing FROM 'x.csv';", "Source does not exist: NOTHING"),
    ):
        with pytest.raises(Failure, match=message):
            copy(session, text)


def test_values_of_every_type(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text('b,d,a,s\ntrue,1e3,"[1, null]","007"\n')
    types = {"B": "BOOLEAN", "D": "DOUBLE", "A": "ARRAY", "S": "STRING"}
    (row,) = rows_of(file, {name: {"type": type_} for name, type_ in types.items()})
    assert row == {"`B`": True, "`D`": 1000.0, "`A`": [1, None], "`S`": "007"}
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"d": 0.5, "m": 0.5, "a": [0.5], "s": {"m": 0.5, "x": {"y": [0.5]}}}')
    decimal, double = {"type": "DECIMAL"}, {"type": "DOUBLE"}
    inner = {"type": "STRUCT", "fields": [{"name": "m", "schema": decimal}]}
    fields = {"D": double, "M": decimal, "A": {"type": "ARRAY", "memberSchema": decimal}, "S": inner}
    (row,) = rows_of(lines, fields)
    half = Decimal("0.5")
    assert str(row) == str({"`D`": 0.5, "`M`": half, "`A`": [half], "`S`": {"m": half, "x": {"y": [half]}}})


def test_a_result_becomes_a_file(
    session: Session, engine: FakeEngine, out: io.StringIO, tmp_path: Path
) -> None:
    columns = [ResultColumn("ID", "INTEGER"), ResultColumn("NAME", "STRING")]
    engine.query = lambda request: FakeStream("PULL", columns, [Row([1, "a,b"]), Row([2, None])])  # type: ignore[method-assign]
    copy(session, f"COPY (SELECT * FROM rides) TO '{tmp_path}/x.csv'; SELECT * FROM rides;")
    assert (tmp_path / "x.csv").read_text() == 'ID,NAME\n1,"a,b"\n2,\n'
    assert "a,b" in out.getvalue() and session.console.form.name == "TABULAR"


def test_what_is_written_as_json_can_be_read(session: Session, engine: FakeEngine, tmp_path: Path) -> None:
    columns = [ResultColumn("ID", "INTEGER"), ResultColumn("NAME", "STRING")]
    engine.query = lambda request: FakeStream("PULL", columns, [Row([1, "EMIT"]), Row([2, None])])  # type: ignore[method-assign]
    copy(session, f"COPY (SELECT * FROM rides WHERE name <> 'EMIT CHANGES') TO '{tmp_path}/x.json';")
    fields = {"ID": {"type": "INTEGER"}, "NAME": {"type": "STRING"}}
    assert list(rows_of(tmp_path / "x.json", fields)) == [
        {"`ID`": 1, "`NAME`": "EMIT"}, {"`ID`": 2, "`NAME`": None},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("a.csv", "id,name\n1,a\n2,b\n", "line 3"),
        ("a.json", '[{"id": 1},\n {"id": 2}]', "element 2"),
        ("a.jsonl", '{"id": 1}\n\n{"id": 2}\n', "line 3"),
    ],
)
def test_the_place_of_a_row_that_the_server_refuses(tmp_path: Path, name: str, text: str, place: str) -> None:
    (tmp_path / name).write_text(text)
    error = refused(ServerError({"message": "row 1: 5 does not fit"}), tmp_path / name)
    assert str(error) == f"{tmp_path}/{name}: {place}: 5 does not fit"
    other = ServerError({"message": "away"})
    assert refused(other, tmp_path / name) is other
