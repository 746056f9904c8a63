"""Numbers that a client sends to the engine, however hostile, are its mistake: they raise a KsqlError."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from contextlib import nullcontext

import pytest

from ksql_spark.config import PROPERTIES
from ksql_spark.consistency import decode
from ksql_spark.engine.query_service import QueryService
from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from tests.statements.world import World

#: what Python reads
MAX_DIGITS = 4000
#: as text in statements and in JSON
HOSTILE = (
    "-1", "0", "-0.0", "0.5", "2147483648", "-9223372036854775809", "18446744073709551616", "1e18",
    "1" + "0" * 309, "9" * 5000, "1e309", "-1e309", "1e-400", "1e999999999", "NaN", "Infinity", "-Infinity",
)  # fmt: skip
IN_STATEMENTS = (*HOSTILE, "1E+400", "0x10", "\u0661", *(f"'{number}'" for number in HOSTILE))
IN_JSON = (*HOSTILE, *(f'"{number}"' for number in HOSTILE), "true", "null", "[1e309]", '{"A": 1e309}')

COLUMNS = (
    "k BIGINT KEY, i INT, l BIGINT, d DOUBLE, e DECIMAL(10, 2), ts TIMESTAMP, da DATE, ti TIME, "
    "ar ARRAY<INT>, m MAP<STRING,INT>, b BYTES, st STRUCT<a INT>, t STRING, o BOOLEAN"
)
OPTIONS = "KAFKA_TOPIC='x', VALUE_FORMAT='JSON', PARTITIONS=1"
STATEMENTS = f"""
CREATE STREAM x (v INT) WITH (KAFKA_TOPIC='x', VALUE_FORMAT='JSON', PARTITIONS=#);
CREATE STREAM x (v INT) WITH ({OPTIONS}, REPLICAS=#);
CREATE STREAM x (v INT) WITH ({OPTIONS}, RETENTION_MS=#);
CREATE STREAM x (v INT) WITH ({OPTIONS}, VALUE_SCHEMA_ID=#);
CREATE STREAM x (v INT) WITH ({OPTIONS}, WINDOW_TYPE='TUMBLING', WINDOW_SIZE='# SECONDS');
CREATE STREAM x (v INT) WITH ({OPTIONS}, START=#);
CREATE STREAM x (v DECIMAL(#, 2)) WITH ({OPTIONS});
CREATE STREAM x (v DECIMAL(4, #)) WITH ({OPTIONS});
CREATE STREAM x WITH (PARTITIONS=#) AS SELECT * FROM a;
CREATE STREAM x AS SELECT * FROM a WHERE i > # AND l IN (1, #) AND d BETWEEN # AND 3;
CREATE STREAM x AS SELECT i + # AS n, e * # AS o, ar[#] AS p FROM a;
CREATE STREAM x AS SELECT CAST(# AS DECIMAL(38, 2)) AS n, CAST(# AS INT) AS o FROM a;
CREATE TABLE x AS SELECT k, COUNT(*) AS n FROM a WINDOW TUMBLING (SIZE # SECONDS) GROUP BY k;
CREATE TABLE x AS SELECT k, COUNT(*) AS n FROM a WINDOW TUMBLING (SIZE 1 DAY, RETENTION # DAYS) GROUP BY k;
CREATE TABLE x AS SELECT k, COUNT(*) AS n FROM a WINDOW TUMBLING (SIZE 1 DAY, GRACE PERIOD # DAYS) GROUP BY k;
CREATE TABLE x AS SELECT k, COUNT(*) AS n FROM a WINDOW HOPPING (SIZE 1 DAY, ADVANCE BY # DAYS) GROUP BY k;
CREATE TABLE x AS SELECT k, COUNT(*) AS n FROM a WINDOW SESSION (# SECONDS) GROUP BY k;
CREATE TABLE x AS SELECT k, TOPK(i, #) AS n FROM a GROUP BY k;
CREATE STREAM x AS SELECT a.k, a.i FROM a JOIN a2 WITHIN # SECONDS ON a.k = a2.k;
INSERT INTO a (k, i) VALUES (1, #);
INSERT INTO a (k, l) VALUES (1, #);
INSERT INTO a (k, d) VALUES (1, #);
INSERT INTO a (k, e) VALUES (1, #);
INSERT INTO a (ROWTIME, k) VALUES (#, 1);
INSERT INTO a (k) VALUES (#);
ASSERT NOT EXISTS TOPIC nowhere TIMEOUT # MILLISECONDS;
ASSERT TOPIC a WITH (PARTITIONS=#) TIMEOUT 1 MILLISECOND;
ASSERT SCHEMA ID # TIMEOUT 1 MILLISECOND;
TERMINATE #;
SET 'ksql.streams.num.stream.threads' = '#';
EXPLAIN SELECT * FROM a WHERE ROWTIME > # EMIT CHANGES LIMIT #;
""".strip().splitlines()


@pytest.fixture
def streams(make_world: Callable[..., World]) -> World:
    world = make_world(**{"ksql.server.command.response.timeout.ms": 1})
    for name in ("a", "a2"):
        world.run(
            f"CREATE STREAM {name} ({COLUMNS}) WITH (KAFKA_TOPIC='{name}', FORMAT='JSON', PARTITIONS=1);"
        )
    return world


def check(world: World, request: Request) -> None:
    """A request may succeed or be refused."""
    try:
        world.statements.execute(request)
    except KsqlError as error:
        assert error.condition != "INTERNAL", error


@pytest.mark.parametrize("statement", STATEMENTS)
def test_numbers_in_statements(streams: World, statement: str) -> None:
    for position, number in enumerate(IN_STATEMENTS):
        text = statement.replace(" x ", f" x{position} ").replace("'x'", f"'x{position}'")
        check(streams, Request(text.replace("#", number)))


@pytest.mark.parametrize("text", [number for number in IN_JSON if len(number) < MAX_DIGITS])
def test_numbers_as_properties_parameters_and_variables(streams: World, text: str) -> None:
    number = json.loads(text)
    for name, entry in PROPERTIES.items():
        if entry.editable:
            check(streams, Request("EXPLAIN SELECT * FROM a EMIT CHANGES;", {name: number}))
    for column in ("i", "l", "d", "e"):
        insert = f"INSERT INTO a (k, {column}) VALUES (1, ?);"
        check(streams, Request(insert, {}, parameters=[number]))
        check(streams, Request(insert.replace("?", "${n}"), {}, {"n": str(number)}))
    if type(number) is int:
        check(streams, Request("SHOW STREAMS;", {}, command_sequence_number=number))


@pytest.mark.parametrize("number", IN_JSON)
def test_numbers_in_tokens(number: str) -> None:
    for text in ('[1, {"t": {"0": #}}]', "[#, {}]", '[1, {"t": {"#": 1}}]', "[1, #]", "#"):
        token = base64.urlsafe_b64encode(text.replace("#", number).encode()).decode().rstrip("=")
        try:
            (offset,) = decode(token)["t"].values()
        except (KsqlError, KeyError):  # KeyError: a token of no topics
            continue
        assert -(2**63) <= offset < 2**63


class Writer:
    """Takes records, and says nothing of them."""

    attention = nullcontext()

    def write(self, number: int, key: bytes | None, value: bytes | None, time_ms: int) -> None:
        """As RecordProducer.writer's."""

    def poll(self, timeout_s: float = 0) -> None:
        """As RecordProducer.writer's."""


@pytest.mark.parametrize("number", IN_JSON)
def test_numbers_in_rows(streams: World, number: str) -> None:
    streams.writer = lambda topic, on_delivered: Writer()  # type: ignore[method-assign]
    for column in (
        *(part.split()[0] for part in COLUMNS.replace("10, 2", "").split(", ")),
        "ROWTIME",
        "nothing",
    ):
        inserter = QueryService(streams.services).inserter("a", {}, lambda: None)
        inserter.insert([f'{{"{column}": {number}}}'.encode()])
        error = inserter.acknowledged().error
        assert error is None or error.condition != "INTERNAL", error
