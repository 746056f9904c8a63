"""Schemas as tables of fields: for each field its SQL type and how its values are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from ksql_spark.datagen.schema import Clock, Event, Schema, int_key, json_bytes


class Moment(NamedTuple):
    """The context of a generated value: its event's number and time (epoch ms), and earlier values."""

    number: int
    timestamp_ms: int
    values: Mapping[str, Any]


Make = Callable[[Random, Moment], Any]


class Field(NamedTuple):
    """A field: its SQL type and how a value is made."""

    type: str
    make: Make


def one_of(values: Sequence[str], weights: Sequence[int] | None = None) -> Field:
    """Return a STRING field that has one of ``values``."""
    return Field("STRING", lambda random, _: random.choices(values, weights)[0])


def one_number_of(values: Sequence[int], weights: Sequence[int] | None = None) -> Field:
    """Return an INT field that has one of ``values``."""
    return Field("INT", lambda random, _: random.choices(values, weights)[0])


def integer(low: int, high: int) -> Field:
    """An INT from ``low`` to ``high``, both included."""
    return Field("INT", lambda random, _: random.randint(low, high))


def number() -> Field:
    """An INT: the number of the event, from 0."""
    return Field("INT", lambda _, moment: moment.number)


def amount(low: float, high: float) -> Field:
    """A DOUBLE with two decimals."""
    return Field("DOUBLE", lambda random, _: round(random.uniform(low, high), 2))


def event_time(late_ms: int = 0, share: float = 0.0) -> Field:
    """A BIGINT: the event's time; a ``share`` of the events (0 to 1) is up to ``late_ms`` older."""

    def make(random: Random, moment: Moment) -> int:
        is_late = random.random() < share
        return moment.timestamp_ms - (random.randint(1, late_ms) if is_late else 0)

    return Field("BIGINT", make)


def looked_up(type_: str, by: str, table: Mapping[Any, Any]) -> Field:
    """The value that ``table`` has for the field ``by``, which must come before this one."""
    return Field(type_, lambda _, moment: table[moment.values[by]])


def text_of(pattern: str, **parts: Field) -> Field:
    """A STRING: ``pattern``; ``{name}`` in it stands for a part or for a field that comes before."""

    def make(random: Random, moment: Moment) -> str:
        own = {name: part.make(random, moment) for name, part in parts.items()}
        return pattern.format(**{**moment.values, **own})

    return Field("STRING", make)


def list_of(item: Mapping[str, Field], least: int, most: int) -> Field:
    """An ARRAY of STRUCTs."""
    inner = ", ".join(f"{name} {field.type}" for name, field in item.items())

    def make(random: Random, moment: Moment) -> list[dict[str, Any]]:
        return [
            {name: field.make(random, moment) for name, field in item.items()}
            for _ in range(random.randint(least, most))
        ]

    return Field(f"ARRAY<STRUCT<{inner}>>", make)


def schema(
    name: str,
    description: str,
    fields: Mapping[str, Field],
    *,
    key: str | None = None,
    is_table: bool = False,
    timestamp: str | None = None,
    rate: float | None = 10.0,
) -> Schema:
    """A schema of events with these fields.

    Args:
        name: its name for users, and the default topic.
        description: one line for the help.
        fields: in the order of the columns.
        key: the field that is the record's key, an INT or a STRING, and no part of its value.
        is_table: whether a new event of a key replaces the one before.
        timestamp: the field with the event time.
        rate: default number of events per second.
    """

    def events(random: Random, clock: Clock) -> Iterator[Event]:
        position = 0
        while True:
            timestamp_ms = clock(position)
            values: dict[str, Any] = {}
            for field_name, field in fields.items():
                values[field_name] = field.make(random, Moment(position, timestamp_ms, values))
            record_key = None if key is None else _key_bytes(values.pop(key))
            yield Event(record_key, json_bytes(values), timestamp_ms)
            position += 1

    word = "PRIMARY KEY" if is_table else "KEY"
    columns = ",\n".join(
        f"  {column} {field.type}" + (f" {word}" if column == key else "") for column, field in fields.items()
    )
    more = f", TIMESTAMP = '{timestamp}'" if timestamp else ""
    return Schema(
        name=name,
        description=description,
        statement=f"CREATE {'TABLE' if is_table else 'STREAM'} {name} (\n{columns}\n) WITH (\n"
        f"  KAFKA_TOPIC = '{{topic}}', PARTITIONS = {{partitions}}, VALUE_FORMAT = 'JSON'{more}\n);",
        events=events,
        rate=rate,
        topic_config={"cleanup.policy": "compact"} if is_table else {},
    )


def _key_bytes(value: str | int) -> bytes:
    return int_key(value) if isinstance(value, int) else value.encode()
