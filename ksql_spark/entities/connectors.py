"""Connectors. Kafka Connect's descriptions are passed on unchanged, without secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ksql_spark.entities.base import Body, Entity
from ksql_spark.entities.sources import SourceDescription


@dataclass(frozen=True, kw_only=True)
class SimpleConnectorInfo(Body):
    """A row of SHOW CONNECTORS, with a state for instance of "RUNNING (1/1 tasks RUNNING)"."""

    name: str
    type: str
    class_name: str
    state: str


@dataclass(frozen=True, kw_only=True)
class ConnectorList(Entity, type="connector_list"):
    """The answer to SHOW CONNECTORS."""

    connectors: tuple[SimpleConnectorInfo, ...]


@dataclass(frozen=True, kw_only=True)
class SimpleConnectorPluginInfo(Body):
    """A row of SHOW CONNECTOR PLUGINS."""

    class_name: str
    type: str | None
    version: str | None


@dataclass(frozen=True, kw_only=True)
class ConnectorPluginsList(Entity, type="connector_plugins_list"):
    """The answer to SHOW CONNECTOR PLUGINS."""

    connectors_plugins: tuple[SimpleConnectorPluginInfo, ...]


@dataclass(frozen=True, kw_only=True)
class ConnectorInfo(Body):
    """A connector as Kafka Connect has made it."""

    name: str | None
    config: Mapping[str, Any]
    tasks: tuple[Any, ...] | None
    type: str | None


@dataclass(frozen=True, kw_only=True)
class CreateConnectorEntity(Entity, type="connector_info"):
    """The answer to CREATE CONNECTOR."""

    info: ConnectorInfo


@dataclass(frozen=True, kw_only=True)
class DropConnectorEntity(Entity, type="drop_connector"):
    """The answer to DROP CONNECTOR."""

    connector_name: str


@dataclass(frozen=True, kw_only=True)
class ConnectorDescription(Entity, type="connector_description"):
    """The answer to DESCRIBE CONNECTOR.

    Args:
        status: as Kafka Connect's GET /connectors/<name>/status.
        sources: the streams and tables over its topics.
    """

    connector_class: str
    status: Mapping[str, Any]
    sources: tuple[SourceDescription, ...]
    topics: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ConnectorSetting(Body):
    """A setting of a class of connectors.

    Args:
        type: as Kafka Connect names it: STRING, INT, LONG, DOUBLE, BOOLEAN, LIST, CLASS or PASSWORD.
        importance: HIGH, MEDIUM or LOW.
    """

    name: str
    type: str
    required: bool
    default_value: str | None
    importance: str
    group: str | None
    documentation: str


@dataclass(frozen=True, kw_only=True)
class ConnectorSettings(Body):
    """The response to GET /connector-plugins/<class>."""

    class_name: str
    settings: tuple[ConnectorSetting, ...]
