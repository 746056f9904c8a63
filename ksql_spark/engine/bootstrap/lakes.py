"""Starts what follows the metastore beside queries: sinks to lakes, streams and tables that follow lakes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ksql_spark.config import CurrentConfig
from ksql_spark.engine.bootstrap.lifecycle import Lifecycle
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.lake.following import Run
from ksql_spark.lake.origins import Changes, OriginRun, Origins, OriginStatus
from ksql_spark.lake.positions import Encoded, Positions, positions_topic
from ksql_spark.lake.sinks import Range, Sinks
from ksql_spark.lake.streams import StreamRun
from ksql_spark.lake.tables import DELETED, Refusal
from ksql_spark.metastore.catalog import Catalog
from ksql_spark.metastore.origins import Origin
from ksql_spark.metastore.serdes import record_spec, registered
from ksql_spark.metastore.sinks import Sink
from ksql_spark.metastore.sources import DataSource
from ksql_spark.runtime.cluster.placement import Placement
from ksql_spark.runtime.driver.access import SparkAccess
from ksql_spark.schema import Column
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.spark import lake
from ksql_spark.spark.processing_log import ProcessingLog
from ksql_spark.spark.session import new_session

if TYPE_CHECKING:
    import pyarrow as pa


def create_sinks(
    config: CurrentConfig,
    catalog: Catalog,
    admin: KafkaAdmin,
    spark: SparkAccess,
    processing_log: ProcessingLog,
    placement: Placement | None,
    lifecycle: Lifecycle,
) -> Sinks:
    """The sinks of the metastore, which nobody runs yet; the parameters are those of create_queries()."""

    def read(sink: Sink, source: DataSource, columns: tuple[Column, ...], part: Range) -> pa.Table:
        current, session = config(), new_session(spark.session())
        # the ends of ranges are those of committed records
        consumer = {**current.client_settings("consumer"), "isolation.level": "read_committed"}
        if sink.is_archive:
            return lake.raw_records(session, consumer, source.topic, columns, part.starts, part.ends)
        reports = processing_log.attach(session, sink.id, [source.topic])
        return lake.rows(
            session, consumer, source, columns, part.starts, part.ends, DELETED, reports, current.__getitem__
        )

    def report(sink: Sink, refused: Sequence[Refusal]) -> None:
        for row in refused:
            processing_log.failed(sink.id, "Sink", "The table refused a row.", row.reason, row.row)

    sinks = Sinks(catalog, admin, read, lambda: placement is None or placement.is_first(), report)
    lifecycle.on_stop(sinks.close)
    return sinks


def create_origins(
    config: CurrentConfig,
    catalog: Catalog,
    admin: KafkaAdmin,
    spark: SparkAccess,
    registry: SchemaRegistry | None,
    placement: Placement | None,
    lifecycle: Lifecycle,
) -> Origins:
    """The streams and tables that follow tables outside Kafka, which nobody refreshes yet; the parameters are
    those of create_queries()."""

    def write(source: DataSource, origin: Origin, rows: pa.Table, ends: Mapping[int, int]) -> Changes:
        current, session = config(), new_session(spark.session())
        consumer = {**current.client_settings("consumer"), "isolation.level": "read_committed"}
        producer = current.client_settings("producer")
        records, now_ms = registered(record_spec(source), registry), int(time.time() * 1000)
        done = lake.bring_into_step(session, consumer, producer, source, records, rows, ends, now_ms)
        if done.twice is not None:
            reason = f"several rows have the key {done.twice}, and a PRIMARY KEY has one"
            raise KsqlError("LAKE_UNREADABLE", path=origin.path, reason=reason)
        return Changes(done.rows, done.written, done.removed, done.without_key)

    class Records:
        """An Encoder that computes times and records with Spark."""

        def __init__(self, path: str) -> None:
            self._path = path

        def times(self, source: DataSource, rows: pa.Table) -> pa.ChunkedArray:
            return lake.times(new_session(spark.session()), source, rows)

        def records(self, source: DataSource, rows: pa.Table) -> Iterator[Encoded]:
            records, now_ms = registered(record_spec(source), registry), int(time.time() * 1000)
            table = lake.encoded(new_session(spark.session()), source, records, rows, now_ms)
            columns = [table[name].to_pylist() for name in ("key", "value", "time")]
            for key, value, time_ms in zip(*columns, strict=True):
                for data in (key, value):
                    if data is not None and data.startswith(lake.UNWRITABLE):
                        why = data[len(lake.UNWRITABLE) :].decode()
                        reason = f"a row does not fit the schema of the topic {source.topic}: {why}"
                        raise KsqlError("LAKE_UNREADABLE", path=self._path, reason=reason)
                yield Encoded(key, value, time_ms)

    def run(
        definition: tuple[DataSource, Origin], status: OriginStatus
    ) -> Run[tuple[DataSource, Origin], OriginStatus]:
        source, origin = definition
        if source.is_table:
            return OriginRun(definition, admin, write, status)
        topic = positions_topic(str(config()["ksql.service.id"]), source.topic)
        return StreamRun(definition, admin, Records(origin.path), partial(Positions, admin, topic), status)

    origins = Origins(catalog, run, lambda: placement is None or placement.is_first())
    lifecycle.on_stop(origins.close)
    return origins
