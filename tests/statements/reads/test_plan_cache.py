"""Plans of look-ups are found again by their text without literals, and are the plans that binding makes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ksql_spark import analyzer, grammar
from ksql_spark.analyzer.reads.plan_cache import PlanCache
from ksql_spark.config import Config
from ksql_spark.grammar.literals import put_in, take_out
from ksql_spark.plan.queries import Lookup
from tests.statements.world import World

CATALOG = object()
Bind = Callable[[str], object]


@pytest.fixture
def bind(make_world: Callable[..., World]) -> Bind:
    world = make_world()
    for name, columns in (
        ("ints", "id INT PRIMARY KEY, n BIGINT, v STRING, d DECIMAL(5, 2)"),
        ("texts", "id STRING PRIMARY KEY, `select 1` INT"),
        ("pairs", "a INT PRIMARY KEY, b STRING PRIMARY KEY, n INT"),
        ("dates", "id DATE PRIMARY KEY, n INT"),
    ):
        world.run(
            f"CREATE SOURCE TABLE {name} ({columns}) WITH (kafka_topic='{name}', partitions=1, "
            f"key_format='JSON', value_format='JSON');"
        )
    config = Config({})

    def bind(text: str) -> object:
        statement = grammar.parse_one(text)
        return analyzer.bind_read(statement.query, world.services.published, config)  # type: ignore[attr-defined]

    return bind


def note(cache: PlanCache, bind: Bind, text: str) -> None:
    plan = bind(text)
    assert isinstance(plan, Lookup)
    assert cache.find(CATALOG, (), text) is None
    cache.note(CATALOG, (), text, plan, bind)


def plan(cache: PlanCache, text: str) -> Lookup | None:
    found = cache.find(CATALOG, (), text)
    return None if found is None else found.plan


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("SELECT * FROM ints WHERE id = 1;", "SELECT * FROM ints WHERE id = 2147483647;"),
        ("SELECT * FROM ints WHERE 1 = id;", "SELECT * FROM ints WHERE 2 = id;"),
        ("SELECT * FROM ints WHERE id IN (1, 2);", "SELECT * FROM ints WHERE id IN (7, 7);"),
        ("SELECT v FROM ints WHERE id = 1 OR id = 2;", "SELECT v FROM ints WHERE id = 3 OR id = 0;"),
        ("SELECT n + 1 FROM ints WHERE id = 1;", "SELECT n + 5 FROM ints WHERE id = 6;"),
        ("SELECT * FROM ints WHERE n > 5000000000;", "SELECT * FROM ints WHERE n > 9000000000;"),
        ("SELECT * FROM texts WHERE id = 'a';", "SELECT * FROM texts WHERE id = 'it''s -- \"`';"),
        ("SELECT `select 1` FROM texts WHERE id = 'a';", "SELECT `select 1` FROM texts WHERE id = '';"),
        ("SELECT * FROM pairs WHERE a = 1 AND b = 'x';", "SELECT * FROM pairs WHERE a = 2 AND b = 'y';"),
        ("SELECT v LIKE 'a%' AS x FROM ints WHERE id = 1;", "SELECT v LIKE '%' AS x FROM ints WHERE id = 2;"),
    ],
)
def test_other_values_give_the_plan_that_binding_gives(bind: Bind, first: str, second: str) -> None:
    cache = PlanCache()
    note(cache, bind, first)
    assert plan(cache, first) == bind(first)
    found = plan(cache, second)
    assert found is not None
    if "(7, 7)" not in second:  # binding leaves out what is named twice, looking up does as well
        assert found == bind(second)
    assert cache.hits == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # the limit is not an expression
        ("SELECT * FROM ints WHERE id = 1 LIMIT 5;", "SELECT * FROM ints WHERE id = 1 LIMIT 6;"),
        # a text has to be a date
        ("SELECT * FROM dates WHERE id = '2020-01-01';", "SELECT * FROM dates WHERE id = 'x';"),
        # the look-ups depend on whether values are the same
        ("SELECT * FROM ints WHERE id = 1 AND id = 1;", "SELECT * FROM ints WHERE id = 1 AND id = 2;"),
        # the type depends on the value
        ("SELECT * FROM ints WHERE n = 1;", "SELECT * FROM ints WHERE n = 3000000000;"),
        ("SELECT * FROM ints WHERE d = 1.5;", "SELECT * FROM ints WHERE d = 1.25;"),
        ("SELECT * FROM ints WHERE id = 1;", "SELECT * FROM ints WHERE id = -1;"),
    ],
)
def test_where_values_matter_the_text_has_to_be_the_same(bind: Bind, first: str, second: str) -> None:
    cache = PlanCache()
    note(cache, bind, first)
    assert plan(cache, first) == bind(first)
    found = plan(cache, second)
    assert found is None or found == bind(second)


def test_plans_are_of_a_catalog_and_of_settings(bind: Bind) -> None:
    cache = PlanCache()
    text = "SELECT * FROM ints WHERE id = 1;"
    note(cache, bind, text)
    assert cache.find(CATALOG, ("other",), text) is None
    assert cache.find(object(), (), text) is None
    assert cache.find(CATALOG, (), text) is None  # the others are gone


def test_the_oldest_plans_go(bind: Bind) -> None:
    cache = PlanCache(size=2)
    texts = [f"SELECT {column} FROM ints WHERE id = 1;" for column in ("id", "n", "v")]
    for text in texts:
        note(cache, bind, text)
    assert [cache.find(CATALOG, (), text) is not None for text in texts] == [False, True, True]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1, 12345678901, 123456789012345678901 FROM t1 WHERE a.b2 = 1.5e3 AND c = 'it''s';",
        "SELECT \"q 1\", `w 2` /* 3 'x' */ FROM t -- 4 'y'\nWHERE x = 5;",
        "SELECT '' FROM t WHERE x = 00;",
    ],
)
def test_literals_can_be_put_in_again(text: str) -> None:
    assert put_in(take_out(text)).replace("= 0;", "= 00;") == text


def test_a_text_that_looks_like_a_template_is_not_taken_for_one(bind: Bind) -> None:
    cache = PlanCache()
    note(cache, bind, "SELECT * FROM ints WHERE id = 1;")
    assert cache.find(CATALOG, (), "SELECT * FROM ints WHERE id = \0i;") is None
