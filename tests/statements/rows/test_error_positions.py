"""Errors about names in REPROCESS, EXPLAIN ROW, EXPLAIN RECORD, FORGET and REPLAY show where the name is."""

from __future__ import annotations

import pytest

from tests.statements.world import World

TABLES = """
CREATE TABLE counts AS SELECT w, COUNT(*) AS n FROM s GROUP BY w EMIT CHANGES;
CREATE TABLE hourly AS SELECT w, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY w EMIT CHANGES;
"""


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("REPROCESS nothing;", "nothing"),
        ("REPROCESS t;", "t"),
        ("REPROCESS hourly WHERE nothing = 1;", "nothing"),
        ("REPROCESS hourly FROM 'noon';", "'noon'"),
        ("EXPLAIN ROW FROM nothing WHERE w = 'a';", "nothing"),
        ("EXPLAIN ROW FROM t WHERE k = 'a';", "t"),
        ("EXPLAIN ROW FROM counts WHERE nothing = 'a';", "nothing"),
        ("EXPLAIN MISSING ROW FROM nothing WHERE w = 'a';", "nothing"),
        ("EXPLAIN MISSING ROW FROM counts WHERE LEN(nothing) = 1;", "nothing"),
        ("EXPLAIN RECORD 'nothing' PARTITION 0 OFFSET 1;", "'nothing'"),
        ("EXPLAIN RECORD 's' PARTITION 7 OFFSET 1;", "EXPLAIN RECORD 's' PARTITION 7 OFFSET 1"),
        ("EXPLAIN RECORD 's' PARTITION 0 OFFSET 1;", "EXPLAIN RECORD 's' PARTITION 0 OFFSET 1"),
        ("FORGET FROM nothing WHERE w = 'a';", "nothing"),
        ("FORGET FROM s WHERE k = 'a';", "s"),
        ("FORGET FROM counts WHERE nothing = 'a';", "nothing"),
        ("FORGET FROM counts WHERE w = 'a' AND nothing = 1;", "nothing"),
        ("FORGET FROM counts WHERE n = 1;", "n = 1"),
        ("REPLAY LATE ROWS OF nothing;", "LATE ROWS OF nothing"),
        ("REPLAY ERRORS OF nothing;", "ERRORS OF nothing"),
    ],
)
def test_the_error_is_below_the_name(text: str, at: str, world: World) -> None:
    world.run(TABLES)
    statement = text.rstrip(";")
    column = f" {statement} ".index(f" {at} ") if f" {at} " in f" {statement} " else statement.index(at)
    *_, place, line, caret = world.refused(f"SHOW TABLES;\n\n  {text}").message.splitlines()
    assert place == f"line 1:{column + 1}"
    assert line == f"  {statement}"
    assert caret == f"  {' ' * column}{'^' * len(at)}"
