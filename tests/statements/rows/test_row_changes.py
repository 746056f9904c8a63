"""UPDATE and DELETE of a table's rows: which records they write, and what they refuse."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.authorization import Rights
from ksql_spark.consistency import decode
from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.runtime.reading.views import Views
from tests.kafka.mock_cluster import MockAdmin, MockCluster
from tests.statements.world import World

NUMBERS = itertools.count()


class Table:
    """The table ITEMS on a topic of its own."""

    def __init__(self, world: World, admin: MockAdmin) -> None:
        self.world, self._admin = world, admin
        self.topic = f"items{next(NUMBERS)}"
        world.admin.create_topic(self.topic, 4)
        world.run(
            "CREATE TABLE items (a INT PRIMARY KEY, b STRING PRIMARY KEY, n BIGINT, x DOUBLE, l ARRAY<INT>) "
            f"WITH (kafka_topic='{self.topic}', format='JSON');"
        )

    def records(self) -> list[tuple[int, bytes | None, bytes | None]]:
        """Partition, key and value of all records, in the order of their partitions."""
        count = sum(self._admin.end_offsets(self.topic).values())
        found: list[tuple[int, bytes | None, bytes | None]] = []
        with TopicReader(self._admin.servers, self.topic, {}, settings=self._admin.settings) as reader:
            while len(found) < count:
                found += [(r.partition, r.key, r.value) for r in reader.poll_batch(0.1)]
        return sorted(found, key=lambda record: record[0])

    def written(self, text: str) -> list[tuple[int, bytes | None, bytes | None]]:
        """The records that a statement writes."""
        before = self.records()
        self.world.run(text)
        after = self.records()
        for record in before:
            after.remove(record)
        return after

    def rows(self) -> dict[str, bytes]:
        """The values of the table's rows, by key."""
        rows: dict[str, bytes] = {}
        for _, key, value in self.records():
            assert key is not None
            rows.pop(key.decode(), None)
            if value is not None:
                rows[key.decode()] = value
        return rows


@pytest.fixture(scope="module")
def cluster() -> MockCluster:
    return MockCluster()


@pytest.fixture
def items(
    make_world: Callable[..., World], cluster: MockCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Table]:
    monkeypatch.setattr("ksql_spark.runtime.reading.view._POLL_S", 0.01)
    admin, world = MockAdmin(cluster), make_world()
    producer = RecordProducer(cluster.servers)
    world.services.producer = producer
    world.services.views = Views(
        admin, tmp_path / "views", written=lambda topic: producer.written.get(topic, {})
    )
    table = Table(world, admin)
    for a, b in itertools.product(range(3), "xy"):
        world.run(f"INSERT INTO items (a, b, n) VALUES ({a}, '{b}', {a * 10});")
    yield table
    world.services.views.close()
    producer.close()
    admin.close()


def changed(world: World, text: str) -> tuple[str, int]:
    entity = world.one(text)
    assert entity["@type"] == "rows_changed"
    return entity["message"], entity["count"]


def test_delete_writes_a_tombstone_where_insert_has_written_the_row(items: Table) -> None:
    row = items.written("INSERT INTO items (a, b, n) VALUES (7, 'z', 1);")
    assert items.written("DELETE FROM items WHERE a = 7 AND b = 'z';") == [(*row[0][:2], None)]
    assert changed(items.world, "DELETE FROM items WHERE a = 7 AND b = 'z';") == (
        "0 rows of ITEMS deleted",
        0,
    )
    assert changed(items.world, "DELETE FROM items WHERE a IN (0, 1, 5) AND b = 'x';") == (
        "2 rows of ITEMS deleted", 2
    )  # fmt: skip
    assert {key[5] for key in items.rows()} == {"0", "1", "2"} and len(items.rows()) == 4


def test_truncate_deletes_all_rows_also_those_that_cannot_be_read(items: Table) -> None:
    items.world.services.producer.send(items.topic, b'{"A":8,"B":"x"}', b"no JSON")
    before = items.rows()
    assert len(before) == 7
    tombstones = items.written("TRUNCATE TABLE items;")
    assert Counter((key, value) for _, key, value in tombstones) == Counter(
        (key.encode(), None) for key in before
    )
    assert changed(items.world, "TRUNCATE items;") == ("0 rows of ITEMS deleted", 0)
    items.world.run("INSERT INTO items (a, b, n) VALUES (1, 'x', 1);")
    assert changed(items.world, "TRUNCATE items;") == ("1 row of ITEMS deleted", 1)


def test_update_writes_what_insert_would_write(items: Table) -> None:
    new = items.written("UPDATE items SET n = 5, x = 2 WHERE a = 1 AND b = 'y';")
    assert new == items.written("INSERT INTO items (a, b, n, x) VALUES (1, 'y', 5, 2);")
    # the other columns stay
    again = items.written("UPDATE items SET x = NULL WHERE a = 1 AND b = 'y';")
    assert again == items.written("INSERT INTO items (a, b, n) VALUES (1, 'y', 5);")
    assert changed(items.world, "UPDATE items SET n = 1 WHERE a = 9 AND b = 'y';") == (
        "0 rows of ITEMS updated",
        0,
    )


def test_other_columns_and_pseudo_columns_in_where(items: Table) -> None:
    assert changed(items.world, "UPDATE items SET x = n WHERE n >= 10;") == ("4 rows of ITEMS updated", 4)
    assert changed(items.world, "UPDATE items SET x = n WHERE ROWTIME < 5;")[1] == 0
    assert changed(items.world, "DELETE FROM items WHERE x = 2E1;") == ("2 rows of ITEMS deleted", 2)
    assert changed(items.world, "DELETE FROM items WHERE n < 1000;") == ("4 rows of ITEMS deleted", 4)
    assert not items.rows()


def test_each_change_sees_those_before_it(items: Table) -> None:
    """Two clients at once: every row is changed from what the other has left."""

    def swap() -> None:
        for _ in range(10):
            for old, new in ((0, 1), (1, 0)):
                items.world.run(f"UPDATE items SET n = {new} WHERE a = 0 AND n = {old};")

    items.world.run("DELETE FROM items WHERE a > 0;")
    clients = [threading.Thread(target=swap) for _ in range(2)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert len(items.rows()) == 2 and all(value[5:6] in b"01" for value in items.rows().values())


def test_the_answer_names_what_was_written(items: Table) -> None:
    request = Request("DELETE FROM items WHERE a = 0;")
    items.world.answers(request)
    assert request.positions.token is not None
    offsets = decode(request.positions.token)[items.topic]
    assert sum(offsets.values()) == len(items.records())


REFUSED = [
    ("UPDATE nowhere SET a = 1 WHERE a = 1;", "does not exist: NOWHERE", 8),
    ("UPDATE s SET v = 1 WHERE k = 'a';", "S is a stream: only rows of tables can be changed.", 8),
    ("DELETE FROM s WHERE k = 'a';", "S is a stream", 13),
    ("TRUNCATE s;", "S is a stream", 10),
    ("TRUNCATE TABLE counts;", "COUNTS is the result of the query CTAS_COUNTS_", 16),
    ("DELETE FROM counts WHERE k = 'a';", "COUNTS is the result of the query CTAS_COUNTS_", 13),
    ("UPDATE again SET n = 1 WHERE k = 'a';", "'COUNTS', the topic of AGAIN, is the result of", 8),
    ("DELETE FROM r WHERE k = 'a';", "Cannot change rows of read-only table: R", 13),
    ("DELETE FROM w WHERE k = 'a';", "Cannot change rows of windowed table: W", 13),
    ("DELETE FROM h WHERE k = 'a';", "Cannot change rows of a table with header columns: H", 13),
    ("UPDATE t SET k = 'b' WHERE k = 'a';", "K is a key column, and a row's key cannot change.", 14),
    ("UPDATE t SET w = 1 WHERE k = 'a';", "Column name `W` does not exist.", 14),
    ("UPDATE t SET ROWTIME = 1 WHERE k = 'a';", "Column name `ROWTIME` does not exist.", 14),
    ("UPDATE t SET v = 1, v = 2 WHERE k = 'a';", "Column name V is listed twice.", 21),
    ("UPDATE t SET v = 'x' WHERE k = 'a';", "Expected type INTEGER for field `V` but got STRING('x').", 18),
    ("UPDATE t SET v = SUM(v) WHERE k = 'a';", "SUM", 18),
    ("UPDATE t SET v = 1 WHERE v;", "Should evaluate to boolean", 26),
    ("UPDATE t SET v = 1 WHERE k = NULL;", "Comparison with NULL not supported", 26),
    ("UPDATE t SET v = 1 WHERE ROWOFFSET = 1;", "Pull queries don't support", 26),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "column"), REFUSED, ids=[text for text, *_ in REFUSED])
def test_refused(world: World, text: str, message: str, column: int) -> None:
    world.run(
        "CREATE TABLE counts AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;"
        "CREATE TABLE again (k STRING PRIMARY KEY, n BIGINT) WITH (kafka_topic='COUNTS', format='JSON');"
        "CREATE SOURCE TABLE r (k STRING PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON');"
        "CREATE TABLE w (k STRING PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON', "
        "window_type='SESSION');"
        "CREATE TABLE h (k STRING PRIMARY KEY, v BYTES HEADER('v')) WITH (kafka_topic='t', format='JSON');"
    )
    error = world.refused(text)
    assert message in error.message
    assert error.position is not None and error.position.column == column


def test_settings_that_refuse(world: World) -> None:
    delete = "DELETE FROM t WHERE v = 1;"
    assert "disabled INSERT" in world.refused(delete, **{"ksql.insert.into.values.enabled": False}).message
    error = world.refused(delete, **{"ksql.query.pull.table.scan.enabled": False})
    assert "WHERE clause missing key column" in error.message and error.hint is not None


def test_who_may_change_rows(world: World) -> None:
    for role, allowed in (("reader", False), ("developer:u*", False), ("developer:t", True)):
        request = Request("DELETE FROM t WHERE k = 1 + 'x';", rights=Rights.of([role]))
        with pytest.raises(Exception) as caught:
            world.answers(request)
        assert (caught.value.condition != "FORBIDDEN") is allowed  # type: ignore[attr-defined]


def test_what_cannot_be_computed_is_refused(items: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by INSERT; but what is computed from NULL is NULL."""

    def evaluate_rows(
        session: Any, source: Any, rows: Any, expressions: Any, predicate: Any
    ) -> list[list[Any]]:
        # the columns N, X and L, the new value, and the key
        return [[n, None, None, None, row.key] for row, n in zip(rows, given, strict=False)]

    monkeypatch.setattr("ksql_spark.runtime.reading.pull.evaluate_rows", evaluate_rows)
    monkeypatch.setattr(type(items.world.services.spark), "session", lambda self: None)
    text = "UPDATE items SET n = n / 0 WHERE a = 1;"
    given: list[int | None] = [None, None]
    assert changed(items.world, text) == ("2 rows of ITEMS updated", 2)
    before, given = items.records(), [None, 10]
    error = items.world.refused(text)
    assert error.message.startswith("Failed to update 'ITEMS'. N: ") and items.records() == before


def test_an_update_meets_the_constraints_of_its_table(items: Table) -> None:
    world = items.world
    world.run(
        "CREATE TABLE checked (a INT PRIMARY KEY, n INT, x INT, CHECK (x < n)) "
        f"WITH (kafka_topic='checked{next(NUMBERS)}', format='JSON', partitions=1);"
    )
    world.run("INSERT INTO checked (a, n, x) VALUES (1, 5, 2);")
    assert changed(world, "UPDATE checked SET x = 4 WHERE a = 1;")[1] == 1
    # the other column is that of the row
    for wrong in ("x = 5", "n = 3", "n = NULL"):
        with pytest.raises(KsqlError, match=r"Failed to update 'CHECKED'. The row violates CHECK"):
            world.run(f"UPDATE checked SET {wrong} WHERE a = 1;")
