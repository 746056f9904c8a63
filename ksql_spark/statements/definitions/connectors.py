"""Connector statements: passed to Kafka Connect (reference §2.10, §2.11, §2.13). None is logged."""

from __future__ import annotations

import contextlib
import queue
import re
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from ksql_spark.entities import Entity, KsqlWarning
from ksql_spark.entities.commands import WarningEntity
from ksql_spark.entities.connectors import (
    ConnectorDescription,
    ConnectorInfo,
    ConnectorList,
    ConnectorPluginsList,
    ConnectorSetting,
    ConnectorSettings,
    CreateConnectorEntity,
    DropConnectorEntity,
    SimpleConnectorInfo,
    SimpleConnectorPluginInfo,
)
from ksql_spark.errors import KsqlError, name_hint, nearest
from ksql_spark.grammar.statements.connectors import CreateConnector, DropConnector
from ksql_spark.grammar.statements.describe import DescribeConnector
from ksql_spark.grammar.statements.show import Show
from ksql_spark.kafka_connect import ConnectCluster
from ksql_spark.masking import masked, masked_values, secrets
from ksql_spark.statements.base.context import Action, Immediate, Services, StatementContext
from ksql_spark.statements.base.describe import source_description
from ksql_spark.statements.base.handlers import handles

_CLASS = "connector.class"
#: how long a plain list of topics waits for Connect
SOON_S = 1.0


@handles
def create_connector(statement: CreateConnector, context: StatementContext) -> Action:
    """CREATE SOURCE|SINK CONNECTOR [IF NOT EXISTS]: Connect validates and runs it."""
    cluster, name, kind = context.services.connect, statement.name, statement.kind
    if empty := next((p.name for p in statement.properties if p.value is None), None):
        reason = f"Property {empty} of connector {name} is NULL."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint="Leave it out.")
    properties = {p.name: _text(p.value) for p in statement.properties}
    class_ = properties.get(_CLASS, "").strip()
    if not class_:
        meant = next((key for key in properties if key.lower() == _CLASS), None)
        raise KsqlError(
            "INVALID_STATEMENT",
            reason=f"Connector {name} has no class.",
            hint=f"The property is {_CLASS}, not {meant}."
            if meant and meant != _CLASS
            else f"Add WITH (\"{_CLASS}\" = '...'); SHOW CONNECTOR PLUGINS lists them.",
        )
    _check_name(name, properties)

    def run() -> Entity:
        connect = cluster.client()
        if there := _match(connect.names(), name):
            return exists(there)
        plugins = connect.plugins()
        _check_kind(kind, class_, plugins)
        config = cluster.completed(kind, {**properties, "name": name})
        with _without(secrets(config)):
            try:
                created = connect.create(name, config)
            except KsqlError as error:
                if error.condition == "REMOTE_CONFLICT" and (there := _match(connect.names(), name)):
                    return exists(there)  # another client was faster
                if error.condition == "REMOTE_REFUSED" and not _plugin(class_, plugins):
                    near = nearest(class_, (plugin for p in plugins for plugin in _names_of(p)))
                    error.hint = f"Did you mean {near}?" if near else "SHOW CONNECTOR PLUGINS lists them."
                raise
        info = ConnectorInfo(
            name=created.get("name"),
            config=masked_values(created.get("config") or {}),
            tasks=None if created.get("tasks") is None else tuple(created["tasks"]),
            type=created.get("type"),
        )
        return CreateConnectorEntity(statement_text=statement.source_text, info=info)

    def exists(there: str) -> Entity:
        if not statement.if_not_exists:
            raise KsqlError("REMOTE_CONFLICT", name="Kafka Connect", reason=f"connector {there} exists")
        message = f"Connector {there} already exists"
        return WarningEntity(statement_text=statement.source_text, message=message)

    return Immediate(run, waits=True)


#: characters that Connect's REST API does not allow in a path, so that the connector could not be dropped
_NOT_IN_NAMES = re.compile(r"[/\\%{}\x00-\x1f\x7f]")
_LONGEST_NAME = 200


def _check_name(name: str, config: Mapping[str, str]) -> None:
    """Refuse names that Connect accepts but cannot handle afterwards."""
    problem = None
    if not name.strip() or name in (".", ".."):
        problem = "It cannot be used as a name."
    elif match := _NOT_IN_NAMES.search(name):
        problem = f"It contains {match[0]!r}, which Kafka Connect cannot have in a name."
    elif len(name.encode()) > _LONGEST_NAME:
        problem = f"It has {len(name.encode())} bytes, more than {_LONGEST_NAME}."
    elif config.get("name", name) != name:
        problem = f"Its property name is {config['name']}: remove it, or make both the same."
    if problem:
        shown = name if len(name) <= 60 else f"{name[:60]}…"
        raise KsqlError("INVALID_STATEMENT", reason=f"Connector {shown!r} cannot be created. {problem}")


def _check_kind(kind: str, class_: str, plugins: Iterable[Mapping[str, Any]]) -> None:
    """Raise if Connect knows the class as one of the other kind."""
    plugin = _plugin(class_, plugins)
    is_kind = str((plugin or {}).get("type") or kind).upper()
    if is_kind != kind and is_kind in ("SOURCE", "SINK"):
        raise KsqlError(
            "INVALID_STATEMENT",
            reason=f"{class_} is a {is_kind.lower()} connector.",
            hint=f"Write CREATE {is_kind} CONNECTOR.",
        )


def _plugin(class_: str, plugins: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Connect's plugin for ``class_``, which may be named without its package."""
    return next((plugin for plugin in plugins if class_ in _names_of(plugin)), None)


def _names_of(plugin: Mapping[str, Any]) -> tuple[str, str, str]:
    full = str(plugin.get("class"))
    simple = full.rpartition(".")[2]
    return full, simple, simple.removesuffix("Connector")


@contextlib.contextmanager
def _without(secrets: Collection[str]) -> Iterator[None]:
    """Mask secrets of the request that Connect repeats in an error."""
    try:
        yield
    except KsqlError as error:
        error.parameters["reason"] = masked(str(error.parameters.get("reason", "")), secrets)
        raise


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _names(cluster: ConnectCluster) -> list[str]:
    """The names of all connectors; does not start a worker that never had any."""
    return cluster.client().names() if cluster.is_in_use() else []


def _match(names: Collection[str], name: str) -> str | None:
    """The one of ``names`` that equals ``name`` ignoring case (§2.13), preferring the same case, or None."""
    return next((n for n in names if n == name), None) or next(
        (n for n in names if n.upper() == name.upper()), None
    )


def _unknown(name: str, names: Collection[str]) -> KsqlError:
    hint = name_hint(name, names, "SHOW CONNECTORS lists all connectors.")
    return KsqlError("CONNECTOR_UNKNOWN", name=name, hint=hint)


@handles
def drop_connector(statement: DropConnector, context: StatementContext) -> Action:
    """DROP CONNECTOR [IF EXISTS]."""
    cluster, name = context.services.connect, statement.name

    def run() -> Entity:
        names = _names(cluster)
        match = _match(names, name)
        # another client may be faster
        if match is not None and cluster.client().delete(match):
            return DropConnectorEntity(statement_text=statement.source_text, connector_name=match)
        if not statement.if_exists:
            raise _unknown(name, names)
        message = f"Connector '{name}' does not exist."
        return WarningEntity(statement_text=statement.source_text, message=message)

    return Immediate(run, waits=True)


@handles
def describe_connector(statement: DescribeConnector, context: StatementContext) -> Action:
    """DESCRIBE CONNECTOR name: its state, its topics, and the streams and tables over them."""
    services = context.services

    def run() -> Entity:
        names = _names(services.connect)
        name = _match(names, statement.name)
        if name is None:
            raise _unknown(statement.name, names)
        connect = services.connect.client()
        config = connect.info(name).get("config") or {}
        topics = connect.topics(name)
        sources = tuple(
            source_description(source, context, extended=False)
            for source in services.metastore.sources()
            if source.topic in topics
        )
        return ConnectorDescription(
            statement_text=statement.source_text,
            connector_class=config.get(_CLASS, ""),
            status=_without_secrets(connect.status(name), config),
            sources=sources,
            topics=tuple(topics),
        )

    return Immediate(run, waits=True)


def show_connectors(statement: Show, context: StatementContext) -> Entity:
    """SHOW [SOURCE|SINK] CONNECTORS; warnings report why connectors, or the worker, have failed."""
    cluster = context.services.connect
    warnings: list[KsqlWarning] = []
    connectors: Mapping[str, Any] = {}
    if cluster.is_in_use():
        try:
            connectors = cluster.client().connectors()
        except KsqlError as error:
            connectors = cluster.last_seen()
            if not connectors:
                raise
            warnings.append(KsqlWarning(error.message))
    complaints = cluster.complaints() if connectors and not warnings else {}
    rows = []
    for name, facts in sorted(connectors.items()):
        info, status = facts.get("info") or {}, facts.get("status") or {}
        config = info.get("config") or {}
        type_ = str(info.get("type") or status.get("type") or "unknown")
        if statement.scope is None or type_.upper() == statement.scope:
            class_ = config.get(_CLASS, "")
            rows.append(SimpleConnectorInfo(name=name, type=type_, class_name=class_, state=_state(status)))
            failures = list(_failures(name, _without_secrets(status, config)))
            if not failures and (cause := _cause(masked(complaints.get(name, ""), secrets(config)))):
                failures = [f"Connector {name} is running, but its log says: {cause}"]
            warnings += map(KsqlWarning, failures)
    return ConnectorList(
        statement_text=statement.source_text, connectors=tuple(rows), warnings=tuple(warnings)
    )


def _without_secrets(status: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """``status`` with traces that reveal no secret of the configuration."""
    values = secrets(config)

    def hidden(part: Mapping[str, Any]) -> dict[str, Any]:
        return {k: masked(v, values) if k == "trace" and isinstance(v, str) else v for k, v in part.items()}

    shown = dict(status)
    if status.get("connector"):
        shown["connector"] = hidden(status["connector"])
    if status.get("tasks"):
        shown["tasks"] = [hidden(task) for task in status["tasks"]]
    return shown


def _failures(name: str, status: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each reason for which a connector or its tasks have failed."""
    connector = status.get("connector") or {}
    if reason := _cause(connector.get("trace")):
        yield f"Connector {name} is {connector.get('state')}: {reason}"
    by_reason: dict[str, list[str]] = {}
    for task in status.get("tasks") or []:
        if reason := _cause(task.get("trace")):
            by_reason.setdefault(f"is {task.get('state')}: {reason}", []).append(str(task.get("id")))
    for text, ids in by_reason.items():
        yield f"Connector {name}, task {', '.join(ids)} {text}"


_EXCEPTION = re.compile(r"^(?:Caused by: )?(?:[\w$]+\.)*([\w$]+(?:Exception|Error|Throwable)\b)")


def _cause(trace: object) -> str:
    """The messages of the first and the last exception of a Java stack trace, in one line."""
    lines = [line for line in str(trace or "").splitlines() if line.strip()]
    heads = [line for line in lines if not line[0].isspace()]
    causes = [line for line in heads if line.startswith("Caused by: ")]
    messages = list(dict.fromkeys(_EXCEPTION.sub(r"\1", line.strip()) for line in [*heads[:1], *causes[-1:]]))
    return ", caused by ".join(messages)


def _state(status: Mapping[str, Any]) -> str:
    """Describe a connector's state, for example ``RUNNING (1/2 tasks RUNNING)``."""
    own = (status.get("connector") or {}).get("state", "UNKNOWN")
    tasks = [task.get("state") for task in status.get("tasks") or []]
    running = tasks.count("RUNNING")
    if own == "RUNNING" and tasks and running < len(tasks):
        own = "WARNING" if running else "FAILED"
    return f"{own} ({running}/{len(tasks)} tasks RUNNING)"


def show_plugins(statement: Show, context: StatementContext) -> Entity:
    """SHOW CONNECTOR PLUGINS."""
    plugins = context.services.connect.client().plugins()
    rows = tuple(
        SimpleConnectorPluginInfo(class_name=p["class"], type=p.get("type"), version=p.get("version"))
        for p in plugins
    )
    return ConnectorPluginsList(statement_text=statement.source_text, connectors_plugins=rows)


def settings(class_: str, services: Services) -> ConnectorSettings | None:
    """Return the settings of a class of connectors; None if Kafka Connect does not have it.

    Raises:
        KsqlError: as ConnectClient.
    """
    descriptions = services.connect.client().settings(class_)
    if descriptions is None:
        return None
    rows = tuple(
        ConnectorSetting(
            name=str(one["name"]),
            type=str(one.get("type")),
            required=bool(one.get("required")),
            default_value=None if one.get("default_value") is None else str(one["default_value"]),
            importance=str(one.get("importance")),
            group=one.get("group"),
            documentation=str(one.get("documentation") or ""),
        )
        for one in descriptions
    )
    return ConnectorSettings(class_name=class_, settings=rows)


def writers(cluster: ConnectCluster) -> dict[str, list[str]]:
    """The source connectors that have written each topic: topic -> their names, sorted."""
    by_topic: dict[str, list[str]] = {}
    if cluster.is_in_use():
        connect = cluster.client()
        for name, facts in sorted(connect.connectors().items()):
            if (facts.get("info") or {}).get("type") == "source":
                for topic in connect.topics(name):
                    by_topic.setdefault(topic, []).append(name)
    return by_topic


def writers_in_time(cluster: ConnectCluster) -> dict[str, list[str]] | None:
    """Return writers() without ever waiting for Connect; None if it has not responded within SOON_S."""
    answers: queue.Queue[dict[str, list[str]] | KsqlError] = queue.Queue()

    def ask() -> None:
        try:
            answers.put(writers(cluster))
        except KsqlError as error:
            answers.put(error)

    threading.Thread(target=ask, name="connect-writers", daemon=True).start()
    try:
        answer = answers.get(timeout=SOON_S)
    except queue.Empty:
        return None
    if isinstance(answer, KsqlError):
        raise answer
    return answer
