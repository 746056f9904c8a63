"""What formats can do: as which types they read values that are already in a topic."""

from __future__ import annotations

import pytest

from ksql_spark.formats import FORMATS
from ksql_spark.formats.capabilities import CAPABILITIES, NAME
from ksql_spark.formats.spec import SerdeSpec
from ksql_spark.schema import Column
from ksql_spark.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, Array, Decimal, Field, SqlType, Struct

WIDENING = {name for name, format_ in CAPABILITIES.items() if format_.widens}
BY_NAME = {name for name, format_ in CAPABILITIES.items() if format_.columns_by == NAME}


def _struct(**types: SqlType) -> Struct:
    return Struct(tuple(Field(name, type_) for name, type_ in types.items()))


@pytest.mark.parametrize(
    ("written", "type_", "formats"),
    [
        (INTEGER, INTEGER, set(CAPABILITIES)),
        (INTEGER, BIGINT, WIDENING),
        (INTEGER, DOUBLE, WIDENING),
        (BIGINT, INTEGER, set()),
        (BIGINT, DOUBLE, set()),
        (BOOLEAN, STRING, WIDENING),
        (STRING, BIGINT, set()),
        (Decimal(5, 2), Decimal(7, 3), WIDENING),
        (Decimal(5, 2), Decimal(6, 4), set()),
        (Array(INTEGER), Array(BIGINT), WIDENING),
        (_struct(A=INTEGER, B=STRING), _struct(B=STRING, C=INTEGER), BY_NAME),
        (_struct(A=STRING), _struct(A=INTEGER), set()),
    ],
)
def test_as_which_types_values_can_be_read(written: SqlType, type_: SqlType, formats: set[str]) -> None:
    assert {name for name, format_ in CAPABILITIES.items() if format_.reads(written, type_)} == formats


@pytest.mark.parametrize("name", ["JSON", "DELIMITED"])
@pytest.mark.parametrize(
    ("written", "type_", "value", "read"),
    [
        (INTEGER, BIGINT, -(2**31), -(2**31)),
        (INTEGER, DOUBLE, 2**31 - 1, float(2**31 - 1)),
        (BIGINT, STRING, -(2**63), str(-(2**63))),
        (BOOLEAN, STRING, True, "true"),
    ],
)
def test_they_are_read_so(name: str, written: SqlType, type_: SqlType, value: object, read: object) -> None:
    assert CAPABILITIES[name].reads(written, type_)
    writer, reader = (
        FORMATS[name](SerdeSpec(name, (Column("A", each), Column("B", STRING)))) for each in (written, type_)
    )
    encoded = writer.encode([value, "b"])
    assert encoded is not None and reader.decode(encoded) == [read, "b"]
