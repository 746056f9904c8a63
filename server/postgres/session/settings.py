"""The settings of a client's session: those of PostgreSQL, and properties of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ksql_spark.config import canonical, find
from ksql_spark.errors import KsqlError
from ksql_spark.server.postgres.catalog.catalog import VERSION
from ksql_spark.server.postgres.values.failures import Failure, no_schema
from ksql_spark.server.postgres.values.names import CATALOG_SCHEMAS, SCHEMA

#: what all settings of a session may have, characters
_MAX_CHARACTERS = 64 * 1024
_DEFAULTS = {
    "server_version": VERSION, "server_version_num": "160000", "server_encoding": "UTF8",
    "client_encoding": "UTF8", "datestyle": "ISO, MDY", "timezone": "UTC", "integer_datetimes": "on",
    "intervalstyle": "postgres", "standard_conforming_strings": "on",
    "transaction_isolation": "read committed",
    "transaction_read_only": "off", "default_transaction_read_only": "off", "search_path": "public",
    "default_table_access_method": "heap",
    "is_superuser": "off", "max_identifier_length": "63", "extra_float_digits": "1", "lc_collate": "C.UTF-8",
}  # fmt: skip
#: the position that the last FETCH has reached in a push query, or where the next push query goes on
POSITION = "ksql.position"
#: those that a client is told of when it connects, as PostgreSQL spells them
_TOLD = (
    "server_version", "server_encoding", "client_encoding", "DateStyle", "TimeZone", "integer_datetimes",
    "IntervalStyle", "standard_conforming_strings", "is_superuser",
)  # fmt: skip


def _check(name: str, value: str) -> None:
    """Refuse a property that there is not, and a value that it cannot have. Raises Failure."""
    try:
        find(name).parse(value)
    except KsqlError as error:
        raise Failure("42704" if error.condition == "PROPERTY_UNKNOWN" else "22023", error.message) from None


class Settings:
    """The settings of one session.

    Attributes:
        values: PostgreSQL's, by their names in lower case.
        properties: ours, which requests to the engine have.
        resumed_at: the token at which the next push query goes on.
    """

    def __init__(self) -> None:
        self.values = dict(_DEFAULTS)
        self.properties: dict[str, str] = {}
        self.resumed_at: str | None = None

    def take(self, params: Mapping[str, str]) -> None:
        """Keep what a client connects with, also ``options=-c name=value``. Raises Failure."""
        for name, value in re.findall(r"-c\s*([\w.]+)=((?:\\.|\S)*)", params.get("options", "")):
            self.set(name, value.replace("\\", ""))
        for name, value in params.items():
            if name not in ("user", "database", "options", "replication"):
                self.set(name, value)

    def parameter_statuses(self) -> Iterator[tuple[str, str]]:
        """Yield names and values that a client is told of when it connects."""
        for name in _TOLD:
            yield name, self.values[name.lower()]

    def set(self, name: str, value: str) -> None:
        """Change a setting, or a property of ours.

        Raises:
            Failure: 53400 for too many, 3F000 for other schemas, 42704 and 22023 for a property of ours that
                there is not, or that cannot have the value.
        """
        held = sum(len(one) + len(is_) for one, is_ in [*self.values.items(), *self.properties.items()])
        if len(name) + len(value) + held > _MAX_CHARACTERS:
            raise Failure("53400", f"The settings of a connection may have {_MAX_CHARACTERS:,} characters.")
        if value.upper() == "DEFAULT" or (name.lower() == "timezone" and value.upper() == "LOCAL"):
            self.reset(name.lower())
        elif name.lower() == "search_path":
            schemas = [schema.strip(" \"'").lower() for schema in value.split(",")]
            unknown = [schema for schema in schemas if schema not in ("", "$user", *CATALOG_SCHEMAS)]
            if unknown and SCHEMA not in unknown:
                raise no_schema(unknown[0])
            self.values["search_path"] = value
        elif canonical(name) is not None or (name.lower().startswith("ksql.") and name.lower() != POSITION):
            _check(name, value)
            self.properties[name] = value
        else:
            if name.lower() == POSITION:
                self.resumed_at = value
            self.values[name.lower()] = value

    def reset(self, name: str) -> None:
        """Give a setting, or ``all`` of them, its default."""
        if name == "all":
            self.values, self.resumed_at = dict(_DEFAULTS), None
            self.properties.clear()
        else:
            if name == POSITION:
                self.resumed_at = None
            self.properties.pop(name, None)
            self.values.pop(name, None)
            self.values |= {name: _DEFAULTS[name]} if name in _DEFAULTS else {}
