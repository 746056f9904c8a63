"""Which streams and tables a statement may write to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from ksql_spark.analyzer.base import settings
from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.metastore.sources import DataSource
from ksql_spark.metastore.store import MetaStore

#: whether INSERT may write to a table that a query maintains
INTO_RESULTS = "ksql.insert.into.query.results.enabled"


def check_writable(source: DataSource, what: str, config: Mapping[str, Any], node: exp.Expr | None) -> None:
    """Refuse to write single rows to a SOURCE, a windowed source or a read-only topic.

    Args:
        what: for error messages: Cannot ``what`` …

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    word = source.kind.lower()
    if source.read_only:
        raise invalid(f"Cannot {what} read-only {word}: {source.name}", node)
    check_no_envelope(source, node, what)
    check_one_topic(source, what, node)
    if source.window is not None:
        raise invalid(f"Cannot {what} windowed {word}: {source.name}", node)
    if settings.is_read_only_topic(config, source.topic):
        raise invalid(f"Cannot {what} read-only topic: {source.topic}", node)


def writer_of(source: DataSource, metastore: MetaStore) -> DataSource | None:
    """The stream or table that a query writes to the topic of ``source``; None: no query writes there."""
    return next((s for s in metastore.sources() if s.is_sink and s.topic == source.topic), None)


def check_no_result(
    source: DataSource, metastore: MetaStore, config: Mapping[str, Any], node: exp.Expr | None
) -> None:
    """Refuse to insert into a table that a query maintains: the row would be overwritten, or be wrong.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    if (
        not source.is_table
        or settings.flag(config, INTO_RESULTS, False)
        or writer_of(source, metastore) is None
    ):
        return
    raise invalid(
        f"Cannot insert values into table {source.name}: a query maintains it and does not know of the row.",
        node,
        hint=f"Insert into what the query reads. SET '{INTO_RESULTS}' = 'true'; allows the row.",
    )


def check_one_topic(source: DataSource, what: str, node: exp.Expr | None) -> None:
    """Refuse what needs one topic, for a stream over all topics of a pattern; ``what``: Cannot ``what`` …

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    if source.topic_pattern is not None:
        reason = f"Cannot {what} {source.name}: it reads all topics of the pattern {source.topic_pattern}"
        raise invalid(reason, node, hint="Use a stream over one of these topics.")


def check_no_envelope(source: DataSource, node: exp.Expr | None, what: str = "insert into") -> None:
    """Refuse to write to a topic that only a program that captures changes writes.

    Args:
        what: for error messages: Cannot ``what`` …

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    if source.envelope is not None:
        raise invalid(
            f"Cannot {what} {source.kind.lower()} {source.name}: its topic holds envelopes of "
            f"{source.envelope}, which tell what happened in a database.",
            node,
            hint=f"Change the row in the database, or insert into a {source.kind.lower()} of your own.",
        )  # fmt: skip
