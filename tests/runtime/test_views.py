"""Views on a cluster of librdkafka: what they have, what is left when they stop, how much room they need."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Cast, Literal
from ksql_spark.metastore.sources import TABLE, DataSource, FormatSpec, Windowing
from ksql_spark.plan.queries import KeyLookup
from ksql_spark.runtime.reading import view as view_module
from ksql_spark.runtime.reading.pull import encoded_keys
from ksql_spark.runtime.reading.row_decoding import Reader
from ksql_spark.runtime.reading.stored_row import KeyRange
from ksql_spark.runtime.reading.view import PAGE_ROWS, View
from ksql_spark.runtime.reading.views import Views
from ksql_spark.schema import Column, Role, Schema
from ksql_spark.types import BIGINT, INTEGER, STRING, Array
from tests.kafka.mock_cluster import MockAdmin, MockCluster
from tests.waiting import until

SOON_S = 20.0
Make = Callable[..., Views]


@pytest.fixture(scope="module")
def cluster() -> MockCluster:
    return MockCluster()


@pytest.fixture
def admin(cluster: MockCluster) -> Iterator[MockAdmin]:
    admin = MockAdmin(cluster)
    yield admin
    admin.close()


@pytest.fixture
def make(admin: MockAdmin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setattr("ksql_spark.runtime.reading.view._POLL_S", 0.01)  # views end sooner
    made: list[Views] = []

    def views(most_bytes: int = 2**40, *, eager: bool = False) -> Views:
        made.append(Views(admin, tmp_path / "views", lambda: most_bytes, lambda: eager))
        return made[-1]

    yield views
    for each in made:
        each.close()


def table(name: str, window: Windowing | None = None) -> DataSource:
    columns = (Column("K", STRING, Role.KEY), Column("V", STRING, Role.VALUE))
    format_ = FormatSpec("KAFKA")
    return DataSource(
        name, TABLE, Schema(columns), name.lower(), format_, format_, window=window, is_sink=True
    )


def left(path: Path, seconds: int) -> None:
    """As if a view had last had all rows so long ago."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        assert db.execute("UPDATE followed SET at = at - ?", (seconds,)).rowcount == 1


def noted(path: Path) -> bool:
    """Whether a view has written down that it had all rows, which it does after it serves them."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT at FROM followed").fetchone() is not None


def rows(view: View) -> dict[bytes, bytes]:
    return {row.key: row.value for row in view.scan()}


def test_a_view_has_the_last_value_of_each_key(make: Make, cluster: MockCluster) -> None:
    cluster.write("last", (b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"b", None), (None, b"4"), (b"c", b"5"))
    views = make()
    view = views.current(table("LAST"), SOON_S)
    assert rows(view) == {b"a": b"3", b"c": b"5"}
    cluster.write("last", (b"a", None), (b"d", b"6"))
    assert rows(views.current(table("LAST"), SOON_S)) == {b"c": b"5", b"d": b"6"}
    assert view.get([b"d", b"a", b"c"])[0].value == b"6"


def test_a_full_disk_is_an_error_that_says_so(make: Make, cluster: MockCluster) -> None:
    cluster.write("full", (b"a", b"1"))
    view = make().current(table("FULL"), SOON_S)

    class Full:
        """A cursor whose statements find no room."""

        connection = sqlite3.connect(":memory:")
        connection.execute("PRAGMA max_page_count = 1")

        def execute(self, *_: object) -> None:
            self.connection.execute("CREATE TABLE more (text TEXT)")

    view._idle[:] = [Full()]  # type: ignore[list-item]
    with pytest.raises(KsqlError, match="No space is left on the disk of"):
        view.get([b"a"])
    assert view.get([b"a"])[0].value == b"1"


def test_rows_are_exported(make: Make, cluster: MockCluster, tmp_path: Path) -> None:
    cluster.write("exported", (b"a", b"1"), (b"b", b"2"), (b"c", b"3"))
    views, file = make(), tmp_path / "rows.csv"
    view = views.current(table("EXPORTED"), SOON_S)

    def exported(keys: list[bytes] | None = None) -> list[list[str]]:
        view.export(file, keys)
        return [line.split(",")[:2] for line in file.read_text().splitlines()]

    assert exported() == [["61", "31"], ["62", "32"], ["63", "33"]]
    assert exported([b"c", b"x", b"a"]) == [["63", "33"], ["61", "31"]]
    assert exported([]) == []
    views.drop("EXPORTED")
    with pytest.raises(KsqlError, match="EXPORTED"):
        view.export(file)


def test_rows_that_were_there_are_there_when_it_is_called_back(make: Make, cluster: MockCluster) -> None:
    cluster.create("told")
    views = make()
    view = views.current(table("TOLD"), SOON_S)
    for number in range(20):
        cluster.write("told", (b"k", str(number).encode()))
        told = threading.Event()
        errors: list[KsqlError | None] = []
        views.when_current(view, SOON_S, lambda error, e=errors, t=told: (e.append(error), t.set()))
        assert told.wait(SOON_S) and errors == [None]
        assert rows(view) == {b"k": str(number).encode()}


def test_who_waits_too_long_is_told(make: Make, cluster: MockCluster) -> None:
    cluster.write("behind", (b"a", b"1"))
    view = make().current(table("BEHIND"), SOON_S)
    told = threading.Event()
    errors: list[KsqlError | None] = []
    view.when_reached({0: 10**9}, time.monotonic(), lambda error: (errors.append(error), told.set()))
    assert told.wait(SOON_S)
    assert errors[0] is not None and errors[0].condition == "VIEW_BEHIND"
    with pytest.raises(KsqlError, match="did not catch up"):
        view.wait_for({0: 10**9}, 0.01)


def test_who_waits_is_told_when_the_table_is_dropped(make: Make, cluster: MockCluster) -> None:
    cluster.write("dropped", (b"a", b"1"))
    views = make()
    view = views.current(table("DROPPED"), SOON_S)
    errors: list[KsqlError | None] = []
    view.when_reached({0: 10**9}, time.monotonic() + SOON_S, errors.append)
    views.drop("DROPPED")
    assert errors[0] is not None and errors[0].condition == "SOURCE_UNKNOWN"
    with pytest.raises(KsqlError):
        view.get([b"a"])
    assert not list(views.folder.glob("*"))


def test_a_view_that_cannot_be_opened_does_not_end_the_start(
    make: Make, cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.write("refused", (b"a", b"1"))
    first = make()
    first.current(table("REFUSED"), SOON_S)
    first.close()
    second = make()
    follow = second.follow

    def refuses(source: DataSource) -> None:
        raise OSError("no descriptors")

    monkeypatch.setattr(second, "follow", refuses)
    second.resume([table("REFUSED")])
    monkeypatch.setattr(second, "follow", follow)
    second.current(table("REFUSED"), SOON_S)


def test_a_stopped_view_goes_on_where_it_was(make: Make, cluster: MockCluster, admin: MockAdmin) -> None:
    cluster.write("kept", (b"a", b"1"), (b"b", b"2"))
    first = make()
    first.current(table("KEPT"), SOON_S)
    first.close()
    cluster.write("kept", (b"b", b"3"))
    second = make()
    second.resume([table("KEPT")])
    view = second.following(table("KEPT"))
    assert view is not None
    until(lambda: view.positions.get(0) == 3)
    assert rows(view) == {b"a": b"1", b"b": b"3"}


@pytest.mark.parametrize("change", ["id", "retention", "window", "garbage", "tombstones"])
def test_a_file_that_does_not_fit_the_topic_is_not_used(
    make: Make, cluster: MockCluster, admin: MockAdmin, change: str
) -> None:
    topic = f"other_{change}"
    source = table(topic.upper())
    cluster.write(topic, (b"a" * 20, b"1"))
    first = make()
    first.current(source, SOON_S)
    (path,) = [p for p in first.folder.glob("*.db")]
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:  # a row that is in no topic
        db.execute("UPDATE entry SET value = x'00'")
    until(lambda: noted(path))
    first.close()
    match change:
        case "id":
            admin.ids[topic] = "another"
        case "retention":
            admin.first[topic] = 5
        case "window":
            source = table(topic.upper(), Windowing("TUMBLING", 10))
        case "garbage":
            path.write_bytes(b"no database" * 1000)
        case "tombstones":
            admin.configs[topic] = {"cleanup.policy": "compact,delete", "delete.retention.ms": "3600000"}
            left(path, 3700)
    found = make().current(source, SOON_S).scan()
    assert [row.value for row in found] == [b"1"]


@pytest.mark.parametrize(("policy", "hours"), [("compact", 2), ("delete", 0)])
def test_a_file_is_used_as_long_as_no_tombstone_can_be_missing(
    make: Make, cluster: MockCluster, admin: MockAdmin, policy: str, hours: int
) -> None:
    topic = f"kept_{policy}"
    cluster.write(topic, (b"a", b"1"))
    first = make()
    first.current(table(topic.upper()), SOON_S)
    (path,) = [p for p in first.folder.glob("*.db")]
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE entry SET value = x'00'")
    until(lambda: noted(path))
    first.close()
    left(path, 3700)
    admin.configs[topic] = {"cleanup.policy": policy, "delete.retention.ms": str(hours * 3_600_000)}
    assert [row.value for row in make().current(table(topic.upper()), SOON_S).scan()] == [b"\0"]


def test_files_of_tables_that_are_gone_are_removed(make: Make, cluster: MockCluster) -> None:
    cluster.write("gone", (b"a", b"1"))
    first = make()
    first.current(table("GONE"), SOON_S)
    first.close()
    second = make()
    second.drop("GONE")  # by the replay of the command log, which may create it again
    assert len(list(second.folder.glob("*.db"))) == 1
    second.resume([])
    assert not list(second.folder.glob("*"))


def test_eager_views_are_there_before_the_first_query(make: Make, cluster: MockCluster) -> None:
    cluster.write("eager", (b"a", b"1"))
    views = make(eager=True)
    views.renew(table("EAGER"))
    assert views.following(table("EAGER")) is None  # the command log is replayed first
    views.resume([table("EAGER")])
    view = views.following(table("EAGER"))
    assert view is not None
    until(lambda: rows(view) == {b"a": b"1"} if view.positions else False)


def test_the_next_view_of_a_table_waits_for_the_end_of_the_last_one(
    make: Make, cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have the same file: a table that is replaced while it is asked."""
    views, source = make(), table("AGAIN")
    cluster.write("again", (b"a", b"1"))
    views.current(source, SOON_S)
    remove = view_module.remove
    asked: list[View] = []
    asking = threading.Thread(target=lambda: asked.append(views.current(source, SOON_S)), daemon=True)

    def removing(path: Path) -> None:
        asking.start()
        asking.join(0.2)  # it must not come that far
        remove(path)

    monkeypatch.setattr(view_module, "remove", removing)
    views.drop(source.name)
    monkeypatch.setattr(view_module, "remove", remove)
    asking.join(SOON_S)
    assert [rows(view) for view in asked] == [{b"a": b"1"}]


def test_pages_go_through_ranges_in_order(make: Make, cluster: MockCluster) -> None:
    keys = [f"{number:06}".encode() for number in range(2 * PAGE_ROWS + 5)]
    cluster.write("paged", *((key, key) for key in keys))
    view = make().current(table("PAGED"), SOON_S)
    pages = list(view.pages())
    assert [len(page) for page in pages] == [PAGE_ROWS, PAGE_ROWS, 5]
    assert [row.key for page in pages for row in page] == keys
    ranges = [KeyRange(b"000010", b"000012"), KeyRange(b"004", None), KeyRange(b"x", b"y")]
    found = [row.key for page in view.pages(ranges) for row in page]
    assert found == [b"000010", b"000011", *(key for key in keys if key >= b"004")]


def test_rows_of_a_key_are_in_the_order_of_windows(make: Make, cluster: MockCluster) -> None:
    def key(start: int) -> bytes:
        return b"k" + start.to_bytes(8, "big")

    cluster.write("windows", *((key(start), b"v") for start in (30, 10, 20)), (b"short", b"v"))
    view = make().current(table("WINDOWS", Windowing("TUMBLING", 10)), SOON_S)
    assert [(row.window_start, row.window_end) for row in view.get([b"k"])] == [(10, 20), (20, 30), (30, 40)]


def test_views_that_were_not_used_give_way(make: Make, cluster: MockCluster) -> None:
    cluster.write("first", *((str(n).encode(), b"x" * 1000) for n in range(300)))
    cluster.write("second", (b"a", b"1"))
    views = make()
    views.current(table("FIRST"), SOON_S)
    second = views.current(table("SECOND"), SOON_S)
    assert set(views.sizes()) == {"FIRST", "SECOND"}
    views._most_bytes = lambda: second.size + 1000
    views._check_size(second)
    assert set(views.sizes()) == {"SECOND"}
    views._most_bytes = lambda: 2**40
    assert len(views.current(table("FIRST"), SOON_S).scan()) == 300  # read again


def test_a_view_that_is_too_large_is_refused_once_and_for_all(make: Make, cluster: MockCluster) -> None:
    cluster.write("large", (b"a", b"1"))
    views = make(10)
    for _ in range(2):
        with pytest.raises(KsqlError) as caught:
            views.current(table("LARGE"), SOON_S)
        assert (caught.value.condition, caught.value.statement) == ("VIEW_TOO_LARGE", None)
        caught.value.statement = "SELECT 'a secret' FROM large;"  # which the next client must not see
    assert len(views.sizes()) == 1


def test_a_topic_that_is_made_again_is_read_from_its_beginning(
    make: Make, cluster: MockCluster, admin: MockAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ksql_spark.kafka.consumer.PARTITIONS_EVERY_S", 0.01)
    views, source = make(), table("MADE_AGAIN")
    cluster.write(source.topic, (b"a", b"1"), (b"b", b"2"))
    first = views.current(source, SOON_S)
    with contextlib.closing(sqlite3.connect(next(views.folder.glob("*.db")), isolation_level=None)) as db:
        copied = "x'00', window_start, window_end, value, time, written"
        db.execute(f"INSERT INTO entry SELECT {copied} FROM entry LIMIT 1")
    assert b"\0" in rows(first)  # a row of the topic as it was
    admin.ids[source.topic] = "another"
    until(lambda: first.has_failed)
    assert rows(views.current(source, SOON_S)) == {b"a": b"1", b"b": b"2"}


def test_a_view_of_envelopes_has_rows(make: Make, cluster: MockCluster) -> None:
    columns = (Column("ID", INTEGER, Role.KEY), Column("V", STRING, Role.VALUE))
    format_ = FormatSpec("JSON", envelope="debezium")
    source = DataSource("CHANGED", TABLE, Schema(columns), "changed", format_, format_, read_only=True)

    def change(op: str, after: str | None) -> bytes:
        return json.dumps({"op": op, "after": None if after is None else {"v": after}}).encode()

    one, two = b'{"id": 1}', b'{"schema": {}, "payload": {"id": 2}}'
    cluster.write(
        "changed",
        *((one, change("r", "a")), (two, change("c", "b")), (b'{"id":1}', change("u", "c"))),
        *((two, b"{"), (one, change("t", None)), (None, change("t", None)), (b'{"x": 1}', change("c", "y"))),
    )
    views = make()
    view, reader = views.current(source, SOON_S), Reader(source, None)

    def decoded() -> list[list[object]]:
        return [values[3:] for row in view.scan() if (values := reader.decode(row)) is not None]

    assert sorted(decoded()) == [[1, "c"], [2, "b"]]
    key = encoded_keys(source, [KeyLookup((Literal(2, INTEGER),))], lambda: pytest.fail("Spark"))
    assert key is not None and [row.key for row in view.get(key)] == [two]  # as it was written
    widened = KeyLookup((Cast(Literal(2, INTEGER), BIGINT),))
    assert encoded_keys(source, [widened], lambda: pytest.fail("Spark")) == key
    cluster.write("changed", (two, change("d", None)), (two, None))
    views.current(source, SOON_S)
    assert decoded() == [[1, "c"]]


def test_a_row_in_envelopes_keeps_what_a_change_leaves_out(
    make: Make, admin: MockAdmin, cluster: MockCluster
) -> None:
    admin.configs["kept"] = {"cleanup.policy": "delete"}
    values = {"V": STRING, "N": INTEGER, "TAGS": Array(STRING)}
    columns = (Column("ID", INTEGER, Role.KEY), *(Column(n, t, Role.VALUE) for n, t in values.items()))
    format_ = FormatSpec("JSON", envelope="debezium")
    source = DataSource("KEPT", TABLE, Schema(columns), "kept", format_, format_, read_only=True)
    left_out = "__debezium_unavailable_value"

    def change(op: str, v: str | None, n: int, tags: list[str] | None) -> bytes:
        return json.dumps({"op": op, "after": {"v": v, "n": n, "tags": tags}}).encode()

    one, two, three = b'{"id": 1}', b'{"id": 2}', b'{"id": 3}'
    cluster.write(
        "kept",
        *((one, change("c", "a", 1, ["x"])), (two, change("c", "b", 1, ["y"]))),
        *((b'{"id":1}', change("u", left_out, 2, [left_out])), (three, change("u", left_out, 1, None))),
    )
    views = make()
    view, reader = views.current(source, SOON_S), Reader(source, None)

    def decoded() -> list[list[object]]:
        return sorted(values[3:] for row in view.scan() if (values := reader.decode(row)) is not None)

    assert decoded() == [[1, "a", 2, ["x"]], [2, "b", 1, ["y"]], [3, None, 1, None]]
    cluster.write("kept", (one, change("u", left_out, 3, None)), (two, change("u", "c", 3, [left_out])))
    views.current(source, SOON_S)
    assert decoded() == [[1, "a", 3, None], [2, "c", 3, ["y"]], [3, None, 1, None]]
    views.close()
    cluster.write(
        "kept", (one, change("u", left_out, 4, ["z"])), (two, None), (two, change("u", left_out, 4, []))
    )
    view = views.current(source, SOON_S)
    assert decoded() == [[1, "a", 4, ["z"]], [2, None, 4, []], [3, None, 1, None]]
