"""What indexes find is what a scan with the whole WHERE finds, also after changes and restarts."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ksql_spark import analyzer, grammar
from ksql_spark.authorization import Rights
from ksql_spark.config import Config
from ksql_spark.engine.query_service import QueryService
from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.explain import explain_job, explain_lookup
from ksql_spark.plan.queries import Job, Lookup
from ksql_spark.runtime.reading import lookups, view
from ksql_spark.runtime.reading.lookups import NotHereError
from ksql_spark.runtime.reading.view_indexes import stored_form
from ksql_spark.runtime.reading.views import Views
from ksql_spark.schema import Schema
from ksql_spark.statements import Services
from ksql_spark.types import BIGINT, BYTES, DOUBLE, INTEGER, STRING, Decimal
from tests.kafka.mock_cluster import MockAdmin, MockCluster
from tests.statements.world import World
from tests.waiting import until

TABLE = """
CREATE SOURCE TABLE wide (id INT PRIMARY KEY, n INT, b BIGINT, d DOUBLE, s STRING, f BOOLEAN, ts TIMESTAMP,
    day DATE, tm TIME, price DECIMAL(6, 2), big DECIMAL(30, 5), a STRUCT<city STRING, zip STRUCT<code INT>>)
    WITH (kafka_topic='wide', key_format='KAFKA', value_format='JSON', partitions=1);
"""
COLUMNS = ("n", "b", "d", "s", "f", "ts", "day", "tm", "price", "big", "a->city", "a->zip->code", "s, n")
TEXTS = [
    "",
    "a",
    "ab",
    "ab\nc",
    "abc",
    "b",
    "é",
    "\ud7ff",
    "\ue000",
    "😀",
    "a😀",
    "a\uffff",
    "x" * 300,
    "x" * 301,
]
CONDITIONS = """
n = 3
n IN (1, 3, 5)
n > 3
3 >= n
n BETWEEN 2 AND 4
n > 2.5
n = 2.5
n = 3e0
n = 30000000000
b = 4000000000000000001
b > 4000000000000000000
b < -1
d = 0
d > 1.5
d <= 1e300
s = 'ab'
s IN ('a', 'b', 'nothing')
s > 'ab'
s < 'é'
s >= '😀'
s > '\ue000'
s BETWEEN 'a' AND 'b'
s LIKE 'a%'
s LIKE 'ab%' AND n = 3
s LIKE 'x%'
s LIKE ''
f = TRUE
ts = '2024-01-01T00:00:01'
ts > '2024-01-01T00:00:02'
ts BETWEEN '2024-01-01' AND '2024-01-01T00:00:03'
day = '1970-01-03'
day < '1970-01-03'
tm >= '00:00:03'
price = 1.5
price = 1.505
price > 1.505
price IN (1, 2.5)
price BETWEEN 1 AND 2.5
big > 12345678901234567890.00001
big = 12345678901234567891.5
big < 0
a->city = 'b1'
a->city LIKE 'b%'
a->zip->code IN (1, 2)
s = 'ab' AND n > 1
s IN ('ab', 'a') AND n IN (1, 2, 3)
s = 'ab' AND n > 1 OR s = 'b' AND n = 2
n > 1 AND n > 3 AND s = 'ab'
""".strip().splitlines()


def value_of(number: int) -> dict[str, Any] | None:
    """A row with equal values, NULLs, and values at the ends of types."""
    chosen = random.Random(number)
    if chosen.random() < 0.05:
        return None

    def any_of(*values: Any) -> Any:
        return chosen.choice([*values, None])

    return {
        "N": any_of(1, 2, 3, 4, 5, -(2**31), 2**31 - 1),
        "B": any_of(4 * 10**18, 4 * 10**18 + 1, -(2**63), 2**63 - 1, 0),
        "D": any_of(0.0, -0.0, 1.5, 1e300, -1e-300, "NaN", "Infinity"),
        "S": any_of(*TEXTS),
        "F": any_of(True, False),
        "TS": any_of(*(1_704_067_200_000 + second * 1000 for second in range(5))),
        "DAY": any_of(0, 1, 2, 3),
        "TM": any_of(0, 1000, 3000, 86_399_999),
        "PRICE": any_of(1, 1.5, 1.51, 2.5, -1.5),
        "BIG": any_of(12345678901234567890, -1, 0, 5),
        "A": any_of({"CITY": f"b{number % 3}", "ZIP": {"CODE": number % 4}}, {"CITY": None, "ZIP": None}),
    }


def records(numbers: range, seed: int = 0) -> list[tuple[bytes, bytes | None]]:
    values = ((number, value_of(number + seed)) for number in numbers)
    return [
        (number.to_bytes(4, "big"), None if value is None else json.dumps(value).encode())
        for number, value in values
    ]


@pytest.fixture
def cluster() -> MockCluster:
    cluster = MockCluster()
    cluster.write("wide", *records(range(300)))
    return cluster


@pytest.fixture
def admin(cluster: MockCluster) -> Iterator[MockAdmin]:
    admin = MockAdmin(cluster)
    yield admin
    admin.close()


@pytest.fixture
def world(
    make_world: Callable[..., World], admin: MockAdmin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    monkeypatch.setattr(view, "_POLL_S", 0.01)  # views end sooner
    world = make_world()
    world.admin.create_topic("wide", 1)
    world.run(TABLE)
    world.spark.running_session = None  # type: ignore[attr-defined]
    world.services.views = opened(admin, tmp_path, world.services)
    yield world
    world.services.views.close()


def opened(admin: MockAdmin, folder: Path, services: Services) -> Views:
    return Views(admin, folder / "views", indexes=lambda table: services.metastore.indexes_of(table))


def create_indexes(world: World) -> None:
    for columns in COLUMNS:
        world.run(f"CREATE INDEX ON wide ({columns});")
    ready(world)


def ready(world: World) -> None:
    services = world.services
    services.views.current(services.metastore.require("WIDE"), 20)
    wanted = services.metastore.indexes().values()
    until(lambda: all(map(services.views.has_index, wanted)))


def found(world: World, conditions: list[str] = CONDITIONS) -> dict[str, list[list[Any]]]:
    """The rows of each condition, in the order of their ids."""
    service = QueryService(world.services)
    answers = {}
    for condition in conditions:
        stream = service.query(Request(f"SELECT * FROM wide WHERE {condition};"))
        rows = [row.values for page in iter(partial(stream.read, 0), None) for row in page]
        answers[condition] = sorted(rows, key=lambda row: row[0])
    return answers


def look_up(condition: str, metastore: MetaStore) -> Lookup:
    (query,) = grammar.parse(f"SELECT * FROM wide WHERE {condition};")
    read = analyzer.bind_read(query.query, metastore, {})  # type: ignore[attr-defined]
    assert isinstance(read, Lookup)
    return read


def test_an_index_finds_what_a_scan_finds(
    world: World, cluster: MockCluster, admin: MockAdmin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scanned = found(world)
    assert sum(map(bool, scanned.values())) > len(CONDITIONS) - 8  # most conditions find something
    create_indexes(world)
    assert [c for c in CONDITIONS if look_up(c, world.services.metastore).index is None] == []
    assert found(world) == scanned

    pages = view.View.pages
    monkeypatch.setattr(view.View, "pages", None)  # no condition needs a scan
    monkeypatch.setattr(view, "PAGE_ROWS", 7)  # several pages of what an index finds
    assert found(world) == scanned
    monkeypatch.setattr(view.View, "pages", pages)
    monkeypatch.setattr(view, "_MAX_PLACES", 10)
    assert found(world) == scanned
    monkeypatch.undo()
    monkeypatch.setattr(view, "_POLL_S", 0.01)

    cluster.write("wide", *records(range(100, 400), seed=1000))
    changed = found(world)
    world.services.views.close()
    world.services.views = opened(admin, tmp_path, world.services)
    ready(world)
    assert found(world) == changed
    names = list(world.services.metastore.indexes())
    world.run("".join(f"DROP INDEX {name};" for name in names))
    assert found(world) == changed != scanned


def test_rows_that_change_while_an_index_is_built_are_found(
    world: World, cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "PAGE_ROWS", 10)
    found(world, ["n = 3"])
    world.run("CREATE INDEX ON wide (n); CREATE INDEX ON wide (s);")
    for seed in range(2000, 2020):
        cluster.write("wide", *records(range(0, 300, 3), seed))
    ready(world)
    indexed = found(world, ["n = 3", "s LIKE 'a%'"])
    world.run("DROP INDEX wide_n_idx; DROP INDEX wide_s_idx;")
    assert found(world, ["n = 3", "s LIKE 'a%'"]) == indexed


def test_few_rows_need_no_thread(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    service = QueryService(world.services)
    world.run("CREATE INDEX ON wide (n); CREATE INDEX ON wide (s);")
    ready(world)
    expected = found(world, ["n = 5", "s LIKE 'ab%'", "s LIKE 'x%'"])

    def at_once(condition: str) -> list[list[Any]]:
        found = service.look_up(f"SELECT * FROM wide WHERE {condition};", {})
        assert found is not None
        return found.rows()

    service.query(Request("SELECT * FROM wide WHERE n = 1;"))
    service.query(Request("SELECT * FROM wide WHERE s LIKE 'a%';"))
    assert {c: at_once(c) for c in expected} == expected
    for pattern in ("_b%", "a%b", "%"):  # other plans than that of a prefix
        with pytest.raises(NotHereError):
            at_once(f"s LIKE '{pattern}'")
    monkeypatch.setattr(lookups, "MAX_FOUND", len(expected["n = 5"]) - 1)
    world.services.current_config.config = Config({"ksql.query.pull.max.qps": 2})
    service.query(Request("SELECT * FROM wide WHERE n = 1;"))
    started = service.started
    for _ in range(3):  # it counts where its rows are read
        with pytest.raises(NotHereError):
            at_once("n = 5")
    assert service.started == started


def test_the_order_of_forms_is_that_of_values() -> None:
    def forms(type_: Any, *values: Any) -> list[Any]:
        return [stored_form(value, type_) for value in values]

    units = sorted(TEXTS, key=lambda text: text.encode("utf-16-be", "surrogatepass"))
    ordered = forms(STRING, *units)
    assert sorted(ordered) == ordered and len(set(ordered)) == len(units) - 1  # the two long ones are equal
    digits = ("-99999999999999999999", "-1.5", "-1.49", "0", "0.00001", "99999999999999999999")
    decimals = forms(Decimal(38, 5), *digits)
    assert sorted(decimals) == decimals and len(set(decimals)) == 6
    assert forms(Decimal(6, 2), "1.505", "1.50", "-1.505") == [150, 150, -151]
    assert forms(INTEGER, 2.5, -2.5, float("inf"), float("nan"), None) == [2, -3, 2**63 - 1, None, None]
    assert forms(DOUBLE, float("nan"), 1, -0.0) == [None, 1.0, 0.0]
    assert forms(BIGINT, -(2**63), 10**30) == [-(2**63), 2**63 - 1]
    assert forms(BYTES, b"\xff" * 300, None) == [b"\xff" * 256, None]


def test_the_index_that_finds_fewest_rows_is_used(world: World) -> None:
    world.run(
        "CREATE INDEX of_s ON wide (s); CREATE INDEX of_sn ON wide (s, n); CREATE INDEX of_n ON wide (n);"
    )

    def plan(condition: str) -> str:
        return explain_lookup(look_up(condition, world.services.metastore)).split(" | Topic")[0]

    used = "Look-up in table WIDE | Index: "
    assert plan("s = 'a'") == f"{used}OF_S | S = 'a'"
    assert plan("s = 'a' AND n > 2") == f"{used}OF_SN | S = 'a' AND N >= 2"
    assert plan("s > 'a' AND n = 2") == f"{used}OF_N | N = 2"
    assert plan("s LIKE 'a%'") == f"{used}OF_S | S LIKE 'a%'"
    assert plan("id = 5 AND s = 'a'") == "Look-up in table WIDE | Keys: 5"
    for scanned in ("s = 'a' OR n = 2", "b = 1", "UCASE(s) = 'A'", "n <> 2", "n = d"):
        assert plan(scanned) == "Scan of table WIDE"

    def read(text: str) -> list[str]:
        (query,) = grammar.parse(text)
        job = analyzer.bind_read(query.query, world.services.metastore, {})  # type: ignore[attr-defined]
        assert isinstance(job, Job)
        return [
            line.strip().split(" | Topic")[0] for line in explain_job(job).splitlines() if "able WIDE" in line
        ]

    by_s = f"{used}OF_S | S = 'a'"
    assert read("SELECT n, COUNT(*) FROM wide WHERE s = 'a' GROUP BY n ORDER BY n;") == [by_s]
    assert read("SELECT a.n FROM (SELECT n FROM wide WHERE s = 'a') a JOIN wide b ON a.n = b.n;") == [
        by_s, "Scan of table WIDE",
    ]  # fmt: skip
    assert read("SELECT n, (SELECT MAX(b) FROM wide WHERE n = 2) FROM wide WHERE s = 'a';") == [
        by_s, f"{used}OF_N | N = 2",
    ]  # fmt: skip
    assert read("SELECT COUNT(*) FROM wide WHERE id = 5 AND s = 'a';") == ["Look-up in table WIDE | Keys: 5"]


def test_statements(world: World) -> None:
    def indexes(text: str = "SHOW INDEXES;") -> list[tuple[str, str, list[str]]]:
        return [(each["name"], each["table"], each["columns"]) for each in world.one(text)["indexes"]]

    world.run("CREATE INDEX ON wide (n); CREATE INDEX `x y` ON wide (s, a->zip->code);")
    assert indexes() == [("WIDE_N_IDX", "WIDE", ["N"]), ("x y", "WIDE", ["S", "A->ZIP->CODE"])]
    assert indexes("SHOW INDEXES ON wide;") == indexes()
    assert "WIDE has an index with the same name" in world.message("CREATE INDEX IF NOT EXISTS ON wide (n);")
    assert world.message("DROP INDEX IF EXISTS nothing;") == "Index NOTHING does not exist."
    for statement, problem in (
        ("CREATE INDEX ON wide (n);", "same name already"),
        ("CREATE INDEX i ON wide (m);", "WIDE has no column M. Did you mean TM?"),
        ("CREATE INDEX i ON wide (a);", "Index a field of it: A->CITY"),
        ("CREATE INDEX i ON wide (n, n);", "names N twice"),
        ("DROP INDEX wide_m_idx;", "Did you mean WIDE_N_IDX?"),
        ("SHOW INDEXES ON u;", "does not exist: U"),
    ):
        error = world.refused(statement)
        assert problem in error.message
    store = world.services.metastore
    wide = store.require("WIDE")
    columns = tuple(column for column in wide.schema.columns if column.name != "A")
    store.add(replace(wide, schema=Schema(columns)))
    assert indexes() == [("WIDE_N_IDX", "WIDE", ["N"])]  # that of columns which stay
    world.run("DROP TABLE wide;")
    assert indexes() == []


def test_streams_and_tables_without_a_view_have_no_index(world: World) -> None:
    columns, with_ = "n INT", "WITH (kafka_topic='wide', key_format='KAFKA', value_format='JSON')"
    world.run(f"CREATE STREAM st (id INT KEY, {columns}) {with_};")
    world.run(f"CREATE TABLE tb (id INT PRIMARY KEY, {columns}) {with_};")
    assert "ST is a stream" in world.refused("CREATE INDEX ON st (n);").message
    error = world.refused("CREATE INDEX ON tb (n);")
    assert "TB has none. CREATE TABLE QUERYABLE_TB AS SELECT * FROM TB; makes a table" in error.message


def test_indexes_of_tables_that_a_client_may_not_read_are_hidden(world: World) -> None:
    world.run("CREATE INDEX ON wide (n);")
    others = Rights.of(["developer:other_*"])
    (answer,) = world.answers(Request("SHOW INDEXES;", rights=others))
    assert answer["indexes"] == []
    for statement in ("CREATE INDEX ON wide (s);", "DROP INDEX wide_n_idx;"):
        with pytest.raises(KsqlError) as refused:
            world.answers(Request(statement, rights=others))
        assert refused.value.condition == "FORBIDDEN"
