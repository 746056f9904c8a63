"""Finds properties by any of their names."""

from __future__ import annotations

from typing import Any

from ksql_spark.config.kafka_settings import (
    CLIENTS_MAY_SET,
    KAFKA_SETTINGS,
    PASSED_ON,
    PREFIXES_OF,
    SECURITY,
    STREAMS_PREFIX,
    is_security,
    setting_name,
)
from ksql_spark.config.property import Property, Type
from ksql_spark.config.table import PROPERTIES
from ksql_spark.errors import KsqlError, nearest
from ksql_spark.masking import is_secret

#: prefixes of settings that other programs define; their names are not checked
_FAMILIES = (
    "ksql.schema.registry.", "ksql.connect.", "ksql.functions.", "ksql.authentication.", "ksql.security.",
    "ksql.internal.", "authentication.", "connect.", "confluent.", "spark.", "fs.",
)  # fmt: skip

#: prefixes of settings that are passed to the program that defines them
_PASSED = ("ksql.schema.registry.", "ksql.connect.", "spark.", "fs.")


def canonical(name: str) -> str | None:
    """The canonical name of a property that may have several names, or None if no property has ``name``.

    >>> canonical("auto.offset.reset"), canonical("ksql.streams.auto.offset.reset")
    ('ksql.streams.auto.offset.reset', 'ksql.streams.auto.offset.reset')
    >>> canonical("ksql.streams.bootstrap.servers"), canonical("nonsense")
    ('bootstrap.servers', None)
    """
    name = name.strip()
    if name in PROPERTIES:
        return name
    bare = name.removeprefix(STREAMS_PREFIX)
    if bare == "bootstrap.servers":
        return bare
    setting = setting_name(name)
    if setting in KAFKA_SETTINGS or setting.startswith(SECURITY):
        return name if setting.startswith(SECURITY) and setting == name else STREAMS_PREFIX + bare
    if name.startswith(_FAMILIES) and name not in _FAMILIES:
        return name
    return None


def is_valid_property(name: str) -> bool:
    """Whether ``name`` is one of the names of a property."""
    return canonical(name) is not None


def find(name: str, source: str | None = None) -> Property:
    """The property called ``name``.

    Args:
        name: any name of the property.
        source: where the name was read, for the error message.

    Raises:
        KsqlError: PROPERTY_UNKNOWN with the nearest name.
    """
    property_name = canonical(name)
    if property_name is None:
        hints = [f"It is in {source}."] if source else []
        bare = (entry.removeprefix(STREAMS_PREFIX) for entry in PROPERTIES)
        near = nearest(name, [*PROPERTIES, *bare, *KAFKA_SETTINGS])
        if near:
            hints.append(f"Did you mean '{near}'?")
        raise KsqlError("PROPERTY_UNKNOWN", name=name, hint=" ".join(hints) or None)
    if property_name in PROPERTIES:
        return PROPERTIES[property_name]
    kind: Type = "password" if is_secret(property_name) else "string"
    return Property(
        property_name,
        kind,
        None,
        "Passed on unchanged.",
        editable=setting_name(property_name) in CLIENTS_MAY_SET,
        in_force=_is_passed_on(property_name),
    )


def _is_passed_on(name: str) -> bool:
    """Whether a name outside the table is passed to a Kafka client, Spark or a schema registry."""
    return is_security(setting_name(name)) or name.startswith(_PASSED) or is_of_client(name)


def is_of_client(name: str) -> bool:
    """Whether a name is that of a setting, other than security, that is passed to a Kafka client."""
    bare = name.removeprefix(STREAMS_PREFIX)
    for client, settings in PASSED_ON.items():
        prefix = next((p for p in PREFIXES_OF[client] if bare.startswith(p)), "")
        if bare.removeprefix(prefix) in settings:
            return True
    return False


def warning(name: str, value: Any) -> str | None:
    """A warning for a user who sets a property that has no effect; None if it has one.

    Raises:
        KsqlError: PROPERTY_UNKNOWN, PROPERTY_INVALID.
    """
    entry = find(name)
    if entry.in_force or entry.parse(value) == entry.default:
        return None
    return f"Property '{name}' has no effect: ksql-spark accepts it for compatibility with ksqlDB."
