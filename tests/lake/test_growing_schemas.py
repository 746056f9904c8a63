"""Streams over folders whose files do not all have the same columns and types."""

from __future__ import annotations

import datetime
import itertools
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal as D
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.lake import growth
from ksql_spark.lake.positions import Mark, ReadFile
from ksql_spark.metastore.origins import Origin
from ksql_spark.schema import Column
from ksql_spark.types import BIGINT, DOUBLE, STRING, TIMESTAMP, Array, Decimal, Field, SqlType, Struct

COLUMNS = (
    Column("N", BIGINT),
    Column("CITY", STRING),
    Column("TAGS", Array(STRING)),
    Column("S", Struct((Field("A", BIGINT),))),
)
FLAT = COLUMNS[:2]


class Folder:
    """A folder that a stream follows, and how far the stream is."""

    def __init__(self, path: Path, format_: str) -> None:
        self.path, self.format = path, format_
        self.mark: Mark | None = None
        self.files: dict[str, ReadFile] = {}

    def add(self, rows: pa.Table) -> None:
        name = self.path / f"{len(list(self.path.iterdir())):03}.{self.format}"
        match self.format:
            case "parquet":
                pq.write_table(rows, name)
            case "csv":
                pyarrow.csv.write_csv(rows, name)
            case "json":
                name.write_text("".join(json.dumps(row) + "\n" for row in rows.to_pylist()))

    def rows(self, columns: Sequence[Column] = COLUMNS) -> list[Mapping[str, Any]]:
        """The rows that the folder has gained since the last call."""
        batch = growth.next_batch(Origin(str(self.path), self.format), self.mark, self.files)
        if batch is None:
            return []
        self.mark, self.files = batch.mark, {**self.files, **batch.files}
        return [row for part in batch.parts for row in part(columns).to_pylist()]


@pytest.mark.parametrize("format_", ["csv", "json", "parquet"])
@pytest.mark.parametrize("order", sorted(set(itertools.permutations([True, True, False, False]))))
@pytest.mark.parametrize("refreshes_after", [(1, 2, 3, 4), (2, 4), (1, 4), (3, 4)])
def test_a_column_that_a_file_lacks_is_null(
    tmp_path: Path, format_: str, order: tuple[bool, ...], refreshes_after: tuple[int, ...]
) -> None:
    folder = Folder(tmp_path, format_)
    columns = FLAT if format_ == "csv" else COLUMNS
    full = {"n": [1], "city": ["Bern"], "tags": [["a"]], "s": [{"a": 1}]}
    found: list[Mapping[str, Any]] = []
    for number, has_all in enumerate(order, start=1):
        folder.add(
            pa.table({c.name.lower(): full[c.name.lower()] for c in columns} if has_all else {"n": [1]})
        )
        if number in refreshes_after:
            found += folder.rows(columns)
    all_of_it = {"N": 1, "CITY": "Bern", "TAGS": ["a"], "S": {"A": 1}}
    with_all = {c.name: all_of_it[c.name] for c in columns}
    without = {**dict.fromkeys(with_all), "N": 1}
    assert found == [with_all if has_all else without for has_all in order]


def test_files_that_have_none_of_the_columns_are_refused(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "parquet")
    folder.add(pa.table({"other": [1]}))
    with pytest.raises(KsqlError, match="has none of the columns N, CITY, TAGS, S"):
        folder.rows()


NOW = datetime.datetime(2026, 3, 1, 10, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("type_", "arrays", "wanted"),
    [
        (BIGINT, [pa.array([1], t) for t in (pa.int8(), pa.uint16(), pa.int32(), pa.int64())], 1),
        (DOUBLE, [pa.array([1], t) for t in (pa.int8(), pa.int32(), pa.float32(), pa.float64())], 1.0),
        (Decimal(12, 2), [pa.array([D(1)], pa.decimal128(*t)) for t in ((4, 1), (12, 2), (20, 4))], D(1)),
        (Decimal(12, 2), [pa.array([1], t) for t in (pa.int8(), pa.int32(), pa.int64())], D("1.00")),
        (STRING, [pa.array(["x"], t) for t in (pa.string(), pa.large_string())]
                 + [pa.array(["x"]).dictionary_encode()], "x"),
        (TIMESTAMP, [pa.array([NOW], pa.timestamp(u, tz="UTC")) for u in ("s", "ms", "us", "ns")], NOW),
        (Struct((Field("A", BIGINT), Field("B", STRING))),
         [pa.array([{"a": 1}]),
          pa.array([{"a": 1, "b": None}], pa.struct([("a", pa.int32()), ("b", pa.string())]))],
         {"A": 1, "B": None}),
    ],
)  # fmt: skip
def test_types_widen(tmp_path: Path, type_: SqlType, arrays: list[pa.Array], wanted: object) -> None:
    """In one batch and from batch to batch, from narrow to wide and back."""
    for number, pair in enumerate(itertools.product(arrays, arrays)):
        for is_one_batch in (True, False):
            path = tmp_path / f"{number}{is_one_batch}"
            path.mkdir()
            folder, found = Folder(path, "parquet"), []
            for array in pair:
                folder.add(pa.table({"v": array}))
                found += [] if is_one_batch else folder.rows([Column("V", type_)])
            found += folder.rows([Column("V", type_)])
            assert found == [{"V": wanted}] * 2, [array.type for array in pair]


@pytest.mark.parametrize("values", [["01"], ["01", "02"], ["1", "EU"], [None], [None, "EU"], [""], ["a=b/c"]])
@pytest.mark.parametrize("is_one_batch", [True, False])
def test_names_of_folders_are_texts(tmp_path: Path, values: list[str | None], is_one_batch: bool) -> None:
    """Whatever the other folders are called, in a folder that may itself look like one."""
    path = tmp_path / "city=Rome"
    path.mkdir()
    folder, found = Folder(path, "parquet"), list[Mapping[str, Any]]()
    for n, value in enumerate(values):
        rows = pa.table({"n": [n], "region": pa.array([value], pa.string())})
        pq.write_to_dataset(rows, str(path), partition_cols=["region"])
        if not is_one_batch or n == len(values) - 1:
            found += folder.rows([Column("N", BIGINT), Column("REGION", STRING), Column("CITY", STRING)])
    wanted = [{"N": n, "REGION": value, "CITY": None} for n, value in enumerate(values)]
    assert sorted(found, key=lambda row: row["N"]) == wanted


def test_names_of_folders_become_their_columns_types(tmp_path: Path) -> None:
    (tmp_path / "n=007" / "v=1.50").mkdir(parents=True)
    pq.write_table(pa.table({"other": [1]}), tmp_path / "n=007" / "v=1.50" / "a.parquet")
    columns = [Column("N", BIGINT), Column("V", Decimal(4, 2))]
    assert Folder(tmp_path, "parquet").rows(columns) == [{"N": 7, "V": D("1.50")}]
