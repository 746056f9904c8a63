"""Rows in JSON, as POST /inserts-stream writes them (reference §7.6)."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import nullcontext
from decimal import Decimal
from typing import Any

import pytest

from ksql_spark.engine.query_service import QueryService
from ksql_spark.errors import KsqlError
from ksql_spark.runtime.inserts import MAX_UNACKNOWLEDGED, Acknowledged, RowInserter
from tests.statements.world import World

CREATE = "CREATE STREAM rows ({columns}) WITH (kafka_topic='rows', partitions=1, format='JSON');"
Delivery = Callable[[KsqlError | None], None]


class Target:
    """A stream, and an inserter whose records are delivered by hand."""

    def __init__(self, world: World, columns: str) -> None:
        self.deliveries: list[Delivery] = []
        self.records: list[tuple[bytes | None, bytes | None]] = []
        self.news = 0
        self.attention = nullcontext()
        #: whether all that was sent is delivered while the inserter waits
        self.delivers = False
        self.waits = 0
        world.run(CREATE.format(columns=columns))
        world.writer = self._writer  # type: ignore[attr-defined]
        self.inserter: RowInserter = QueryService(world.services).inserter("rows", {}, self._on_news)

    def _writer(self, topic: str, on_delivered: Callable[[int, KsqlError | None], None]) -> Target:
        assert topic == "rows"
        self._on_delivered = on_delivered
        return self

    def write(self, number: int, key: bytes | None, value: bytes | None, time_ms: int) -> None:
        assert time_ms > 1_600_000_000_000
        self.records.append((key, value))
        self.deliveries.append(lambda error: self._on_delivered(number, error))

    def poll(self, timeout_s: float = 0) -> None:
        if timeout_s:
            self.waits += 1
            assert self.delivers
            for deliver in self.deliveries:
                deliver(None)
            self.deliveries.clear()

    def _on_news(self) -> None:
        self.news += 1

    def value(self, **row: Any) -> Any:
        """The record's value of a row, without members that are null."""
        assert self.inserter.insert([json.dumps(row).encode()])
        value = self.records[-1][1]
        assert value is not None
        return {k: v for k, v in json.loads(value, parse_float=Decimal).items() if v is not None}

    def refused(self, **row: Any) -> str:
        """Why a row fails."""
        assert not self.inserter.insert([json.dumps(row).encode()])
        for deliver in self.deliveries:
            deliver(None)
        error = self.inserter.acknowledged().error
        assert error is not None
        return error.message


def test_rows_that_are_written_together(make_world: Callable[..., World]) -> None:
    world = make_world(**{"ksql.transaction.max.records": "2"})  # which at_least_once does not know
    world.run(CREATE.format(columns="id INT KEY, v STRING"))
    service, news = QueryService(world.services), threading.Event()

    def inserter(**properties: str) -> RowInserter:
        return service.inserter("rows", properties, news.set, is_whole=True)

    made = inserter()
    many = 2 * MAX_UNACKNOWLEDGED
    assert made.insert([json.dumps({"id": n, "v": "x" * 300}).encode() for n in range(many)])
    assert made.acknowledged() == Acknowledged(0, many, None) and made.is_idle and world.sent == []
    made.finish()
    made.close()
    assert [key for _, key, _ in world.sent] == [str(n).encode() for n in range(many)]
    world.sent.clear()

    refused = inserter()
    assert not refused.insert([b'{"id":1}', b'{"id":null}', b'{"id":3}'])
    refused.close()
    assert not refused.insert([b'{"id":4}']) and world.sent == []

    world.admin.configs["rows"] = {"max.message.bytes": "100"}
    large = inserter()
    assert not large.insert([b'{"id":1}', json.dumps({"id": 2, "v": "x" * 50}).encode()]) and world.sent == []
    error = large.acknowledged().error
    assert error is not None and "whose max.message.bytes is 100" in error.message
    world.admin.configs["rows"] = {}

    few = inserter(**{"processing.guarantee": "exactly_once_v2"})
    assert not few.insert([b'{"id":1}', b'{"id":2}', b'{"id":3}'])
    error = few.acknowledged().error
    assert error is not None and "room for 2 rows" in error.message


@pytest.fixture
def target(make_world: Callable[..., World]) -> Target:
    return Target(make_world(), "id INT KEY, v BIGINT")


def test_rows_are_acknowledged_in_order(target: Target) -> None:
    inserter = target.inserter
    assert inserter.insert([b'{"id":1,"v":1}', b'{"ID":2}', b'{"Id":3}'])
    first, second, third = target.deliveries
    assert inserter.acknowledged() == Acknowledged(0, 0, None)
    second(None)
    assert target.news == 0 and not inserter.is_idle
    first(None)
    third(None)
    assert target.news == 1  # news are told once, until they are read
    assert inserter.acknowledged() == Acknowledged(0, 3, None)
    assert inserter.acknowledged() == Acknowledged(3, 3, None)
    assert inserter.is_idle


def test_an_inserter_waits_while_too_many_rows_are_on_their_way(target: Target) -> None:
    rows = [b'{"id":1}'] * MAX_UNACKNOWLEDGED
    assert target.inserter.insert(rows)
    assert target.waits == 0 and target.inserter.acknowledged().end == 0
    target.delivers = True
    assert target.inserter.insert(rows)
    assert target.waits == 1
    assert target.inserter.acknowledged().end == MAX_UNACKNOWLEDGED


def test_a_row_that_fails_is_the_last(target: Target) -> None:
    inserter = target.inserter
    assert inserter.insert([b'{"id":1}'])
    assert not inserter.insert([b"rubbish", b'{"id":2}'])
    assert len(target.records) == 1
    assert inserter.acknowledged() == Acknowledged(0, 0, None)
    target.deliveries[0](None)
    first, end, error = inserter.acknowledged()
    assert (first, end) == (0, 1) and error is not None and error.code == 40000
    assert not inserter.insert([b'{"id":3}'])
    assert len(target.records) == 1


def test_what_the_broker_refuses_is_an_error_of_its_row(target: Target) -> None:
    target.inserter.insert([b'{"id":1}', b'{"id":2}'])
    problem = KsqlError("KAFKA_REFUSED_REQUEST", action="write", reason="too large")
    target.deliveries[1](problem)
    target.deliveries[0](None)
    assert target.inserter.acknowledged() == Acknowledged(0, 1, problem)


def test_values_of_every_type(make_world: Callable[..., World]) -> None:
    target = Target(
        make_world(),
        "k STRING KEY, b BOOLEAN, i INT, l BIGINT, d DOUBLE, n DECIMAL(6, 2), s STRING, y BYTES, da DATE, "
        "ti TIME, ts TIMESTAMP, a ARRAY<INT>, m MAP<STRING, BIGINT>, r STRUCT<x INT, `y` DECIMAL(4, 1)>",
    )
    given = {"k": "a", "b": True, "i": 1, "l": 2**40, "d": 3, "s": "é", "y": "AQI="}
    assert target.value(**given) == {"B": True, "I": 1, "L": 2**40, "D": 3, "S": "é", "Y": "AQI="}
    assert target.value(k="a", n="1.005") == {"N": Decimal("1.01")}
    assert target.value(k="a", n=1.994) == {"N": Decimal("1.99")}
    assert target.value(k="a", n=-3) == {"N": Decimal("-3.00")}
    assert target.value(k="a", da="1970-01-03", ti="00:00:01.5", ts="1970-01-01T00:00:01") == {
        "DA": 2,
        "TI": 1500,
        "TS": 1000,
    }
    nested = {"a": [1, None], "m": {"p": 1, "Q": None}, "r": {"X": 1, "`y`": "2.25"}}
    assert target.value(k="a", **nested) == {
        "A": [1, None],
        "M": {"p": 1, "Q": None},
        "R": {"X": 1, "y": Decimal("2.3")},
    }
    assert target.value(k="a", unknown=1) == {}


@pytest.mark.parametrize("digits", ["9999999999999999999999999999.9999999999", "-0.0000000001"])
def test_all_digits_of_a_decimal_are_kept(make_world: Callable[..., World], digits: str) -> None:
    target = Target(make_world(), "k STRING KEY, n DECIMAL(38, 10)")
    assert target.value(k="a", n=digits)["N"] == Decimal(digits)


@pytest.mark.parametrize(
    ("type_", "value", "why"),
    [
        ("INT", 2**31, "does not fit INTEGER"),
        ("INT", "1", "Can't coerce"),
        ("INT", True, "Can't coerce"),
        ("BIGINT", 1.5, "Can't coerce"),
        ("DOUBLE", "1", "Can't coerce"),
        ("STRING", 1, "Can't coerce"),
        ("BOOLEAN", 1, "Can't coerce"),
        ("DECIMAL(3, 1)", 99.96, "does not fit DECIMAL(3, 1)"),
        ("DECIMAL(3, 1)", "1e999999999", "does not fit"),
        ("DECIMAL(3, 1)", "x", 'Can\'t coerce "x" to DECIMAL(3, 1)'),
        ("BYTES", "?", "not base64"),
        ("DATE", "yesterday", "'yesterday' is not a valid DATE, which is written as 2026-01-31"),
        ("TIME", "25:00", "'25:00' is not a valid TIME, which is written as 12:34:56"),
        (
            "TIMESTAMP",
            "2026-13-01T00:00",
            "is not a valid TIMESTAMP, which is written as 2026-01-31",
        ),
        ("ARRAY<INT>", [1, "x"], "Can't coerce"),
        ("MAP<STRING, INT>", [], "Can't coerce"),
        ("STRUCT<x INT>", {"x": "y"}, "Column X"),
    ],
)
def test_values_that_do_not_fit(make_world: Callable[..., World], type_: str, value: Any, why: str) -> None:
    target = Target(make_world(), f"id INT KEY, v {type_}")
    message = target.refused(id=1, v=value)
    assert why in message and "Column V" in message


def test_json_that_no_query_could_read(make_world: Callable[..., World]) -> None:
    inserter = Target(make_world(), "id INT KEY, v VARIANT").inserter
    assert not inserter.insert([b'{"id": 1, "v": ' + 1000 * b"[" + 1000 * b"]" + b"}"])
    error = inserter.acknowledged().error
    assert error is not None and "nested too deeply" in error.message


def test_a_row_that_fails_as_none_should_is_answered_too(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(row: bytes) -> Any:
        raise AttributeError("nobody foresaw this")

    monkeypatch.setattr(target.inserter, "_decoded", broken)
    assert "Internal error: AttributeError: nobody foresaw this" in target.refused(id=1, v=1)


def test_every_key_column_is_required(target: Target) -> None:
    assert target.refused(v=1) == "Key field must be specified: ID"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nowhere", "unknown stream/table: `NOWHERE`"),
        ("`rows`", "Did you mean ROWS?"),
        ("windows", "windowed"),
    ],
)
def test_targets_that_cannot_be_written_to(make_world: Callable[..., World], name: str, why: str) -> None:
    world = make_world()
    world.run(CREATE.format(columns="id INT KEY"))
    world.run(
        "CREATE STREAM windows (id INT KEY) WITH (kafka_topic='windows', partitions=1, format='JSON', "
        "window_type='SESSION');"
    )
    with pytest.raises(KsqlError) as caught:
        QueryService(world.services).inserter(name, {}, lambda: None)
    assert caught.value.code == 40001 and why in caught.value.message


def test_topics_of_the_server_are_read_only(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.run("CREATE STREAM c (v INT) WITH (kafka_topic='_confluent_x', partitions=1, format='JSON');")
    assert "read-only topic: _confluent_x" in world.refused("INSERT INTO c VALUES (1);").message
    error = world.refused("DROP STREAM c DELETE TOPIC;")
    assert "Cannot delete read-only topic: _confluent_x" in error.message
    assert world.message("DROP STREAM c;") == "Source `C` (topic: _confluent_x) was dropped."


def test_a_row_that_violates_a_constraint_is_refused(world: World) -> None:
    columns = "k INT KEY NOT NULL, v INT CHECK (v > 0), t STRING NOT NULL, CHECK (LEN(t) > 1)"
    target = Target(world, columns)
    rows = ({"k": 1, "v": 1, "t": "aa"}, {"k": 1, "v": 2, "t": "a"}, {"k": 1, "v": 0, "t": "aa"})
    # what only Spark can tell is for those who read
    assert not target.inserter.insert([json.dumps(row).encode() for row in rows])
    assert len(target.records) == 2
    for deliver in target.deliveries:
        deliver(None)
    error = target.inserter.acknowledged().error
    assert error is not None and "The row violates CHECK (V > 0)." in error.message


@pytest.mark.parametrize(
    ("values", "text", "column"),
    [
        ("(k, v, t) VALUES (1, 0, 'aa')", "CHECK (V > 0)", 39),
        ("(k, v) VALUES (1, 2)", "T NOT NULL", None),
        ("(k, v, t) VALUES (1, 2, NULL)", "T NOT NULL", 42),
        ("(v, t) VALUES (2, 'aa')", "K NOT NULL", None),
    ],
)
def test_insert_values_refuses_it_at_the_value(
    world: World, values: str, text: str, column: int | None
) -> None:
    columns = "k INT KEY NOT NULL, v INT CHECK (v > 0), t STRING NOT NULL"
    world.run(CREATE.format(columns=columns))
    with pytest.raises(KsqlError) as caught:
        world.run(f"INSERT INTO rows {values};")
    assert f"The row violates {text}." in caught.value.message
    position = caught.value.position
    assert (None if position is None else position.column) == column
