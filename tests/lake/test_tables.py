"""What every table keeps that a sink writes: rows and positions are one commit; types, keys, new columns.

Other programs read the tables. What only one kind of table has is in the module of that kind.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.lake import manifests
from ksql_spark.lake.stores import Store
from ksql_spark.lake.tables import DELETED, compact
from ksql_spark.metastore.sinks import PartitionColumn
from ksql_spark.schema import Column, Role
from ksql_spark.types import STRING, TIME, Array
from tests.integration.s3_server import S3Server
from tests.lake.table_kinds import DELTA, ICEBERG, PARQUET, POSTGRESQL, SQLITE, Kind, Place
from tests.lake.table_rows import COLUMNS, EMPTY, FULL, rows
from tests.postgres import USER, Postgres

#: where tables are: name -> kind
PLACES: dict[str, Kind] = {
    "Delta": DELTA,
    "Iceberg": ICEBERG,
    "Parquet": PARQUET,
    "SQLite": SQLITE,
    "PostgreSQL": POSTGRESQL,
    "Iceberg in a REST catalog": ICEBERG,
    "Delta by s3": DELTA,
    "Delta by s3a": DELTA,
    "Parquet by s3": PARQUET,
    "Parquet by s3a": PARQUET,
}
FOLDERS = ("Delta", "Iceberg", "Parquet")
REST = "Iceberg in a REST catalog"


def of(*names: str) -> pytest.MarkDecorator:
    """The places of a test's table."""
    some = [
        pytest.param(name, marks=pytest.mark.kafka if name == REST else ()) for name in names
    ]  # needs Java
    return pytest.mark.parametrize("place", some, indirect=True)


def ways(*names: str) -> pytest.MarkDecorator:
    """Places, each for a table whose rows are added and, if it can, one whose rows are replaced."""
    return pytest.mark.parametrize(
        ("place", "keys"),
        [
            pytest.param(name, keys, id=f"{name}, {way}", marks=pytest.mark.kafka if name == REST else ())
            for name in names
            for keys, way in (((), "rows are added"), (("ID",), "rows are replaced"))
            if PLACES[name].has_keys or not keys
        ],
        indirect=["place"],
    )


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    name: str = request.param
    path = str(tmp_path)
    match name.split()[0], name.split()[-1]:
        case "SQLite", _:
            path = f"sqlite:///{tmp_path}/some.db"
        case "PostgreSQL", _:
            server: Postgres = request.getfixturevalue("postgres")
            path = f"postgresql://{USER}@127.0.0.1:{server.port}/postgres"
        case _, "catalog":
            request.getfixturevalue("catalog_url")
            path = f"catalog:shop/{tmp_path.name}.orders"
        case _, ("s3" | "s3a") as scheme:
            store: S3Server = request.getfixturevalue("s3")
            path = store.folder(f"{tmp_path.name} x").replace("s3a", scheme, 1)
    return Place(PLACES[name], path)


def given(*dicts: dict[str, Any], keys: tuple[str, ...] = (), **more: Any) -> pa.Table:
    """Rows for a table with these keys, none of which are removed."""
    table = rows(*dicts, **more)
    return table.append_column(DELETED, pa.array([False] * len(dicts))) if keys else table


@of(*PLACES)
def test_every_type_and_null_and_the_positions_of_each_topic(place: Place) -> None:
    table = place.open()
    assert table.positions() == {}
    table.write(rows(FULL, EMPTY), {0: 2, 1: 7})
    assert place.contents() == [place.kind.written, EMPTY]
    assert place.open().positions() == {0: 2, 1: 7}
    assert place.open(topic="t:2").positions() == {}


@ways(*PLACES)
def test_of_two_writers_at_one_position_one_fails(place: Place, keys: tuple[str, ...]) -> None:
    for end in (1, 2):  # positions that are made, and that are moved
        one, other = place.open(keys=keys), place.open(keys=keys)
        one.write(given(FULL, keys=keys), {0: end})
        with pytest.raises(KsqlError) as refused:
            other.write(given(FULL, keys=keys), {0: end})
        assert refused.value.condition == "LAKE_CONFLICT" and "\n" not in refused.value.message
        assert place.contents() == [place.kind.written] * (1 if keys else end)


@of("Delta", "Iceberg", "SQLite", "PostgreSQL", REST)
def test_rows_are_replaced_and_removed_by_key(place: Place) -> None:
    place.open(keys=("ID",)).write(given(FULL, EMPTY, keys=("ID",)), {0: 2})
    newer = EMPTY | {"RATE": 2.5}
    changes = rows(FULL, newer, EMPTY | {"ID": 3})
    changes = changes.append_column(DELETED, pa.array([True, False, True]))
    place.open(keys=("ID",)).write(changes, {0: 5})
    assert place.contents() == [newer]
    assert place.open(keys=("ID",)).positions() == {0: 5}


@of("Delta", "Iceberg")
def test_a_key_may_be_null_in_part(place: Place) -> None:
    keys = ("ID", "odd `name`")
    place.open(keys=keys).write(given(FULL, EMPTY, keys=keys), {0: 1})
    place.open(keys=keys).write(given(EMPTY | {"BIG": 5}, keys=keys), {0: 2})
    assert place.contents() == [place.kind.written, EMPTY | {"BIG": 5}]


@ways("Delta", "Iceberg", "Parquet", "SQLite", "PostgreSQL", REST)
def test_columns_come_and_go(place: Place, keys: tuple[str, ...]) -> None:
    more = (*COLUMNS, Column("MORE", Array(TIME)))
    place.open(keys=keys).write(given(EMPTY, keys=keys), {0: 1})
    place.open(keys=keys, columns=more).write(given(FULL | {"MORE": [1]}, keys=keys, columns=more), {0: 2})
    place.open(keys=keys).write(given(EMPTY | {"ID": 3}, keys=keys), {0: 3})
    full = place.kind.written | {"MORE": [place.kind.millisecond]}
    assert place.contents() == [full, EMPTY | {"MORE": None}, EMPTY | {"ID": 3, "MORE": None}]


@of("Delta", "Iceberg")
def test_the_value_of_a_lost_column_goes_with_its_row(place: Place) -> None:
    more = (*COLUMNS, Column("MORE", STRING))
    place.open(keys=("ID",), columns=more).write(
        given(FULL | {"MORE": "x"}, keys=("ID",), columns=more), {0: 1}
    )
    place.open(keys=("ID",)).write(given(FULL, keys=("ID",)), {0: 2})
    assert place.contents() == [place.kind.written | {"MORE": None}]


@of("Delta", "Iceberg", "Parquet", "SQLite", "PostgreSQL", REST)
def test_a_column_of_another_type_is_refused(place: Place) -> None:
    place.open().write(rows(FULL), {0: 1})
    with pytest.raises(KsqlError) as refused:
        place.open(columns=(Column("ID", STRING, Role.KEY), *COLUMNS[1:]))
    assert refused.value.condition == "LAKE_INCOMPATIBLE"
    is_database = place.kind.type == "jdbc"
    path = place.path.replace(f"{USER}@", "[hidden]@")
    column, where = ("id", f"orders of {path}") if is_database else ("ID", path)
    assert refused.value.message == (
        f"The column {column} of the table {where} is {place.kind.integer} and would have to be"
        f" {place.kind.text}. Nothing more is written. Give the sink another path, or the column its type"
        " again."
    )
    assert place.contents() == [place.kind.written]


@pytest.mark.parametrize(
    ("transform", "value"),
    [("year", 2026), ("month", "2026-03"), ("day", datetime.date(2026, 3, 1)), ("hour", "2026-03-01-23")],
)
@of(*FOLDERS)
def test_files_are_grouped(place: Place, transform: str, value: object) -> None:
    part = PartitionColumn("TS", transform)
    for row, end in ((FULL, 1), (EMPTY, 2)):
        place.open(partition_by=(part, PartitionColumn("odd `name`"))).write(rows(row), {0: end})
    found = place.contents()
    assert [row["ID"] for row in found] == [1, 2]
    if place.kind is DELTA:
        assert [row[part.name] for row in found] == [value, None]
    files = [file.relative_to(place.path) for file in Path(place.path).rglob("*.parquet")]
    folders = [str(file) for file in files if f"{part.name}={value}/" in f"{file}" or place.kind is ICEBERG]
    assert len({file.parts[-3:-1] for file in files}) == 2 and folders


@of("Delta", "Iceberg", "Parquet", REST, "Delta by s3", "Delta by s3a", "Parquet by s3a")
def test_compaction_changes_neither_rows_nor_positions(place: Place) -> None:
    for row, end in ((FULL, 1), (EMPTY, 2)):
        place.open().write(rows(row), {0: end})
    compact(place.kind.type, place.spec())
    assert place.contents() == [place.kind.written, EMPTY]
    assert place.open().positions() == {0: 2}


@pytest.mark.parametrize("at", ["commit", "publish"])
@of("Parquet", "Parquet by s3a")
def test_a_kill_before_and_after_the_commit(place: Place, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """Of files that no library commits."""

    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    place.open().write(rows(FULL), {0: 1})
    table = place.open()
    with monkeypatch.context() as patch:
        patch.setattr(manifests, at, killed)
        with pytest.raises(Killed):
            table.write(rows(EMPTY), {0: 2})
    assert len(place.contents()) == 1
    is_committed = at == "publish"
    assert place.open().positions() == {0: 2 if is_committed else 1}
    if not is_committed:
        place.open().write(rows(EMPTY), {0: 2})
        place.open()
    assert place.contents() == [place.kind.written, EMPTY]
    assert not [name for name in Store(place.path).all_names() if name.endswith(".tmp")]
