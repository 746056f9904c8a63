"""Entities and bodies as JSON: the one place that knows their names on the wire (reference §7.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pydantic

from ksql_spark.entities.base import Body, Entity
from ksql_spark.entities.catalog import (
    FunctionDescriptionList,
    FunctionNameList,
    PropertiesList,
    TypeList,
    VariablesList,
)
from ksql_spark.entities.commands import (
    AssertSchemaEntity,
    AssertTopicEntity,
    CommandStatusEntity,
    TerminateQueryEntity,
    WarningEntity,
)
from ksql_spark.entities.connectors import (
    ConnectorDescription,
    ConnectorList,
    ConnectorPluginsList,
    CreateConnectorEntity,
    DropConnectorEntity,
)
from ksql_spark.entities.queries import Queries, QueryDescriptionEntity, QueryDescriptionList
from ksql_spark.entities.sources import (
    KafkaTopicsList,
    KafkaTopicsListExtended,
    SourceDescriptionEntity,
    SourceDescriptionList,
    StreamsList,
    TablesList,
)

#: @type -> the class of the entity
ENTITIES: Mapping[str, type[Entity]] = {
    "assert_schema": AssertSchemaEntity,
    "assert_topic": AssertTopicEntity,
    "connector_description": ConnectorDescription,
    "connector_info": CreateConnectorEntity,
    "connector_list": ConnectorList,
    "connector_plugins_list": ConnectorPluginsList,
    "currentStatus": CommandStatusEntity,
    "describe_function": FunctionDescriptionList,
    "drop_connector": DropConnectorEntity,
    "function_names": FunctionNameList,
    "kafka_topics": KafkaTopicsList,
    "kafka_topics_extended": KafkaTopicsListExtended,
    "properties": PropertiesList,
    "queries": Queries,
    "queryDescription": QueryDescriptionEntity,
    "query_descriptions": QueryDescriptionList,
    "sourceDescription": SourceDescriptionEntity,
    "source_descriptions": SourceDescriptionList,
    "streams": StreamsList,
    "tables": TablesList,
    "terminate_query": TerminateQueryEntity,
    "type_list": TypeList,
    "variables": VariablesList,
    "warning_entity": WarningEntity,
}
_NAMES: Mapping[type[Body], str] = {cls: name for name, cls in ENTITIES.items()}
#: made when they are needed first, since each takes milliseconds
_adapters: dict[type[Body], pydantic.TypeAdapter[Any]] = {}


def to_json(body: Body) -> dict[str, Any]:
    """``body`` as a JSON object, for ``json.dumps``.

    An entity begins with its ``@type`` and ends with its warnings, as ksqlDB writes it.
    """
    cls = type(body)
    adapter = _adapters.get(cls)
    if adapter is None:
        adapter = _adapters[cls] = pydantic.TypeAdapter(cls)
    members: dict[str, Any] = adapter.dump_python(body, mode="json", by_alias=True)
    if not isinstance(body, Entity):
        return members
    warnings = members.pop("warnings")
    return {"@type": _NAMES[cls], **members, "warnings": warnings}
