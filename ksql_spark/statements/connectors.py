"""Connector statements: passed to Kafka Connect's REST API (reference §2.10, §2.11, §2.13)."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from typing import Any

from grammar.statements.connectors import CreateConnector, DropConnector
from grammar.statements.describe import DescribeConnector
from grammar.statements.show import Show
from ksql_spark.errors import KsqlError, nearest
from ksql_spark.masking import masked, masked_values, secrets
from ksql_spark.statements.context import Action, Entity, Immediate, StatementContext
from ksql_spark.statements.describe import source_description
from ksql_spark.statements.entities import entity
from ksql_spark.statements.remote import Remote, quoted


def _connect(context: StatementContext) -> Remote:
    return Remote("Kafka Connect", str(context.config["ksql.connect.url"]), "ksql.connect.url")


def create_connector(statement: CreateConnector, context: StatementContext) -> Action:
    """CREATE SOURCE|SINK CONNECTOR [IF NOT EXISTS]: Connect checks and runs it."""
    connect, name = _connect(context), statement.name
    given = {p.name: p.value for p in statement.properties}
    if not any(key.lower() == "connector.class" for key in given):
        raise KsqlError(
            "INVALID_STATEMENT",
            reason=f"Connector {name} has no class.",
            hint="Add WITH (\"connector.class\" = '...'); SHOW CONNECTOR PLUGINS lists them.",
        )
    config = {"name": name, **{key: _text(value) for key, value in given.items()}}

    def run() -> Entity:
        there = _find(connect, name)
        if there is not None and statement.if_not_exists:
            message = f"Connector {there} already exists"
            return entity("warning_entity", statement.source_text, message=message)
        if there is not None:
            raise KsqlError("REMOTE_CONFLICT", name="Kafka Connect", reason=f"connector {there} exists")
        with _without(secrets(config)):
            made = connect.ask("POST", "connectors", body={"name": name, "config": config})
        info = {key: made.get(key) for key in ("name", "config", "tasks", "type")}
        info["config"] = masked_values(info["config"] or {})
        return entity("connector_info", statement.source_text, info=info)

    return Immediate(run, waits=True)


@contextlib.contextmanager
def _without(secrets: Collection[str]) -> Iterator[None]:
    """Hide what was sent where Connect repeats it in an error."""
    try:
        yield
    except KsqlError as error:
        error.parameters["reason"] = masked(str(error.parameters.get("reason", "")), secrets)
        raise


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _find(connect: Remote, name: str) -> str | None:
    """The name in Connect of the connector called ``name`` in any case (§2.13), or None."""
    names: list[str] = connect.ask("GET", "connectors")
    return next((n for n in names if n == name), None) or next(
        (n for n in names if n.upper() == name.upper()), None
    )


def _require(connect: Remote, name: str) -> str:
    found = _find(connect, name)
    if found is None:
        near = nearest(name, connect.ask("GET", "connectors"))
        hint = f"Did you mean {near}?" if near else "SHOW CONNECTORS lists what there is."
        raise KsqlError("INVALID_STATEMENT", reason=f"Connector {name} does not exist.", hint=hint)
    return found


def drop_connector(statement: DropConnector, context: StatementContext) -> Action:
    """DROP CONNECTOR [IF EXISTS]."""
    connect, name = _connect(context), statement.name

    def run() -> Entity:
        if statement.if_exists and _find(connect, name) is None:
            message = f"Connector '{name}' does not exist."
            return entity("warning_entity", statement.source_text, message=message)
        found = _require(connect, name)
        connect.ask("DELETE", f"connectors/{quoted(found)}")
        return entity("drop_connector", statement.source_text, connectorName=found)

    return Immediate(run, waits=True)


def describe_connector(statement: DescribeConnector, context: StatementContext) -> Action:
    """DESCRIBE CONNECTOR name: its state, its topics, and the streams and tables over them."""
    connect, services = _connect(context), context.services

    def run() -> Entity:
        name = _require(connect, statement.name)
        path = f"connectors/{quoted(name)}"
        info = connect.ask("GET", path)
        status = connect.ask("GET", f"{path}/status")
        listed = connect.ask("GET", f"{path}/topics", absent=(403, 404)) or {}
        topics: list[str] = (listed.get(name) or {}).get("topics") or []
        sources = [
            source_description(source, services, extended=False)
            for source in services.metastore.sources()
            if source.topic in topics
        ]
        return entity(
            "connector_description",
            statement.source_text,
            connectorClass=(info.get("config") or {}).get("connector.class", ""),
            status=status,
            sources=sources,
            topics=topics,
        )

    return Immediate(run, waits=True)


def show_connectors(statement: Show, context: StatementContext) -> Entity:
    """SHOW [SOURCE|SINK] CONNECTORS."""
    found = _connect(context).ask("GET", "connectors", query={"expand": ["info", "status"]})
    rows = []
    for name, facts in sorted(found.items()):
        info, status = facts.get("info") or {}, facts.get("status") or {}
        type_ = str(info.get("type") or status.get("type") or "unknown")
        if statement.scope is None or type_.upper() == statement.scope:
            class_ = (info.get("config") or {}).get("connector.class", "")
            rows.append({"name": name, "type": type_, "className": class_, "state": _state(status)})
    return entity("connector_list", statement.source_text, connectors=rows)


def _state(status: dict[str, Any]) -> str:
    """For instance ``RUNNING (1/2 tasks RUNNING)``."""
    own = (status.get("connector") or {}).get("state", "UNKNOWN")
    tasks = [task.get("state") for task in status.get("tasks") or []]
    running = tasks.count("RUNNING")
    if own == "RUNNING" and tasks and running < len(tasks):
        own = "WARNING" if running else "FAILED"
    return f"{own} ({running}/{len(tasks)} tasks RUNNING)"


def show_plugins(statement: Show, context: StatementContext) -> Entity:
    """SHOW CONNECTOR PLUGINS."""
    found = _connect(context).ask("GET", "connector-plugins")
    rows = [{"className": p["class"], "type": p.get("type"), "version": p.get("version")} for p in found]
    return entity("connector_plugins_list", statement.source_text, connectorsPlugins=rows)
