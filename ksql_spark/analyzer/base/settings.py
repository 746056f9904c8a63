"""Properties that change rules or defaults (reference §9), read from a mapping."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.config import PROPERTIES
from ksql_spark.grammar import nodes
from ksql_spark.metastore.sources import DataSource


def flag(config: Mapping[str, Any], name: str, default: bool = True) -> bool:
    """The boolean property ``name``: a bool, or a text such as 'false'."""
    value = config.get(name)
    if value is None:
        return default
    return value if isinstance(value, bool) else str(value).strip().lower() == "true"


def text(config: Mapping[str, Any], name: str) -> str | None:
    """The property ``name`` as text; None if it is absent or empty."""
    value = config.get(name)
    return None if value is None or str(value) == "" else str(value)


def is_read_only_topic(config: Mapping[str, Any], topic: str) -> bool:
    """Whether nothing may be written to ``topic``: one of ksql.readonly.topics, such as the command log's."""
    setting = PROPERTIES["ksql.readonly.topics"]
    patterns = setting.parse(config.get(setting.name, setting.default)) or ()
    return any(re.fullmatch(pattern, topic) for pattern in patterns)


def is_ansi(config: Mapping[str, Any]) -> bool:
    """Whether NULL in conditions has the meaning of the SQL standard (reference §3.2)."""
    return str(config.get("ksql.sql.nulls") or "").lower() == "ansi"


def is_untyped(config: Mapping[str, Any]) -> bool:
    """Whether a text literal takes the type of what it is compared with (reference §3.3)."""
    return str(config.get("ksql.sql.literals") or "").lower() == "untyped"


def is_postgres(config: Mapping[str, Any]) -> bool:
    """Whether functions, operators and orders are PostgreSQL's (reference §3.7)."""
    return str(config.get("ksql.sql.dialect") or "").lower() == "postgres"


def check_lambdas(node: exp.Expr, config: Mapping[str, Any]) -> None:
    """Refuse lambdas if ksql.lambdas.enabled is false; running queries are not affected.

    Raises:
        KsqlError: INVALID_STATEMENT at the first lambda.
    """
    if flag(config, "ksql.lambdas.enabled"):
        return
    first = node.find(nodes.Lambda)
    if first is not None:
        raise invalid("Lambdas are not enabled at this time: ksql.lambdas.enabled is false.", first)


def is_materialised(source: DataSource, config: Mapping[str, Any]) -> bool:
    """Whether pull queries read the table ``source`` from a view."""
    return source.is_sink or (source.read_only and flag(config, "ksql.source.table.materialization.enabled"))
