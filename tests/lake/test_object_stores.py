"""Parquet and archives in an object store: what readers and other writers find in moto's S3 server."""

from __future__ import annotations

from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.lake import archives, growth, manifests, reading
from ksql_spark.lake.sinks import SinkRun, SinkStatus
from ksql_spark.lake.stores import Store
from ksql_spark.lake.tables import open_table
from ksql_spark.metastore.origins import Origin
from ksql_spark.metastore.sinks import Sink
from ksql_spark.schema import Column
from ksql_spark.services.ports import free_port
from ksql_spark.types import INTEGER, STRING
from tests.integration.s3_server import S3Server
from tests.lake.archive_files import DAY_MS, TOPIC, archive_spec, write
from tests.lake.number_topic import SOURCE, Topic
from tests.lake.table_rows import FULL, rows, spec
from tests.waiting import until


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_others_tables_are_read(s3: S3Server, scheme: str) -> None:
    columns = [Column("ID", INTEGER), Column("NAME", STRING)]
    wanted = pa.table({"ID": pa.array([7], pa.int32()), "NAME": ["a"]})
    parquet = pa.BufferOutputStream()
    pq.write_table(wanted, parquet)
    for format_, content in {
        "parquet": parquet.getvalue().to_pybytes(),
        "csv": b"ID,NAME\n7,a\n",
        "json": b'{"ID": 7, "NAME": "a"}\n',
    }.items():
        path = s3.folder(f"read-{format_}-{scheme}").replace("s3a", scheme, 1)
        Store(path).write(f"rows.{format_}", content)
        origin = Origin(path, format_)
        assert reading.read(origin, columns) == wanted
        batch = growth.next_batch(origin, None, {})
        assert batch is not None and [part(columns) for part in batch.parts] == [wanted]


def test_an_archive(s3: S3Server) -> None:
    path = s3.folder("archive")
    with pytest.raises(KsqlError, match="there is no archive"):
        archives.first_offsets(path, TOPIC, None)
    write(path, [(0, 10, 0), (0, 11, 5), (2, 4, DAY_MS)])
    write(path, [(0, 12, 3), (0, 15, DAY_MS)])
    assert archives.first_offsets(path, TOPIC, None) == {0: 0, 2: 0}
    assert archives.first_offsets(path.replace("s3a", "s3"), TOPIC, 4) == {0: 11, 2: 4}
    open_table("parquet", archive_spec(path)).compact()
    assert archives.first_offsets(path, TOPIC, 4) == {0: 11, 2: 4}
    with pytest.raises(KsqlError, match="has the records of topic archive:t:id1, not of"):
        archives.check(path, "archive:t:id2")


def test_a_store_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    with S3Server() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        path = server.folder("away")
        table = open_table("parquet", spec(path))
        table.write(rows(FULL), {0: 1})
    with pytest.raises(KsqlError, match=r"The table s3a://.*/away cannot be read or written") as error:
        table.write(rows(FULL), {0: 1})
    assert "\n" not in error.value.message
    with pytest.raises(KsqlError, match="cannot be read or written"):
        archives.first_offsets(path, TOPIC, None)


def test_a_sink_goes_on_when_its_store_is_back(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    topic, path = Topic(3), s3.folder("back")
    sink = Sink("LAKE", "S", "parquet", path, interval_ms=10)
    run = SinkRun(sink, lambda name: SOURCE, cast(KafkaAdmin, topic), topic.read, SinkStatus())
    run.work()
    topic.ends = {0: 5}
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    run.start()
    until(lambda: run.status.state == "ERROR")
    assert "cannot be read or written" in str(run.status.reason)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.url)
    until(lambda: run.status.rows == 5)
    run.close()
    run.join(10)
    store = Store(path)
    listed = manifests.listed(store, manifests.newest(store))
    tables = [pq.read_table(pa.BufferReader(store.read(name))) for name in listed]
    assert sorted(pa.concat_tables(tables)["N"].to_pylist()) == list(range(5))
    assert (run.status.state, run.status.reason) == ("RUNNING", None)
