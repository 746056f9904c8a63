"""SHOW VERSIONS: what a stream or table has been (beyond ksqlDB)."""

from __future__ import annotations

from ksql_spark.entities.evolutions import VersionInfo, VersionsList
from ksql_spark.grammar.statements.evolution import ShowVersions
from ksql_spark.runtime.versions import Version
from ksql_spark.security.masking import masked
from ksql_spark.statements.context import Action, Immediate, StatementContext


def show_versions(statement: ShowVersions, context: StatementContext) -> Action:
    """SHOW VERSIONS OF a stream or table."""
    name = statement.name
    context.metastore.require(name)
    return Immediate(
        lambda: VersionsList(
            statement_text=statement.source_text,
            name=name,
            versions=tuple(map(_info, context.services.versions.of(name))),
        )
    )


def _info(version: Version) -> VersionInfo:
    return VersionInfo(
        number=version.number,
        way=version.way,
        is_rollback=version.is_rollback,
        statement=masked(version.statement),
        timestamp=version.written_ms,
        user=version.user,
        query_id=version.query_id,
        command_sequence_number=version.sequence,
        starts=version.starts,
    )
