"""Tables outside Kafka as Arrow rows: every format, type and NULL; what cannot be read is told."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from decimal import Decimal as D
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from deltalake import write_deltalake

from ksql_spark.errors import KsqlError
from ksql_spark.lake import reading
from ksql_spark.lake.tables import TableSpec, open_table
from ksql_spark.metastore.origins import Origin
from ksql_spark.metastore.sinks import PartitionColumn
from ksql_spark.schema import Column, Role
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
    Array,
    Decimal,
    Field,
    Map,
    Struct,
)
from tests.lake.table_rows import COLUMNS, EMPTY, FULL, rows, spec

UTC = datetime.UTC
FLAT = (
    Column("ID", INTEGER, Role.KEY),
    Column("NAME", STRING),
    Column("BIG", BIGINT),
    Column("RATE", DOUBLE),
    Column("OK", BOOLEAN),
    Column("PRICE", Decimal(6, 2)),
    Column("DATA", BYTES),
    Column("DAY", DATE),
    Column("AT", TIME),
    Column("TS", TIMESTAMP),
)
ROW = {
    "ID": 1, "NAME": "Zoë, \"x\"", "BIG": 2**63 - 1, "RATE": -0.5, "OK": True, "PRICE": D("-12.50"),
    "DATA": b"\x00\xff", "DAY": datetime.date(1969, 12, 31), "AT": 45_296_789,
    "TS": datetime.datetime(2026, 3, 1, 10, 0, 0, 123000, UTC),
}  # fmt: skip
NULLS = dict.fromkeys(ROW) | {"ID": 2}


def read(
    path: Path | str, format_: str, columns: tuple[Column, ...] = FLAT, **more: Any
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = reading.read(Origin(str(path), format_, **more), columns).to_pylist()
    return sorted(found, key=lambda row: str(next(iter(row.values()))))


@pytest.mark.parametrize("format_", ["parquet", "delta", "iceberg"])
def test_what_sinks_write_is_read(tmp_path: Path, format_: str) -> None:
    """Every type, also nested; TIME is text in Delta."""
    columns = tuple(c for c in COLUMNS if format_ != "delta" or c.name != "TIMES")
    open_table(format_, spec(tmp_path, columns=columns)).write(rows(FULL, EMPTY, columns=columns), {0: 2})
    wanted = [{c.name: row[c.name] for c in columns} for row in (FULL, EMPTY)]
    assert read(tmp_path, format_, columns) == wanted


def test_csv(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "id,name,BIG,rate,ok,price,data,day,at,Ts,more\n"
        '1,"Zoë, ""x""",9223372036854775807,-0.5,true,-12.50,AP8=,1969-12-31,12:34:56.789,'
        "2026-03-01T10:00:00.123Z,x\n",
        encoding="utf-8",
    )
    (tmp_path / "b.csv").write_text(
        'id,name,BIG,rate,ok,price,data,day,at,Ts,more\n2,,,,,,,,,,\n3,"",,,,,,,,,\n'
    )
    assert read(tmp_path, "csv") == [ROW, NULLS, NULLS | {"ID": 3, "NAME": ""}]
    assert read(tmp_path / "b.csv", "csv", FLAT[:1]) == [{"ID": 2}, {"ID": 3}]


def test_a_value_of_some_megabytes_in_a_csv(tmp_path: Path) -> None:
    long = "x" * 3_000_000
    (tmp_path / "a.csv").write_text(f"id,text\n1,{long}\n2,y\n")
    columns = [Column("ID", BIGINT), Column("TEXT", STRING)]
    assert read(tmp_path, "csv", columns) == [{"ID": 1, "TEXT": long}, {"ID": 2, "TEXT": "y"}]


def test_values_of_several_lines_in_a_long_csv(tmp_path: Path) -> None:
    texts = ["\n".join("x" * (n % 7) for _ in range(n % 5 + 1)) for n in range(200_000)]
    lines = (f'{n},"{text}"\n' for n, text in enumerate(texts))
    (tmp_path / "a.csv").write_text("n,text\n" + "".join(lines))
    found = reading.read(Origin(str(tmp_path), "csv"), [Column("N", BIGINT), Column("TEXT", STRING)])
    assert found["TEXT"].to_pylist() == texts and found["N"].to_pylist() == list(range(200_000))


def test_times_of_text_have_a_zone_or_are_utc(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts\n2026-03-01 10:00:00\n2026-03-01 10:00:01.5\n")
    (tmp_path / "b.csv").write_text("ts\n2026-03-01T12:00:00+02:00\n")
    at = datetime.datetime(2026, 3, 1, 10, tzinfo=UTC)
    columns = (Column("TS", TIMESTAMP),)
    assert read(tmp_path / "a.csv", "csv", columns)[0] == {"TS": at}
    assert read(tmp_path / "b.csv", "csv", columns) == [{"TS": at}]


def test_json(tmp_path: Path) -> None:
    full = {
        "id": 1, "name": ROW["NAME"], "BIG": ROW["BIG"], "rate": -0.5, "ok": True, "price": -12.5,
        "data": "AP8=", "day": "1969-12-31", "at": "12:34:56.789", "ts": "2026-03-01T10:00:00.123Z",
        "other": {"x": [1]},
        "days": ["2026-03-01", None],
    }  # fmt: skip
    (tmp_path / "rows.json").write_text(json.dumps(full) + '\n{"id": 2}\n')
    columns = (*FLAT, Column("DAYS", Array(DATE)))
    assert read(tmp_path, "json", columns) == [
        ROW | {"DAYS": [datetime.date(2026, 3, 1), None]},
        NULLS | {"DAYS": None},
    ]


def test_parquet_of_others(tmp_path: Path) -> None:
    """Other widths, dictionaries, folders as columns, columns that only newer files have."""
    for region, table in (
        ("eu", pa.table({"id": pa.array([1], pa.int64()), "name": pa.array(["a"]).dictionary_encode()})),
        ("us", pa.table({"id": pa.array([2], pa.int16()), "name": ["b"], "rate": pa.array([1], pa.int8())})),
    ):
        (tmp_path / f"region={region}").mkdir()
        pq.write_table(table, tmp_path / f"region={region}" / "x.parquet")
    columns = (*FLAT[:2], FLAT[3], Column("REGION", STRING))
    assert read(tmp_path, "parquet", columns) == [
        {"ID": 1, "NAME": "a", "RATE": None, "REGION": "eu"},
        {"ID": 2, "NAME": "b", "RATE": 1.0, "REGION": "us"},
    ]


NESTED = Column("S", Struct((Field("A", INTEGER), Field("B", Array(Struct((Field("C", STRING),)))))))
MAPPED = Column("M", Map(STRING, Struct((Field("A", INTEGER),))))


@pytest.mark.parametrize("format_", ["parquet", "delta", "json"])
def test_fields_are_found_in_another_case(tmp_path: Path, format_: str) -> None:
    inner = {"a": 1, "b": [{"c": "x"}, None]}
    rows = [{"id": 1, "s": inner}, {"id": 2, "s": None}, {"id": 3, "s": {"a": None, "b": None}}]
    if format_ == "json":
        (tmp_path / "rows.json").write_text("\n".join(map(json.dumps, rows)))
    elif format_ == "delta":
        write_deltalake(tmp_path, pa.Table.from_pylist(rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    assert read(tmp_path, format_, (FLAT[0], NESTED)) == [
        {"ID": 1, "S": {"A": 1, "B": [{"C": "x"}, None]}},
        {"ID": 2, "S": None},
        {"ID": 3, "S": {"A": None, "B": None}},
    ]
    wanted = Column("S", Struct((Field("A", INTEGER), Field("Z", INTEGER))))
    if format_ != "json":  # where every field may be missing
        with pytest.raises(KsqlError, match="it has no field Z"):
            read(tmp_path, format_, (FLAT[0], wanted))


def test_fields_in_maps(tmp_path: Path) -> None:
    type_ = pa.map_(pa.string(), pa.struct([("a", pa.int32())]))
    values = pa.array([[("k", {"a": 1})], None, []], type_)
    pq.write_table(pa.table({"id": pa.array([1, 2, 3], pa.int32()), "m": values}), tmp_path / "a.parquet")
    found = [row["M"] for row in read(tmp_path, "parquet", (FLAT[0], MAPPED))]
    assert found == [[("k", {"A": 1})], None, []]


@pytest.mark.parametrize("column", ["TS", "AT", "ON", "BIG", "OK", "odd `name`"])
def test_columns_that_files_are_grouped_by(tmp_path: Path, column: str) -> None:
    changed = {"odd `name`": "01"}
    for number, row in enumerate([FULL | changed, EMPTY], start=1):
        path = tmp_path / str(number)
        table = open_table("parquet", spec(path, partition_by=(PartitionColumn(column),)))
        table.write(rows(row), {0: 1})
        assert reading.read(Origin(str(path), "parquet"), COLUMNS).equals(rows(row))


@pytest.mark.parametrize("format_", ["parquet", "csv", "json"])
def test_each_file_has_names_of_its_own(tmp_path: Path, format_: str) -> None:
    for n, (key, name) in enumerate((("id", "name"), ("ID", "NAME"))):
        file = tmp_path / f"{n}.{format_}"
        if format_ == "csv":
            file.write_text(f"{key},{name}\n{n},x{n}\n")
        elif format_ == "json":
            file.write_text(json.dumps({key: n, name: f"x{n}"}))
        else:
            pq.write_table(pa.table({key: pa.array([n], pa.int32()), name: [f"x{n}"]}), file)
    assert read(tmp_path, format_, FLAT[:2]) == [{"ID": n, "NAME": f"x{n}"} for n in range(2)]


def test_a_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/some.db"
    columns = (*FLAT, Column("DAYS", Map(STRING, Array(INTEGER))))
    wanted = ROW | {"DAYS": [("a", [1, None])]}
    given = pa.Table.from_pylist([wanted, NULLS], _schema(columns))
    open_table("jdbc", TableSpec(url, "t:1", columns, table="zones")).write(given, {0: 2})
    assert read(url, "jdbc", columns, table="zones") == [wanted, NULLS | {"DAYS": None}]
    with sa.create_engine(url).begin() as connection:
        connection.exec_driver_sql("CREATE VIEW few AS SELECT id, name FROM zones WHERE ok")
    assert read(url, "jdbc", FLAT[:2], table="few") == [{"ID": 1, "NAME": ROW["NAME"]}]
    with pytest.raises(KsqlError, match="no column BIG"):
        read(url, "jdbc", FLAT, table="few")
    with pytest.raises(KsqlError) as refused:
        read(url, "jdbc", FLAT, table="nothing")
    assert refused.value.condition == "LAKE_FAILED" and "nothing" in refused.value.message


def _schema(columns: tuple[Column, ...]) -> pa.Schema:
    from ksql_spark.lake.arrow import schema_of

    return schema_of(columns, pa.int32())


@pytest.mark.parametrize(
    ("text", "columns", "says"),
    [
        ("id\nx\n", FLAT[:1], "column ID is no INTEGER: .*'x'"),
        ("id\n3000000000\n", FLAT[:1], "column ID is no INTEGER"),
        ("ok\nmaybe\n", (Column("OK", BOOLEAN),), "column OK is no BOOLEAN"),
        ("p\n1.234\n", (Column("P", Decimal(4, 2)),), r"column P is no DECIMAL\(4, 2\)"),
        ("d\nAP8\n", (Column("D", BYTES),), "column D is no BYTES"),
        ("other\n1\n", FLAT[:1], "it has no column ID"),
        ("iD,Id\n1,2\n", FLAT[:1], "it has the columns iD, Id for ID"),
    ],
)
def test_what_cannot_be_converted(tmp_path: Path, text: str, columns: tuple[Column, ...], says: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(KsqlError, match=f"cannot be read: .*{says}") as refused:
        read(tmp_path, "csv", columns)
    assert refused.value.condition == "LAKE_UNREADABLE"


@pytest.mark.parametrize("format_", ["csv", "json", "parquet", "delta", "iceberg"])
def test_what_is_not_there(tmp_path: Path, format_: str) -> None:
    for path in (tmp_path, tmp_path / "no"):
        for call in (reading.state_of, lambda origin: reading.read(origin, FLAT)):
            with pytest.raises(KsqlError):
                call(Origin(str(path), format_))


def _grow_files(path: Path, n: int) -> None:
    (path / f"{n}.csv").write_text(f"id\n{n}\n")


def _grow_delta(path: Path, n: int) -> None:
    write_deltalake(str(path), pa.table({"id": [n]}), mode="append")


@pytest.mark.parametrize(("format_", "grow"), [("csv", _grow_files), ("delta", _grow_delta)])
def test_the_state_changes_with_the_table(
    tmp_path: Path, format_: str, grow: Callable[[Path, int], None]
) -> None:
    states = []
    for n in range(3):
        grow(tmp_path, n)
        states += [reading.state_of(Origin(str(tmp_path), format_)) for _ in range(2)]
    assert states[0] == states[1] != states[2] == states[3] != states[4]


def test_a_database_has_no_state(tmp_path: Path) -> None:
    assert reading.state_of(Origin(f"sqlite:///{tmp_path}/x.db", "jdbc", "t")) is None
