"""The values of properties: from the file, the environment, the command line and requests."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ksql_spark.config.files import environment_properties, read_properties
from ksql_spark.config.kafka_settings import (
    MAX_FOR_CLIENTS,
    NO_REPORTS,
    PASSED_ON,
    PREFIXES_OF,
    STREAMS_PREFIX,
    Client,
    check_of_client,
    is_security,
    setting_name,
)
from ksql_spark.config.names import canonical, find, is_of_client
from ksql_spark.config.property import MAX_SHOWN, Property, json_text
from ksql_spark.config.table import PROPERTIES
from ksql_spark.errors import KsqlError
from ksql_spark.masking import HIDDEN, masked, secrets


def share_of(most: int, share: float) -> int:
    """Return how many of ``most`` one client may have, if ``share`` is its part of them: at least one.

    >>> share_of(100, 0.8), share_of(1, 0.8), share_of(0, 0.8)
    (80, 1, 0)
    """
    return min(most, max(1, int(most * share)))


class Config(Mapping[str, Any]):
    """Values of properties: those that were set, and the table's defaults. Immutable.

    ``config[name]`` is the typed value of a property under any of its names: the value that was set, else its
    default, else None. A name that no property has is a KeyError. Only properties in force can be read.
    """

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._set = {entry.name: entry.parse(value) for entry, value in _pairs(values or {}, None)}

    @classmethod
    def load(
        cls,
        properties_file: str | Path | None = None,
        environ: Mapping[str, str] | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> Config:
        """The server's configuration from file, environment and overrides; a later source wins.

        Args:
            properties_file: a file in the syntax of Java properties.
            environ: variables; those that start with KSQL_ are properties (see environment_properties()).
            overrides: values from the command line, by property name.

        Raises:
            KsqlError: PROPERTY_UNKNOWN, PROPERTY_INVALID, BAD_REQUEST for a file that cannot be read.
        """
        merged: dict[str, Any] = {}
        sources: list[tuple[Mapping[str, Any], str | None]] = []
        if properties_file is not None:
            sources.append((read_properties(properties_file), f"the file {properties_file}"))
        sources.append((environment_properties(environ or {}), "the environment, as a variable KSQL_…"))
        sources.append((overrides or {}, None))
        for values, source in sources:
            for entry, value in _pairs(values, source):
                merged[entry.name] = parsed = entry.parse(value)
                if entry.name not in PROPERTIES and is_of_client(entry.name):
                    check_of_client(entry, str(parsed))
        return cls(merged)

    def __getitem__(self, name: str) -> Any:
        full_name = canonical(name)
        if full_name is None:
            raise KeyError(name)
        assert find(full_name).in_force, f"{full_name} is read, so its row must have in_force=True"
        return self._value(full_name)

    def _value(self, name: str) -> Any:
        if name in self._set:
            return self._set[name]
        if name == "ksql.spark.data.dir":
            return str(default_data_dir())
        return PROPERTIES[name].default if name in PROPERTIES else None

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*PROPERTIES, *self._set}))

    def __len__(self) -> int:
        return len({*PROPERTIES, *self._set})

    def is_set(self, name: str) -> bool:
        """Whether the property was set, even to its default."""
        return canonical(name) in self._set

    def with_values(self, values: Mapping[str, Any]) -> Config:
        """Return this configuration with some values replaced, even those that requests may not override."""
        return Config({**self._set, **Config(values)._set})

    def with_overrides(self, overrides: Mapping[str, Any]) -> Config:
        """The configuration of a request: this one with the request's overrides.

        Raises:
            KsqlError: as validate_override().
        """
        return self.with_values({name: self.validate_override(name, overrides[name]) for name in overrides})

    def check_editable(self, name: str) -> Property:
        """The property that a client wants to set, if the table or CLIENTS_MAY_SET allows it and the server's
        configuration does not deny it.

        Raises:
            KsqlError: PROPERTY_UNKNOWN, PROPERTY_FIXED.
        """
        entry = find(name)
        denied = {canonical(item) or item for item in self["ksql.properties.overrides.denylist"]}
        if not entry.editable or entry.name in denied:
            raise KsqlError("PROPERTY_FIXED", name=name)
        return entry

    def validate_override(self, name: str, value: Any) -> Any:
        """The typed value of an override from SET or ``streamsProperties`` (reference §2.13, §9.1).

        Args:
            name: any name of the property.
            value: text, or a JSON value.

        Raises:
            KsqlError: PROPERTY_UNKNOWN, PROPERTY_INVALID; PROPERTY_FIXED if only the server's configuration
                may set it.
        """
        entry = self.check_editable(name)
        parsed = entry.parse(value)
        maximum = MAX_FOR_CLIENTS.get(setting_name(entry.name))
        if maximum is not None and not (
            re.fullmatch(r"-?[0-9]{1,20}", str(parsed)) and int(parsed) <= maximum
        ):
            reason = f"it must be a whole number, and in a request at most {maximum}"
            raise KsqlError("PROPERTY_INVALID", name=name, value=str(value)[:MAX_SHOWN], reason=reason)
        if entry.name not in PROPERTIES and parsed is not None:
            check_of_client(entry, str(parsed))
        scans = "ksql.query.pull.table.scan.enabled"
        if entry.name == scans and parsed and not self[scans]:
            raise KsqlError(
                "PROPERTY_INVALID", name=name, value="true", reason="the server has disabled table scans"
            )
        return parsed

    def text(self, name: str) -> str | None:
        """The value as SHOW PROPERTIES shows it, with secrets hidden; None if it has no value."""
        entry = find(name)
        value = self._value(entry.name)
        if value is None:
            return None
        if entry.type == "password":
            return HIDDEN
        return masked(",".join(value) if isinstance(value, list) else json_text(value))

    def secrets(self) -> frozenset[str]:
        """The configured secrets, to be hidden everywhere: passwords, including those in URLs."""
        return secrets(self._set)

    def with_prefix(self, prefix: str) -> dict[str, Any]:
        """The values set under names that start with ``prefix``, for example ``spark.``, by full name."""
        return {name: value for name, value in self._set.items() if name.startswith(prefix)}

    def client_settings(self, client: Client) -> dict[str, str]:
        """Settings of the Kafka clients on the JVM that read or write records.

        These are ``bootstrap.servers`` and the settings below ``ksql.streams.`` for all clients or for this
        kind, except those that the engine controls: serializers, offsets, groups, interceptors. By default,
        consumers read only committed records (isolation.level), and clients do not report metrics
        (metric.reporters, enable.metrics.push).
        """
        everyone: dict[str, str] = {}
        own: dict[str, str] = {}
        for name, value in self._set.items():
            bare = name.removeprefix(STREAMS_PREFIX)
            prefix = next((p for p in PREFIXES_OF[client] if bare.startswith(p)), "")
            setting = bare.removeprefix(prefix)
            if setting in PASSED_ON[client] or is_security(setting):
                (own if prefix else everyone)[setting] = str(value)
        settings = {"bootstrap.servers": str(self["bootstrap.servers"]), **NO_REPORTS, **everyone, **own}
        if client == "consumer":
            settings.setdefault("isolation.level", "read_committed")
        for store in ("truststore", "keystore"):
            if settings.get(f"ssl.{store}.location", "").endswith(_PEM_NAMES):
                settings.setdefault(f"ssl.{store}.type", "PEM")
        return settings

    def kafka_security_settings(self) -> dict[str, str]:
        """Security settings for Kafka's clients on the JVM, under their own names."""
        return {n: value for n, value in self.client_settings("consumer").items() if is_security(n)}

    def kafka_client_settings(self) -> dict[str, str]:
        """Security settings for our own Kafka clients, under librdkafka's names.

        Raises:
            KsqlError: PROPERTY_INVALID for a login module, or a trust store, that librdkafka cannot use.
        """
        security = self.kafka_security_settings()
        settings = {
            theirs: security[ours]
            for ours, theirs in _LIBRDKAFKA_NAMES.items()
            if security.get(ours) is not None
        }
        authorities = settings.get("ssl.ca.location", ".pem")
        if not authorities.endswith(_PEM_NAMES):
            raise KsqlError(
                "PROPERTY_INVALID",
                name="ssl.truststore.location",
                value=authorities,
                reason=f"it must be a PEM file named {', '.join(_PEM_NAMES)}; keytool -list -rfc writes one",
            )
        if security.get("ssl.endpoint.identification.algorithm") == "":
            settings["ssl.endpoint.identification.algorithm"] = "none"
        if jaas := security.get("sasl.jaas.config"):
            credentials = dict(re.findall(r'(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"', jaas))
            if len(credentials) != 2:
                raise KsqlError(
                    "PROPERTY_INVALID",
                    name="sasl.jaas.config",
                    value=HIDDEN,
                    reason="it must have a username and a password",
                )
            settings |= {f"sasl.{name}": re.sub(r"\\(.)", r"\1", text) for name, text in credentials.items()}
        return settings


class CurrentConfig:
    """The server's current configuration, which ALTER SYSTEM replaces. Thread-safe."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def __call__(self) -> Config:
        """The configuration of now."""
        return self.config


_PEM_NAMES = (".pem", ".crt", ".cer")

_LIBRDKAFKA_NAMES = {
    "security.protocol": "security.protocol",
    "sasl.mechanism": "sasl.mechanism",
    "ssl.keystore.location": "ssl.keystore.location",
    "ssl.keystore.password": "ssl.keystore.password",
    "ssl.key.password": "ssl.key.password",
    # for librdkafka a trust store is a PEM file
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.endpoint.identification.algorithm": "ssl.endpoint.identification.algorithm",
}


def _pairs(values: Mapping[str, Any], source: str | None) -> Iterator[tuple[Property, Any]]:
    for name, value in values.items():
        yield find(name, source), value


def default_data_dir() -> Path:
    """The default data folder: $XDG_DATA_HOME/ksql-spark or ~/.local/share/ksql-spark."""
    shared = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(shared).expanduser().absolute() / "ksql-spark"
