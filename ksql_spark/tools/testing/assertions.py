"""ASSERT VALUES, NULL VALUES, STREAM and TABLE, checked against the server's responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksql_spark import grammar
from ksql_spark.client.values import type_text
from ksql_spark.grammar.statements.asserts import AssertSource, AssertTombstone, AssertValues
from ksql_spark.shell.client import Client, ClientError, Settings
from ksql_spark.shell.output.text import json_text
from ksql_spark.shell.statements import quoted_name, quoted_text
from ksql_spark.tools.testing.rows import ROWTIME, WINDOW, Row, Rows

#: prefix of streams with expected values; they are dropped with all others after the test
SCRATCH = "KSQL_TEST_EXPECTED_"
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
        client: of the server.
        timeout_s: how long a record may take.
    """

    def __init__(self, client: Client, timeout_s: float) -> None:
        self._client = client
        self._timeout_s = timeout_s
        self._rows: dict[str, Rows] = {}
        #: types of columns -> the stream with these columns, and its rows
        self._scratch: dict[tuple[str, ...], tuple[str, Rows]] = {}

    def values(self, statement: AssertValues) -> None:
        """Check that the next record of a source has these values.

        Raises:
            AssertionFailed: it has other values, is a tombstone, or does not exist.
            ClientError: the statement is wrong.
        """
        types = self._types(self._description(statement.name))
        names = self._columns(statement, [name for name in types if name not in (ROWTIME, *WINDOW)], types)
        expected = self._evaluated([types[name] for name in names], statement)
        row = self._next(statement.name, list(types))
        actual = [None if row.is_tombstone else row.values[name] for name in names]
        if row.is_tombstone or actual != expected:
            raise AssertionFailed(
                _difference(names, expected, ["<TOMBSTONE>"] * len(names) if row.is_tombstone else actual)
            )

    def tombstone(self, statement: AssertTombstone) -> None:
        """Check that the next record of a table deletes this key. Raises as ``values``."""
        description = self._description(statement.name)
        types = self._types(description)
        keys = [field["name"] for field in description["fields"] if field.get("type") == "KEY"]
        names = self._columns(statement, keys, types)
        expected = self._evaluated([types[name] for name in names], statement)
        row = self._next(statement.name, list(types))
        actual = [row.values[name] for name in names]
        if not row.is_tombstone:
            shown = ", ".join(f"{name} {_shown(value)}" for name, value in row.values.items())
            raise AssertionFailed(f"Expected a tombstone, but the record has values: {shown}")
        if actual != expected:
            raise AssertionFailed(_difference(names, expected, actual))

    def source(self, statement: AssertSource) -> None:
        """Check that a stream or table has these columns and properties. Raises as ``values``."""
        description = self._description(statement.name)
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

    def columns(self, name: str) -> list[str]:
        """The columns of a stream or table, with those of its windows, if it has any. Raises ClientError."""
        return [column for column in self._types(self._description(name)) if column != ROWTIME]

    def close(self) -> None:
        """Stop reading."""
        for rows in (*self._rows.values(), *(rows for _, rows in self._scratch.values())):
            rows.close()

    # ---- sources -------------------------------------------------------------------------------------

    def _description(self, name: str) -> Mapping[str, Any]:
        (answer,) = self._client.run(f"DESCRIBE {quoted_name(name)} EXTENDED;")
        description: Mapping[str, Any] = answer["sourceDescription"]
        return description

    @staticmethod
    def _types(description: Mapping[str, Any]) -> dict[str, str]:
        """The comparable columns of a source, with their types."""
        types = {field["name"]: type_text(field["schema"]) for field in description["fields"]}
        if description.get("windowType"):
            types |= dict.fromkeys(WINDOW, "BIGINT")
        return types | {ROWTIME: "BIGINT"}

    def _columns(
        self, statement: AssertValues | AssertTombstone, default: Sequence[str], types: Mapping[str, str]
    ) -> list[str]:
        names = [str(column.this) for column in statement.columns] or list(default)
        unknown = [name for name in names if name not in types]
        if unknown:
            raise ClientError(
                f"{statement.name} has no column {unknown[0]}. Its columns are {', '.join(types)}."
            )
        if len(names) != len(statement.values):
            raise ClientError(f"There are {len(names)} columns, but {len(statement.values)} values.")
        return names

    def _next(self, name: str, columns: list[str]) -> Row:
        """The next record of a source. Raises AssertionFailed."""
        rows = self._rows.get(name)
        if rows is None or rows.columns != columns:  # its columns may have changed
            read = rows.count if rows is not None else 0
            if rows is not None:
                rows.close()
            rows = self._rows[name] = Rows(self._client, quoted_name(name), columns)
            for _ in range(read):
                rows.next(self._timeout_s)
        row = rows.next(self._timeout_s)
        if row is None:
            raise AssertionFailed(
                f"Expected another record in {name}, but there were no more than {rows.count} "
                f"after {self._timeout_s:g} s."
            )
        return row

    # ---- what is expected ----------------------------------------------------------------------------

    def _evaluated(self, types: Sequence[str], statement: AssertValues | AssertTombstone) -> list[Any]:
        """The values of a statement as columns of these types: written to a stream and read back."""
        key = tuple(types)
        names = [f"C{number}" for number in range(len(types))]
        if key not in self._scratch:
            stream = f"{SCRATCH}{len(self._scratch)}"
            columns = ", ".join(f"{name} {type_}" for name, type_ in zip(names, types, strict=True))
            self._client.run(_scratch("STREAM", stream, columns))
            self._scratch[key] = stream, Rows(self._client, stream, names)
        stream, rows = self._scratch[key]
        values = ", ".join(grammar.render(value) for value in statement.values)
        self._client.run(f"INSERT INTO {stream} ({', '.join(names)}) VALUES ({values});", Settings())
        row = rows.next(self._timeout_s)
        if row is None:
            raise ClientError(f"The expected values could not be read within {self._timeout_s:g} s.")
        return [row.values[name] for name in names]

    def _declared(self, statement: AssertSource) -> list[dict[str, Any]]:
        """The columns that a statement declares, as DESCRIBE shows them."""
        name = f"{SCRATCH}SOURCE"
        columns = ", ".join(grammar.render(column) for column in statement.columns)
        self._client.run(_scratch(statement.kind, name, columns))
        (answer,) = self._client.run(f"DESCRIBE {name};")
        self._client.run(f"DROP {statement.kind} {name} DELETE TOPIC;")
        fields: list[dict[str, Any]] = answer["sourceDescription"]["fields"]
        return fields


def _scratch(kind: str, name: str, columns: str) -> str:
    return (
        f"CREATE {kind} {name} ({columns}) "
        f"WITH (KAFKA_TOPIC = {quoted_text(name)}, FORMAT = 'JSON', PARTITIONS = 1);"
    )


def _compare(name: str, expected: Any, actual: Any) -> None:
    texts = [str(value) for value in (expected, "" if actual is None else actual)]
    if name in _FOLDED:
        texts = [text.upper() for text in texts]
    if texts[0] != texts[1]:
        raise AssertionFailed(f"{name} was expected to be {expected}, but is {actual or 'not set'}.")


# ---- texts -----------------------------------------------------------------------------------------------


def _difference(names: Sequence[str], expected: Sequence[Any], actual: Sequence[Any]) -> str:
    """A row of names, one of expected values, and one of actual values."""
    rows = [list(names), [_shown(value) for value in expected], [_shown(value) for value in actual]]
    widths = [max(len(row[index]) for row in rows) for index in range(len(names))]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    titles = ("", "EXPECTED", "ACTUAL")
    table = "\n".join(f"  {title:<8}  {line}".rstrip() for title, line in zip(titles, lines, strict=True))
    return f"Expected record does not match actual.\n{table}"


def _schemas(expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]]) -> str:
    titled = (("EXPECTED", expected), ("ACTUAL", actual))
    table = "\n".join(f"  {title:<8}  {', '.join(map(_field, fields))}" for title, fields in titled)
    return f"Expected schema does not match actual.\n{table}"


def _field(field: Mapping[str, Any]) -> str:
    role = f" {field['type']}" if field.get("type") else ""
    return f"{field['name']} {type_text(field['schema'])}{role}"


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)
