"""A Confluent schema registry, accessed over HTTP."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote
from uuid import UUID

from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from ksql_spark.errors import KsqlError
from ksql_spark.schema_registry import AVRO, Reference, RegisteredSchema

NAME = "The schema registry"
PROPERTY = "ksql.schema.registry.url"
#: how long a request may take
TIMEOUT_S = 5.0
#: how long an unresponsive registry is not asked again while reading records
REST_S = 5.0

#: ksqlDB's settings below ksql.schema.registry. -> the client's; certificate stores are PEM files here
_SETTINGS = {
    "basic.auth.user.info": "basic.auth.user.info",
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.keystore.location": "ssl.certificate.location",
    "ssl.key.location": "ssl.key.location",
    "ssl.key.password": "ssl.key.password",
}

_NOT_FOUND, _CONFLICT = 404, 409
Answer = TypeVar("Answer")


#: requested to see whether the registry responds
NO_SUBJECT = "ksql-spark-health"


class ConfluentRegistry:
    """See ksql_spark.schema_registry.SchemaRegistry.

    Args:
        url: its address; several, separated by commas, are tried in turn.
        settings: the settings below ``ksql.schema.registry.`` without that prefix: authentication and TLS.
        copies: a folder with copies of schemas, which are read while the registry does not respond; see
            RegistryClient.java, which writes them.

    Raises:
        KsqlError: PROPERTY_INVALID for settings that cannot be used.
    """

    def __init__(
        self, url: str, settings: Mapping[str, str] | None = None, copies: Path | None = None
    ) -> None:
        self.url = url
        self._copies = copies
        #: why it did not respond, and the time, on the monotonic clock, before which records do not ask again
        self._away: tuple[KsqlError, float] | None = None
        #: schemas by id and by GUID, which never change
        self._by_id: dict[int | UUID, RegisteredSchema] = {}
        security = settings or {}
        own = {theirs: security[ours] for ours, theirs in _SETTINGS.items() if security.get(ours)}
        token = security.get("bearer.auth.token")
        if token:
            own |= {
                "bearer.auth.credentials.source": "STATIC_TOKEN",
                "bearer.auth.token": token,
                "bearer.auth.logical.cluster": security.get("bearer.auth.logical.cluster", ""),
                "bearer.auth.identity.pool.id": security.get("bearer.auth.identity.pool.id", ""),
            }
        try:
            self._client = SchemaRegistryClient(
                {"url": url, "timeout": TIMEOUT_S, "max.retries": 1, "retries.wait.ms": 200, **own}
            )
        except (ValueError, TypeError, OSError) as error:
            raise KsqlError("PROPERTY_INVALID", name=PROPERTY, value=url, reason=str(error)) from None

    @property
    def address(self) -> str | None:
        """See SchemaRegistry."""
        return self.url

    def require(self) -> None:
        """Do nothing: the registry runs elsewhere (see SchemaRegistry)."""

    def has_schemas(self) -> bool:
        """See SchemaRegistry."""
        return True

    def problem(self) -> str | None:
        """See SchemaRegistry."""
        try:
            self.latest(NO_SUBJECT)
        except KsqlError as error:
            return error.message
        return None

    def latest(self, subject: str) -> RegisteredSchema | None:
        """See SchemaRegistry."""
        registered = self._ask(lambda: self._client.get_latest_version(subject))
        if registered is None:
            return None
        assert registered.schema is not None and registered.schema_id is not None
        return self._schema(registered.schema_id, registered.schema)

    def versions(self, subject: str, most: int) -> list[tuple[int, RegisteredSchema]]:
        """See SchemaRegistry."""
        schemas = []
        numbers = self._ask(lambda: self._client.get_versions(subject)) or []
        for number in sorted(numbers, reverse=True)[:most]:
            version = self._ask(lambda n=number: self._client.get_version(subject, n))  # type: ignore[misc]
            if version is not None and version.schema is not None and version.schema_id is not None:
                schemas.append((number, self._schema(version.schema_id, version.schema)))
        return schemas

    def by_id(self, schema_id: int) -> RegisteredSchema | None:
        """See SchemaRegistry."""
        schema = self._ask(lambda: self._client.get_schema(schema_id))
        return None if schema is None else self._schema(schema_id, schema)

    def cached(self, schema_id: int | UUID) -> RegisteredSchema | None:
        """See SchemaRegistry."""
        schema = self._by_id.get(schema_id)
        if schema is not None:
            return schema
        if self._away is not None and time.monotonic() < self._away[1]:
            return self._copied(schema_id, self._away[0])
        try:
            schema = self.by_id(schema_id) if isinstance(schema_id, int) else self._by_guid(schema_id)
        except KsqlError as error:
            self._away = error, time.monotonic() + REST_S
            return self._copied(schema_id, error)
        if schema is not None:
            self._by_id[schema_id] = schema
        return schema

    def _copied(self, schema_id: int | UUID, away: KsqlError) -> RegisteredSchema:
        """The copy of a schema; raises ``away`` if there is none."""
        try:
            if self._copies is None:
                raise away
            copy = json.loads((self._copies / f"{schema_id}.json").read_text(encoding="utf-8"))
            references = dict(zip(copy["names"], copy["references"], strict=True))
            number = schema_id if isinstance(schema_id, int) else 0
            return RegisteredSchema(number, copy["kind"], copy["text"], references)
        except (OSError, ValueError, TypeError, KeyError):  # it does not exist, or is damaged
            raise away from None

    def _by_guid(self, guid: UUID) -> RegisteredSchema | None:
        schema = self._ask(lambda: self._client.get_schema_by_guid(str(guid)))
        return None if schema is None else self._schema(0, schema)

    def incompatibility(self, subject: str, schema: RegisteredSchema) -> str | None:
        """See SchemaRegistry."""
        path = f"compatibility/subjects/{quote(subject, safe='')}/versions/latest?verbose=true"
        body = _sent(schema).to_dict()
        # test_compatibility omits the registry's explanation
        answer = self._ask(lambda: self._client._rest_client.post(path, body=body))
        if answer is None or answer["is_compatible"]:
            return None
        return _sentence("; ".join(answer.get("messages") or ["it is incompatible with the latest"]))

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """See SchemaRegistry."""
        try:
            schema_id = self._ask(lambda: self._client.register_schema(subject, _sent(schema)), _CONFLICT)
        except SchemaRegistryError as error:
            reason = _sentence(str(error.error_message))
            raise KsqlError("SCHEMA_INCOMPATIBLE", subject=subject, reason=reason) from None
        if schema_id is None:
            raise KsqlError("REMOTE_REFUSED", name=NAME, reason=f"it has no subject {subject}")
        return schema_id

    def delete(self, subject: str) -> None:
        """See SchemaRegistry."""
        self._ask(lambda: self._client.delete_subject(subject))

    def subjects(self, schema_id: int) -> list[str]:
        """See SchemaRegistry."""
        uses = self._ask(lambda: self._client.get_schema_versions(schema_id))
        return [use.subject for use in uses or [] if use.subject is not None]

    def _schema(self, schema_id: int, schema: Schema) -> RegisteredSchema:
        references: dict[str, str] = {}
        self._add_references(schema, references)
        text, kind = schema.schema_str or "", schema.schema_type or AVRO
        return RegisteredSchema(schema_id, kind, text, references, tuple(_references(schema)))

    def _add_references(self, schema: Schema, texts: dict[str, str]) -> None:
        for name, subject, version in map(astuple, _references(schema)):
            if name in texts:
                continue
            registered = self._ask(lambda s=subject, v=version: self._client.get_version(s, v))  # type: ignore[misc]
            if registered is None or registered.schema is None:
                raise KsqlError(
                    "REMOTE_REFUSED",
                    name=NAME,
                    reason=f"version {version} of {subject}, which a schema refers to, does not exist",
                )
            texts[name] = ""  # so that a reference back to it is not followed again
            self._add_references(registered.schema, texts)
            del texts[name]
            texts[name] = registered.schema.schema_str or ""

    def _ask(self, call: Callable[[], Answer], passed_on: int | None = None) -> Answer | None:
        """The result of ``call``, or None if the registry responds that it does not exist.

        ``passed_on``: the HTTP status whose SchemaRegistryError the caller handles.
        """
        # the client caches answers forever; we ask rarely, and need the current ones
        self._client.clear_caches()
        try:
            return call()
        except SchemaRegistryError as error:
            if error.http_status_code == _NOT_FOUND:
                return None
            if error.http_status_code == passed_on:
                raise
            reason = f"{error.error_message} (HTTP {error.http_status_code})"
            raise KsqlError("REMOTE_REFUSED", name=NAME, reason=reason) from None
        except Exception as error:  # the client passes on whatever its HTTP library raises
            reason = str(error) or type(error).__name__
            raise KsqlError(
                "REMOTE_UNREACHABLE", name=NAME, url=self.url, reason=reason, setting=PROPERTY
            ) from None


def _references(schema: Schema) -> Iterator[Reference]:
    for one in schema.references or []:
        if one.name is not None and one.subject is not None and one.version is not None:
            yield Reference(one.name, one.subject, one.version)


def _sent(schema: RegisteredSchema) -> Schema:
    """A schema in the client's form."""
    refers = [SchemaReference(r.name, r.subject, r.version) for r in schema.refers]
    return Schema(schema.text, schema.kind, refers)


def _sentence(reason: str) -> str:
    """A registry's reason in one line, without its final period."""
    return " ".join(reason.split()).rstrip(".")
