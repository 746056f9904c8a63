"""ASSERT VALUES, NULL VALUES, STREAM and TABLE, checked against topics and descriptions."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from ksql_spark import grammar
from ksql_spark.client.values import type_text
from ksql_spark.grammar.statements.asserts import AssertSource, AssertTombstone, AssertValues
from ksql_spark.kafka.consumer import Record
from ksql_spark.schema import ROWTIME
from ksql_spark.shell.client import ClientError
from ksql_spark.shell.statements import quoted_name, quoted_text
from ksql_spark.tools.testing.servers import Server, Topic
from ksql_spark.tools.testing.tables import cell, difference

#: prefix of streams with expected values; they are gone after the test
_SCRATCH = "KSQL_TEST_EXPECTED_"
#: property of an assertion -> member of a description
_DESCRIBED = {
    "KAFKA_TOPIC": ("topic",),
    "KEY_FORMAT": ("keyFormat",),
    "VALUE_FORMAT": ("valueFormat",),
    "FORMAT": ("keyFormat", "valueFormat"),
    "PARTITIONS": ("partitions",),
    "REPLICAS": ("replication",),
    "TIMESTAMP": ("timestamp",),
    "WINDOW_TYPE": ("windowType",),
}
#: names, which are compared case-insensitively
_FOLDED = ("KEY_FORMAT", "VALUE_FORMAT", "FORMAT", "TIMESTAMP", "WINDOW_TYPE")


class AssertionFailed(ClientError):
    """An assertion failed; the text has the reason."""


class Assertions:
    """Checks what the queries of one test have written.

    Args:
        server: runs the test.
        timeout_s: how long a record may take.
    """

    def __init__(self, server: Server, timeout_s: float) -> None:
        self._server = server
        self._timeout_s = timeout_s
        #: types of columns -> the stream with these columns
        self._scratch: dict[tuple[str, ...], str] = {}

    def values(self, statement: AssertValues) -> None:
        """Check that the next record of a source has these values.

        Raises:
            AssertionFailed: it has other values, is a tombstone, or does not exist.
            ClientError: the statement is wrong.
        """
        topic = self._server.topic(statement.name)
        schema, types = topic.source.schema, _types(topic)
        names = _columns(statement, [column.name for column in (*schema.key, *schema.value)], types)
        expected = self._evaluated([types[name] for name in names], statement)
        record = self._next(topic)
        values = topic.values(record)
        actual = ["<TOMBSTONE>" if record.value is None else values.get(name) for name in names]
        if actual != expected:
            raise AssertionFailed(_difference(names, expected, actual))

    def tombstone(self, statement: AssertTombstone) -> None:
        """Check that the next record of a table deletes this key. Raises as ``values``."""
        topic = self._server.topic(statement.name)
        types = _types(topic)
        names = _columns(statement, [column.name for column in topic.source.schema.key], types)
        expected = self._evaluated([types[name] for name in names], statement)
        record = self._next(topic)
        values = topic.values(record)
        if record.value is not None:
            shown = ", ".join(f"{name} {cell(values.get(name))}" for name in types)
            raise AssertionFailed(f"Expected a tombstone, but the record has values: {shown}")
        actual = [values.get(name) for name in names]
        if actual != expected:
            raise AssertionFailed(_difference(names, expected, actual))

    def source(self, statement: AssertSource) -> None:
        """Check that a stream or table has these columns and properties. Raises as ``values``."""
        (answer,) = self._server.run(f"DESCRIBE {quoted_name(statement.name)} EXTENDED;")
        description: Mapping[str, Any] = answer["sourceDescription"]
        if description["type"] != statement.kind:
            raise AssertionFailed(f"{statement.name} is a {description['type']}, not a {statement.kind}.")
        if statement.columns:
            expected, actual = self._declared(statement), description["fields"]
            if expected != actual:
                raise AssertionFailed(_schemas(expected, actual))
        for property_ in statement.properties:
            members = _DESCRIBED.get(property_.name.upper())
            if members is None:
                names = ", ".join(sorted(_DESCRIBED))
                raise ClientError(f"ASSERT cannot compare {property_.name}. It compares {names}.")
            for member in members:
                _compare(property_.name.upper(), property_.value, description.get(member))

    def _next(self, topic: Topic) -> Record:
        """The next record of a stream or table. Raises AssertionFailed."""
        deadline = time.monotonic() + self._timeout_s
        while len(topic.records) == topic.checked:
            left_s = deadline - time.monotonic()
            if left_s < 0:
                raise AssertionFailed(
                    f"Expected another record in {topic.source.name}, but there were no more than "
                    f"{topic.checked} after {self._timeout_s:g} s."
                )
            topic.poll(left_s)
        topic.checked += 1
        return topic.records[topic.checked - 1]

    # ---- what is expected ----------------------------------------------------------------------------

    def _evaluated(self, types: Sequence[str], statement: AssertValues | AssertTombstone) -> list[Any]:
        """The values of a statement as columns of these types: written to a stream and read back."""
        key = tuple(types)
        names = [f"C{number}" for number in range(len(types))]
        if key not in self._scratch:
            stream = f"{_SCRATCH}{len(self._scratch)}"
            columns = ", ".join(f"{name} {type_}" for name, type_ in zip(names, types, strict=True))
            self._server.run(self._scratch_source("STREAM", stream, columns))
            self._scratch[key] = stream
        stream = self._scratch[key]
        values = ", ".join(grammar.render(value) for value in statement.values)
        self._server.run(f"INSERT INTO {stream} ({', '.join(names)}) VALUES ({values});")
        topic = self._server.topic(stream)
        found = topic.values(self._next(topic))
        return [found[name] for name in names]

    def _declared(self, statement: AssertSource) -> list[dict[str, Any]]:
        """The columns that a statement declares, as DESCRIBE shows them."""
        name = f"{_SCRATCH}SOURCE"
        columns = ", ".join(grammar.render(column) for column in statement.columns)
        self._server.run(self._scratch_source(statement.kind, name, columns))
        (answer,) = self._server.run(f"DESCRIBE {name};")
        self._server.run(f"DROP {statement.kind} {name} DELETE TOPIC;")
        fields: list[dict[str, Any]] = answer["sourceDescription"]["fields"]
        return fields

    def _scratch_source(self, kind: str, name: str, columns: str) -> str:
        topic = quoted_text(f"{self._server.name}_{name}")
        return (
            f"CREATE {kind} {name} ({columns}) WITH (KAFKA_TOPIC = {topic}, FORMAT = 'JSON', PARTITIONS = 1);"
        )


def _types(topic: Topic) -> dict[str, str]:
    """The comparable columns of a stream or table, with their types."""
    schema = topic.source.schema
    types = {column.name: str(column.type) for column in (*schema.key, *schema.value)}
    return types | dict.fromkeys((*topic.bounds, ROWTIME), "BIGINT")


def _columns(
    statement: AssertValues | AssertTombstone, default: Sequence[str], types: Mapping[str, str]
) -> list[str]:
    """The columns that a statement compares, by default all of ``default``. Raises ClientError."""
    names = [str(column.this) for column in statement.columns] or list(default)
    unknown = [name for name in names if name not in types]
    if unknown:
        raise ClientError(f"{statement.name} has no column {unknown[0]}. Its columns are {', '.join(types)}.")
    if len(names) != len(statement.values):
        raise ClientError(f"There are {len(names)} columns, but {len(statement.values)} values.")
    return names


def _compare(name: str, expected: Any, actual: Any) -> None:
    texts = [str(value) for value in (expected, "" if actual is None else actual)]
    if name in _FOLDED:
        texts = [text.upper() for text in texts]
    if texts[0] != texts[1]:
        raise AssertionFailed(f"{name} was expected to be {expected}, but is {actual or 'not set'}.")


# ---- texts -----------------------------------------------------------------------------------------------


def _difference(names: Sequence[str], expected: Sequence[Any], actual: Sequence[Any]) -> str:
    rows = ([[cell(value) for value in values]] for values in (expected, actual))
    return f"Expected record does not match actual.\n{difference(names, *rows)}"


def _schemas(expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]]) -> str:
    titled = (("EXPECTED", expected), ("ACTUAL", actual))
    table = "\n".join(f"  {title:<8}  {', '.join(map(_field, fields))}" for title, fields in titled)
    return f"Expected schema does not match actual.\n{table}"


def _field(field: Mapping[str, Any]) -> str:
    role = f" {field['type']}" if field.get("type") else ""
    return f"{field['name']} {type_text(field['schema'])}{role}"
