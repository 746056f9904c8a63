"""Rows of statements that are not queries."""

from __future__ import annotations

from typing import Any

import pytest

from ksql_spark.client.tables import of_entities

STREAMS = {"@type": "streams", "statementText": "SHOW STREAMS;", "warnings": []}
STATUS = {"@type": "currentStatus", "statementText": "DROP STREAM s;", "commandStatus": {}, "warnings": []}


@pytest.mark.parametrize(
    ("entity", "rows"),
    [
        ({**STREAMS, "streams": [{"name": "A"}, {"name": "B"}]}, [("A",), ("B",)]),
        ({**STREAMS, "streams": []}, []),
        (STATUS, [("DROP STREAM s;",)]),
        ({**STATUS, "warnings": [{"message": "It was not there."}]}, [("DROP STREAM s;",)]),
    ],
)
def test_a_list_has_a_row_for_each_member(entity: dict[str, Any], rows: list[tuple[Any, ...]]) -> None:
    assert of_entities([entity])[1] == rows
