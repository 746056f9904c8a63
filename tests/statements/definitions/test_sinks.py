"""CREATE, PAUSE, RESUME, DROP and SHOW SINKS: what is refused, and what the metastore has afterwards."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.lake.sinks import SinkStatus
from ksql_spark.metastore.sinks import PartitionColumn, Sink
from tests.statements.world import World

SOURCES = """
CREATE STREAM es (k STRING KEY, ts TIMESTAMP, d DATE, l ARRAY<INT>)
  WITH (KAFKA_TOPIC='es', FORMAT='JSON', PARTITIONS=1);
CREATE TABLE et (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='et', FORMAT='JSON', PARTITIONS=1);
CREATE STREAM ec (a INT, `a` INT) WITH (KAFKA_TOPIC='ec', FORMAT='JSON', PARTITIONS=1);
CREATE TABLE ek (k STRUCT<a INT> PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='ek', FORMAT='JSON', PARTITIONS=1);
"""


@pytest.fixture
def ready(world: World) -> World:
    world.run(SOURCES)
    return world


def sinks(world: World) -> list[Sink]:
    return world.services.metastore.sinks()


def test_a_sink_and_its_ways(ready: World) -> None:
    ready.run(
        "CREATE SINK lake FROM es WITH (TYPE='Delta', PATH='/x', PARTITION_BY='day(ts), `K`, month(d)',"
        " COMMIT_INTERVAL='2 minutes');"
    )
    (sink,) = sinks(ready)
    parts = (PartitionColumn("TS", "day"), PartitionColumn("K"), PartitionColumn("D", "month"))
    assert (sink.name, sink.source, sink.type, sink.path) == ("LAKE", "ES", "delta", "/x")
    assert (sink.partition_by, sink.interval_ms, sink.is_paused) == (parts, 120_000, False)
    ready.run("CREATE SINK IF NOT EXISTS lake FROM et WITH (TYPE='delta', PATH='/y');")
    assert sinks(ready) == [sink]
    ready.run("PAUSE SINK lake;")
    assert sinks(ready)[0].is_paused
    ready.run("RESUME SINK lake;")
    assert sinks(ready) == [sink]
    ready.run("DROP SINK lake; DROP SINK IF EXISTS lake;")
    assert sinks(ready) == []


def test_a_sink_knows_where_its_topic_began(ready: World) -> None:
    """So that what retention removes before the first commit is counted, also after a restart."""
    ready.run("CREATE SINK lake FROM es WITH (TYPE='delta', PATH='/x');")
    assert [sink.begins for sink in sinks(ready)] == [{0: 0}]
    ready.restart()
    assert [sink.begins for sink in sinks(ready)] == [{0: 0}]
    old = json.loads(ready.log.records[-1]) | {"starts": {}}  # of a release before
    ready.log.records[-1] = json.dumps(old)
    ready.restart()
    assert [sink.begins for sink in sinks(ready)] == [None]


def test_the_lag_is_that_of_now(ready: World) -> None:
    """A sink looks only before commits; who waits for it must not believe that nothing is left."""
    ready.services.sink_status = lambda name: SinkStatus("RUNNING", None, {0: 2}, {0: 2})
    ready.run("CREATE SINK lake FROM es WITH (TYPE='delta', PATH='/x');")
    ready.admin.ends["es", 0] = 5
    (shown,) = ready.run("SHOW SINKS;")
    assert [sink["lag"] for sink in shown["sinks"]] == [3]
    (told,) = ready.run("DESCRIBE SINK lake;")
    assert [(place["offset"], place["end"]) for place in told["positions"]] == [(2, 5)]
    ready.admin.delete_topics(["es"])
    (shown,) = ready.run("SHOW SINKS;")
    assert [sink["lag"] for sink in shown["sinks"]] == [0]


def test_a_sink_to_a_database(ready: World) -> None:
    ready.run(
        "CREATE SINK db FROM et WITH (TYPE='jdbc', URL='jdbc:postgresql://ann:secret@db/shop');"
        "CREATE SINK named FROM ek WITH (TYPE='jdbc', URL='SQLite:/x.db', TABLE='shop.Orders');"
    )
    db, named = sinks(ready)
    assert (db.type, db.path, db.table) == ("jdbc", "jdbc:postgresql://ann:secret@db/shop", "et")
    assert named.table == "shop.Orders"


def test_a_sink_of_a_query(ready: World) -> None:
    ready.run(
        "CREATE SINK eu WITH (TYPE='delta', PATH='/eu', PARTITION_BY='day(ts)') AS"
        " SELECT * FROM es WHERE k='EU';"
        "CREATE SINK counts WITH (TYPE='jdbc', URL='sqlite:/x.db') AS"
        " SELECT k, COUNT(*) AS n FROM es GROUP BY k EMIT CHANGES;"
        "CREATE SINK IF NOT EXISTS eu WITH (TYPE='delta', PATH='/y') AS SELECT * FROM es;"
    )
    counts, eu = sinks(ready)
    assert (eu.source, eu.path, eu.partition_by) == ("EU", "/eu", (PartitionColumn("TS", "day"),))
    assert (counts.source, counts.table) == ("COUNTS", "counts")
    store = ready.services.metastore
    assert [(store.require(n).kind, store.require(n).is_sink) for n in ("EU", "COUNTS")] == [
        ("STREAM", True),
        ("TABLE", True),
    ]
    assert store.require("EU").statement.startswith("CREATE STREAM EU AS SELECT * FROM ES")
    ready.restart()
    assert sinks(ready) == [counts, eu]
    ready.run("DROP SINK eu; DROP STREAM eu;")
    assert sinks(ready) == [counts]
    ready.run("UNDROP STREAM eu;")
    (version,) = ready.one("SHOW VERSIONS OF eu;")["versions"][-1:]
    assert "CREATE STREAM EU AS SELECT * FROM ES" in version["statement"]


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("CREATE SINK x WITH (TYPE='delta') AS SELECT * FROM es;", "CREATE SINK needs the property PATH"),
        ("CREATE SINK x WITH (TYPE='delta', PATH='x') AS SELECT nope FROM es;", "NOPE"),
        (
            "CREATE SINK et WITH (TYPE='delta', PATH='x') AS SELECT * FROM es;",
            "with the same name already exists",
        ),
        ("CREATE SINK x AS SELECT * FROM es;", "AS"),
    ],
)
def test_a_sink_of_a_query_that_is_refused(ready: World, statement: str, says: str) -> None:
    with pytest.raises(KsqlError) as refused:
        ready.run(statement)
    assert says in refused.value.message
    store = ready.services.metastore
    assert not store.sinks() and store.find("X") is None


def test_a_table_has_one_source(ready: World) -> None:
    ready.run("CREATE SINK lake FROM es WITH (TYPE='delta', PATH='/x/y');")
    for path in ("/x/y/", "/x/./y", "/x/z/../y"):
        with pytest.raises(KsqlError, match="is written by the sink LAKE from ES"):
            ready.run(f"CREATE SINK other FROM et WITH (TYPE='iceberg', PATH='{path}');")
    ready.run("CREATE SINK again FROM es WITH (TYPE='delta', PATH='/x/y');")
    ready.run("CREATE SINK one FROM es WITH (TYPE='jdbc', URL='sqlite:/x.db', TABLE='a');")
    ready.run("CREATE SINK two FROM et WITH (TYPE='jdbc', URL='sqlite:/x.db', TABLE='b');")
    with pytest.raises(KsqlError, match="is written by the sink TWO from ET"):
        ready.run("CREATE SINK three FROM es WITH (TYPE='jdbc', URL='sqlite:/x.db', TABLE='b');")
    ready.run("DROP SINK lake; DROP SINK again; CREATE SINK other FROM et WITH (TYPE='delta', PATH='/x/y');")


def test_a_source_is_not_dropped_below_a_sink(ready: World) -> None:
    ready.run("CREATE SINK lake FROM es WITH (TYPE='delta', PATH='/x');")
    with pytest.raises(KsqlError, match=r"the sinks \[LAKE\] read it"):
        ready.run("DROP STREAM es;")
    ready.run("DROP STREAM es CASCADE;")
    assert sinks(ready) == []


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("CREATE SINK x FROM nothing WITH (TYPE='delta', PATH='x');", "does not exist: NOTHING"),
        ("CREATE SINK x FROM es WITH (PATH='x');", "needs the property TYPE"),
        ("CREATE SINK x FROM es WITH (TYPE='delta', PATH='');", "needs the property PATH"),
        (
            "CREATE SINK x FROM es WITH (TYPE='delte', PATH='x');",
            "'delte' is none of delta, iceberg, jdbc, parquet",
        ),
        ("CREATE SINK x FROM es WITH (TYPE='delta', PATH='x', KAFKA_TOPIC='y');", "only allowed in CREATE"),
        ("CREATE STREAM x WITH (PATH='y') AS SELECT * FROM es;", "only allowed in CREATE SINK"),
        ("CREATE SINK x FROM es WITH (TYPE='delta', PATH='x', COMMIT_INTERVAL='soon');", "Invalid duration"),
        (
            "CREATE SINK x FROM es WITH (TYPE='delta', PATH='x', PARTITION_BY='day(k)');",
            "takes DATE or TIMESTAMP",
        ),
        ("CREATE SINK x FROM es WITH (TYPE='delta', PATH='x', PARTITION_BY='hour(d)');", "takes TIMESTAMP"),
        (
            "CREATE SINK x FROM es WITH (TYPE='delta', PATH='x', PARTITION_BY='week(ts)');",
            "'week' is none of",
        ),
        ("CREATE SINK x FROM es WITH (TYPE='delta', PATH='x', PARTITION_BY='l');", "grouped by L"),
        ("CREATE SINK x FROM es WITH (TYPE='delta', PATH='x', PARTITION_BY='k, K');", "K is there twice"),
        ("CREATE SINK x FROM es WITH (TYPE='delta', PATH='x', PARTITION_BY='day(ts';"[:-1] + ");", "neither"),
        ("CREATE SINK x FROM et WITH (TYPE='delta', PATH='x', PARTITION_BY='k,v');", "none is left"),
        ("CREATE SINK x FROM et WITH (TYPE='parquet', PATH='x');", "files of parquet cannot be changed"),
        ("CREATE SINK x FROM ek WITH (TYPE='iceberg', PATH='x');", "by the key K, which has parts"),
        ("CREATE SINK x FROM es WITH (TYPE='jdbc', PATH='x');", "TYPE = 'jdbc' has the property URL"),
        ("CREATE SINK x FROM es WITH (TYPE='jdbc');", "TYPE = 'jdbc' needs the property URL"),
        ("CREATE SINK x FROM es WITH (TYPE='jdbc', URL='mysql://h/db');", "no URL of PostgreSQL or SQLite"),
        ("CREATE SINK x FROM es WITH (TYPE='jdbc', URL='sqlite:x', TABLE='a.');", "a name is missing"),
        ("CREATE SINK x FROM es WITH (TYPE='jdbc', URL='sqlite:x', PARTITION_BY='k');", "writes no files"),
        ("CREATE SINK x FROM es WITH (TYPE='delta', PATH='x', URL='sqlite:x');", "only TYPE = 'jdbc' has it"),
        ("CREATE SINK x FROM ec WITH (TYPE='jdbc', URL='sqlite:x');", "A and a would both be a in"),
        (
            "CREATE SINK x FROM es WITH (TYPE='delta', PATH='catalog:a/b.c');",
            "no table in a catalog of Iceberg",
        ),
        ("CREATE SINK x FROM es WITH (TYPE='iceberg', PATH='catalog:a/b');", "'catalog:prod/sales.orders'"),
        ("PAUSE SINK x;", "Sink X does not exist"),
        ("COMPACT SINK x;", "Sink X does not exist"),
        ("DESCRIBE SINK x;", "Sink X does not exist"),
        ("DROP SINK x;", "Sink X does not exist"),
    ],
)
def test_what_is_refused(ready: World, statement: str, says: str) -> None:
    with pytest.raises(KsqlError) as refused:
        ready.run(statement)
    assert says in refused.value.message


def test_a_missing_package_is_named(ready: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ksql_spark.lake.delta", raising=False)
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(
        KsqlError, match=r"needs the Python package deltalake\. .* -m pip install 'ksql-spark\[lake\]'"
    ):
        ready.run("CREATE SINK lake FROM es WITH (TYPE='delta', PATH='/x');")


def test_archives(ready: World, tmp_path: Path) -> None:
    folder = tmp_path / "x"
    ready.run(f"CREATE SINK a FROM es WITH (TYPE='parquet', PATH='{folder}', ARCHIVE=true);")
    assert [path.name for path in (folder / "_ksql").iterdir()] == [f"{1:020}.json"]
    ready.run("CREATE SINK b FROM es WITH (TYPE='parquet', PATH='/y', ARCHIVE=false);")
    assert [(sink.name, sink.is_archive) for sink in sinks(ready)] == [("A", True), ("B", False)]
    declared = f"CREATE STREAM old (k STRING KEY) WITH (KAFKA_TOPIC='es', FORMAT='JSON', ARCHIVE='{folder}');"
    ready.run(declared)
    assert ready.services.metastore.require("OLD").archive == str(folder)
    with pytest.raises(KsqlError, match=rf"The sink A writes {folder}/, and archives have folders of their"):
        ready.run(f"CREATE SINK c FROM es WITH (TYPE='parquet', PATH='{folder}/');")
    # only CREATE SINK makes an archive; a restart takes a folder that is gone for what it is
    shutil.rmtree(folder)
    ready.restart()
    assert not folder.exists()


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        (
            "CREATE SINK a FROM es WITH (TYPE='delta', PATH='/x', ARCHIVE=true);",
            "written by TYPE = 'parquet'",
        ),
        ("CREATE SINK a FROM es WITH (TYPE='parquet', PATH='/x', ARCHIVE='/y');", "Expected true or false"),
        (
            "CREATE SINK a FROM es WITH (TYPE='parquet', PATH='/x', ARCHIVE=true, PARTITION_BY='k');",
            "by day and",
        ),
        ("CREATE SINK a FROM et WITH (TYPE='parquet', PATH='/x', ARCHIVE=true);", "rows of a table change"),
        ("CREATE STREAM x (k INT) WITH (KAFKA_TOPIC='es', FORMAT='JSON', ARCHIVE=true);", "is the folder"),
        (
            "CREATE STREAM x (k INT) WITH (KAFKA_TOPIC='es', FORMAT='JSON', ARCHIVE='gs://b/x');",
            "or one of S3",
        ),
        (
            "CREATE STREAM x (k INT) WITH (LAKE='/x', FORMAT='csv', ARCHIVE='/y');",
            "not for streams with LAKE",
        ),
        (
            "CREATE TABLE x (k INT PRIMARY KEY) WITH (KAFKA_TOPIC='es', FORMAT='JSON', ARCHIVE='/x');",
            "ARCHIVE is for streams",
        ),
    ],
)
def test_archives_that_are_refused(ready: World, statement: str, says: str) -> None:
    with pytest.raises(KsqlError) as refused:
        ready.run(statement)
    assert says in refused.value.message


def test_compaction(ready: World) -> None:
    ready.run("CREATE SINK lake FROM es WITH (TYPE='parquet', PATH='/x/lake');")
    ready.run("COMPACT SINK lake; COMPACT SINK lake;")
    assert sinks(ready)[0].compactions == 2
    ready.restart()
    assert sinks(ready)[0].compactions == 2
    ready.run("CREATE SINK db FROM es WITH (TYPE='jdbc', URL='sqlite:/x.db');")
    with pytest.raises(KsqlError, match="writes a table of a database, which has no files to compact"):
        ready.run("COMPACT SINK db;")
    ready.run("CREATE STREAM again (k STRING) WITH (LAKE='/x/lake/', FORMAT='parquet', KAFKA_TOPIC='again');")
    with pytest.raises(KsqlError, match="The stream AGAIN reads the files of LAKE, and would take those"):
        ready.run("COMPACT SINK lake;")
