"""Archives without Kafka and Spark: what a sink writes, and what readers find."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.lake import archives
from ksql_spark.metastore.sinks import archive_name
from tests.lake.archive_files import DAY_MS, TOPIC, write


def test_files_are_grouped_by_day_and_partition_in_the_order_of_offsets(tmp_path: Path) -> None:
    write(tmp_path, [(0, n, n % 2 * DAY_MS) for n in range(5_000)] + [(1, 7, 0)])
    files = sorted(str(p.relative_to(tmp_path).parent) for p in tmp_path.rglob("part-*.parquet"))
    assert files == [
        "timestamp_DAY=1970-01-01/partition=0",
        "timestamp_DAY=1970-01-01/partition=1",
        "timestamp_DAY=1970-01-02/partition=0",
    ]
    for path in tmp_path.rglob("part-*.parquet"):
        offsets = pq.ParquetFile(path).read(["offset"])["offset"].to_pylist()
        assert offsets == sorted(offsets)


def test_the_line_for_duckdb_in_the_documentation(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs/how-to/lake.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"`(SELECT \"offset\".*?)` in DuckDB", text)
    write(tmp_path, [(0, 10, 0), (0, 11, DAY_MS)], value='{"zone": "é\n"}'.encode())
    found = duckdb.sql(line.replace("/tmp/lake/trips", str(tmp_path))).fetchall()
    assert sorted(found) == [(10, '{"zone": "é\n"}'), (11, '{"zone": "é\n"}')]


def test_first_offsets(tmp_path: Path) -> None:
    with pytest.raises(KsqlError, match="there is no archive"):
        archives.first_offsets(str(tmp_path), TOPIC, None)
    archives.make(str(tmp_path), TOPIC)
    assert archives.first_offsets(str(tmp_path), TOPIC, None) == {}  # its first records are to come
    write(tmp_path, [(0, 10, 0), (0, 11, 5), (2, 4, DAY_MS)])
    write(tmp_path, [(0, 12, 3), (0, 15, DAY_MS)])
    assert archives.first_offsets(str(tmp_path), TOPIC, None) == {0: 0, 2: 0}
    assert archives.first_offsets(str(tmp_path), TOPIC, 4) == {0: 11, 2: 4}
    assert archives.first_offsets(str(tmp_path), TOPIC, DAY_MS + 1) == {}


def test_what_an_archive_has_of_some_days(tmp_path: Path) -> None:
    assert archives.extent(str(tmp_path / "none")) == (0, 0)
    for day in range(4):
        write(tmp_path, [(0, day, day * DAY_MS), (1, day, day * DAY_MS)])
    write(tmp_path, [(0, 9, 3 * DAY_MS + 5)])
    assert archives.extent(str(tmp_path)) == (9, 4)
    assert archives.extent(str(tmp_path), DAY_MS, 2 * DAY_MS - 1) == (2, 1)
    assert archives.extent(str(tmp_path), first_ms=3 * DAY_MS) == (3, 1)
    assert archives.extent(str(tmp_path), last_ms=-1) == (0, 0)


def test_an_archive_of_another_topic_is_refused(tmp_path: Path) -> None:
    write(tmp_path, [(0, 0, 0)])
    archives.check(str(tmp_path), TOPIC)
    for other in (archive_name("t", "id2"), archive_name("u", "id1")):
        with pytest.raises(KsqlError, match=r"has the records of topic archive:t:id1, not of"):
            archives.check(str(tmp_path), other)
        with pytest.raises(KsqlError, match=r"has the records of topic archive:t:id1, not of"):
            archives.first_offsets(str(tmp_path), other, None)


def test_an_archive_is_made_once(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    archives.make(str(folder), TOPIC)
    write(folder, [(0, 0, 0), (0, 1, 0)])
    archives.make(str(folder), TOPIC)
    assert archives.ends(str(folder), TOPIC) == {0: 2}
    with pytest.raises(KsqlError, match=r"has the records of topic archive:t:id1, not of"):
        archives.make(str(folder), archive_name("t", "id2"))


def test_an_archive_whose_folder_is_gone_is_none(tmp_path: Path) -> None:
    """Neither readers nor the sink take the place where it should be for an archive that is empty."""
    archives.make(str(tmp_path), TOPIC)
    write(tmp_path, [(0, 0, 0), (0, 1, 0)])
    (tmp_path / "_ksql").rename(tmp_path.parent / "away")
    written = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    for use in (archives.check, lambda folder, topic: archives.first_offsets(folder, topic, None)):
        for folder in (tmp_path, tmp_path / "none"):
            with pytest.raises(KsqlError, match="there is no archive; CREATE SINK makes one"):
                use(str(folder), TOPIC)
    with pytest.raises(KsqlError, match="_ksql with its manifests is gone, but files are there, such as"):
        archives.make(str(tmp_path), TOPIC)
    with pytest.raises(KsqlError, match="_ksql with its manifests is gone, but files are there, such as"):
        write(tmp_path, [(0, 2, 0)])
    assert written and all(path.read_bytes() == content for path, content in written.items())


def test_a_folder_of_plain_rows_is_no_archive(tmp_path: Path) -> None:
    write(tmp_path, [(0, 0, 0)], "t:id1")
    with pytest.raises(KsqlError, match=r"has the records of topic t:id1, not of"):
        archives.check(str(tmp_path), TOPIC)
