"""Derives from conditions on ROWTIME which records of topics and archives a pull query must read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from ksql_spark.analyzer.relations.time_bounds import TimeBounds, bounds_of
from ksql_spark.lake import archives
from ksql_spark.metastore.sinks import archive_name
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.nodes import Node
from ksql_spark.plan.trees import relations
from ksql_spark.spark.sources import ArchiveRange, BatchRanges
from ksql_spark.statements.base.context import Services


def batch_ranges(root: Node, services: Services) -> BatchRanges:
    """Return the ranges of topics and archives that a pull query reads.

    Args:
        root: the last node of its logical plan.
        services: the engine's parts.

    Raises:
        KsqlError: TOPIC_UNKNOWN; those of archives.first_offsets.
    """
    admin = services.admin
    starts: dict[str, str] = {}
    read: dict[str, ArchiveRange] = {}
    for topic, (bounds, archive) in _streams(root).items():
        begins = {p: offset for (_, p), offset in admin.beginning_offsets(topic).items()}
        if archive is not None:
            name = archive_name(topic, admin.topic_id(topic))
            offsets = archives.first_offsets(archive, name, None)
            if admin.is_compacted(topic):
                ends = archives.ends(archive, name)
                begins = {p: max(offset, ends.get(p, 0)) for p, offset in begins.items()}
            if any(begins.get(p) for p in offsets):
                starts[topic] = _json(begins)
                read[topic] = ArchiveRange(archive, begins, *bounds)
        if bounds.first_ms is not None:
            later = {p: offset for (_, p), offset in admin.offsets([topic], bounds.first_ms).items()}
            starts[topic] = _json({p: max(offset, begins.get(p, 0)) for p, offset in later.items()})
    return BatchRanges(starts, read)


def archive_lines(root: Node) -> Iterator[str]:
    """Yield lines for EXPLAIN: how much of each archive a pull query reads."""
    for topic, (bounds, archive) in _streams(root).items():
        if archive is not None:
            whole, needed = archives.extent(archive), archives.extent(archive, *bounds)
            files = f"{needed.files:,} of {whole.files:,} files, {needed.days:,} of {whole.days:,} days"
            yield f"Archive of topic {topic}: {files} | Path: {archive}"


def _streams(root: Node) -> dict[str, tuple[TimeBounds, str | None]]:
    """Return for each stream's topic the range of times that the query needs, and the topic's archive."""
    by_topic: dict[str, tuple[TimeBounds, str | None]] = {}
    for relation, needed in zip(relations(root), bounds_of(root), strict=True):
        source: DataSource = relation.source
        if source.is_table or source.topic_pattern is not None:
            continue
        # a column of the value that is ROWTIME says nothing about the times of records
        bounds = needed if source.timestamp is None else TimeBounds()
        former = by_topic.get(source.topic)
        if former is not None:
            bounds = bounds.union(former[0])
        by_topic[source.topic] = bounds, source.archive or (former[1] if former is not None else None)
    return by_topic


def _json(offsets: Mapping[int, int]) -> str:
    return json.dumps({str(p): offset for p, offset in offsets.items()})
