"""The stories of ``examples``: each one's results are those that a few lines of Python compute.

Those that take a second or two run by default, all of them with STORIES=all (``make test-stories``).
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest

from examples.cdc import database
from ksql_spark.engine import Engine, Request
from ksql_spark.errors import KsqlError
from ksql_spark.services import artifacts
from ksql_spark.tools.demo import stories
from tests.integration.documentation.story_runs import Given, Row, StoryRun
from tests.registry_server import RegistryServer
from tests.server.live_server import LiveServer
from tests.waiting import until

pytestmark = pytest.mark.kafka
#: of what the stories with an engine of their own make
PREFIX = "stories_"
slow = pytest.mark.skipif(os.environ.get("STORIES") != "all", reason="make test-stories runs it")

MINUTE_MS = 60_000
Tell = Callable[..., StoryRun]


@pytest.fixture
def tell(url: str, engine: Engine, execute: Callable[[str], Any], tmp_path: Path) -> Iterator[Tell]:
    """Run a story; what it has made is dropped after the test."""
    sinks = {sink.name for sink in engine.services.metastore.sinks()}

    runs: list[StoryRun] = []

    def run(name: str, counts: dict[str, int] | None = None, **more: Any) -> StoryRun:
        runs.append(StoryRun(name, url, engine, counts or {}, folder=tmp_path, **more))
        return runs[-1].tell()

    yield run
    for told in runs:
        told.close()
    for sink in [sink for sink in engine.services.metastore.sinks() if sink.name not in sinks]:
        execute(f"DROP SINK {sink.name};")


def by(events: list[Given], key: Callable[[Given], Any]) -> dict[Any, list[Row]]:
    """The values of the events in groups."""
    groups: dict[Any, list[Row]] = defaultdict(list)
    for event in events:
        groups[key(event)].append(event.values)
    return groups


def window(time_ms: int, size_ms: int = MINUTE_MS) -> tuple[int, int]:
    """The tumbling window of a time."""
    start = time_ms - time_ms % size_ms
    return start, start + size_ms


def total(rows: list[Row], name: str) -> Any:
    return sum(row[name] for row in rows)


def test_each_story_has_a_test() -> None:
    tested = {name.removeprefix("test_").replace("_", "-") for name in globals() if name.startswith("test_")}
    assert set(stories.names()) <= tested


def test_taxi(tell: Tell) -> None:
    run = tell("taxi", {"rides": 300, "green_rides": 60})
    rides, greens = run.events["rides"], run.events["green_rides"]
    vendors = by(rides, lambda e: e.values["VendorID"])
    truth = {
        v: (len(r), total(r, "total_amount"), total(r, "trip_distance") / len(r)) for v, r in vendors.items()
    }
    run.table("rides_by_vendor", truth, lambda row: (row["TRIPS"], row["REVENUE"], row["DISTANCE"]))
    minutes = by(rides, lambda e: (e.values["VendorID"], *window(e.time)))
    truth = {key: (len(r), total(r, "total_amount")) for key, r in minutes.items()}
    run.table("rides_per_minute", truth, lambda row: (row["TRIPS"], row["REVENUE"]))

    amounts = [e.values["total_amount"] for e in rides]
    dear, cheap = [a for a in amounts if a >= 40], [a for a in amounts if a < 40]
    assert dear and cheap
    assert [row["TOTAL_AMOUNT"] for row in run.rows("expensive_rides", len(dear))] == dear
    assert [row["TOTAL_AMOUNT"] for row in run.rows("cheap_rides", len(cheap))] == cheap

    zones = {e.key: e.values["Zone"] for e in run.events["zones"]}
    joined = run.rows("rides_with_zones", len(rides))
    assert [row["ZONE"] for row in joined] == [zones[e.values["PULocationID"]] for e in rides]
    pairs = Counter(
        (y.values["PULocationID"], y.values["total_amount"], g.values["total_amount"])
        for y in rides
        for g in greens
        if y.values["PULocationID"] == g.values["PULocationID"] and abs(y.time - g.time) <= MINUTE_MS
    )
    found = run.rows("yellow_and_green", pairs.total())
    assert Counter((r["LOCATIONID"], r["YELLOW_AMOUNT"], r["GREEN_AMOUNT"]) for r in found) == pairs
    assert run.shown() == 5


@slow
def test_corrections(make_engine: Callable[..., Engine], tmp_path: Path) -> None:
    grace_ms = 30_000

    def truth(events: list[Given], zero: int, is_late: bool) -> dict[tuple[str, int], tuple[int, float]]:
        """Each sensor's closed minutes, with late readings or without; ``zero``: 0 °C in Fahrenheit."""
        minutes: dict[tuple[str, int], list[float]] = defaultdict(list)
        stream_time = 0
        for event in events:
            measured = event.values["measured_at"]
            stream_time = max(stream_time, measured)
            start, end = window(measured)
            if is_late or end + grace_ms > stream_time:
                minutes[event.key, start].append(event.values["celsius"])
        return {
            key: (len(of), pytest.approx(sum(of) / len(of) * 9 / 5 + zero))
            for key, of in minutes.items()
            if key[1] + MINUTE_MS + grace_ms <= stream_time
        }

    def table(run: StoryRun, keys: Any) -> dict[tuple[str, int], tuple[int, float]]:
        found = {
            (row["SENSOR"], row["WINDOWSTART"]): (row["READINGS"], row["FAHRENHEIT"])
            for row in run.lookup("SELECT * FROM minute_averages;")
        }
        return {key: row for key, row in found.items() if key in keys}

    def then(run: StoryRun, number: int) -> None:
        readings = run.events["readings"]
        whole = truth(readings, 23, True)
        if number == 0:  # all is read, and what is late is known
            partly = truth(readings, 23, False)
            assert whole != partly
            until(lambda: table(run, whole) == partly)
            missing = sum(n for n, _ in whole.values()) - sum(n for n, _ in partly.values())
            late = "SELECT COUNT(*) AS n FROM LATE ROWS OF CTAS_MINUTE_AVERAGES_2;"
            until(lambda: run.lookup(late) == [{"N": missing}])
        elif number == 1:
            until(lambda: table(run, whole) == whole)
        else:
            right = truth(readings, 32, True)
            until(lambda: table(run, right) == right)

    log = "ksql.logging.processing"
    engine = make_engine(
        **{f"{log}.{name}": "true" for name in ("topic.auto.create", "stream.auto.create", "rows.include")}
    )
    with LiveServer(engine) as server:
        run = StoryRun("corrections", server.url, engine, {"readings": 400}, folder=tmp_path, then=then)
        assert run.tell().shown() == 2
    engine.execute(Request("DROP TABLE minute_averages; DROP STREAM readings DELETE TOPIC;"))


@slow
def test_kappa(tell: Tell, execute: Callable[[str], Any]) -> None:
    def watched(run: StoryRun, least: float) -> dict[str, tuple[int, float]]:
        cards = by(
            [e for e in run.events["payments"] if e.values["amount"] > least], lambda e: e.values["card"]
        )
        return {card: (len(rows), total(rows, "amount")) for card, rows in cards.items()}

    def row_of(row: Row) -> tuple[int, float]:
        return row["PAYMENTS"], row["TOTAL"]

    def then(run: StoryRun, number: int) -> None:
        if number == 0:
            run.table("watch_list", watched(run, 350), row_of)

    run = tell("kappa", {"payments": 400}, then=then)
    old, new = watched(run, 350), watched(run, 300)
    assert len(old) < len(new)
    run.table("watch_list", new, row_of)
    run.table("suspicious", {card: row for card, row in new.items() if row[0] > 1}, row_of)
    (described,) = execute("DESCRIBE EVOLUTION watch_list;")
    assert (described["state"], described["keysRemoved"]) == ("swapped", 0)
    served = {row["CARD"]: pytest.approx(row_of(row)) for row in run.lookup("SELECT * FROM watch_list;")}
    assert new == served


@slow
def test_history(tell: Tell, engine: Engine, tmp_path: Path) -> None:
    run = tell("history", {"rides": 100})
    # retention has removed the past, and the archive has all
    records = pyarrow.dataset.dataset(tmp_path / "rides").to_table(columns=["offset", "timestamp", "value"])
    past = [row for row in records.to_pylist() if row["offset"] < 720]
    begin = engine.services.admin.beginning_offsets("rides")
    assert (len(past), list(begin.values())) == (720, [720])
    zones = {e.key: e.values["Zone"] for e in run.events["zones"]}
    rides = [(json.loads(row["value"]), int(row["timestamp"].timestamp() * 1000)) for row in past]
    rides += [(e.values, e.time) for e in run.events["rides"]]
    truth: dict[Any, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for ride, time_ms in rides:
        key = (zones[ride["PULocationID"]], *window(time_ms, 60 * MINUTE_MS))
        count, fares = truth[key]
        truth[key] = (count + 1, fares + ride["total_amount"])
    run.table("fares", dict(truth), lambda row: (row["RIDES"], row["FARES"]))
    assert run.shown() == 2


def test_lakehouse(tell: Tell, tmp_path: Path) -> None:
    run = tell("lakehouse", {"sales": 100})
    prices = {"tea": 2.5, "coffee": 4.0, "cocoa": 3.25, "sugar": 1.5, "milk": 0.75, "flour": 1.25}
    run.table("prices", prices, lambda row: row["PRICE"])
    sold = {
        item: sum(row["quantity"] for row in rows)
        for item, rows in by(run.events["sales"], lambda e: e.values["item"]).items()
    }
    truth = {item: (n, n * prices[item]) for item, n in sold.items()}
    run.table("revenue", truth, lambda row: (row["SOLD"], row["REVENUE"]))
    lines = {
        f"{item}: {n} sold for {revenue:.2f}, each for {prices[item]:.2f} on average"
        for item, (n, revenue) in truth.items()
    }

    def shown() -> set[str]:
        return set(run.program("report.py", "${folder}/revenue", "--once").splitlines())

    until(lambda: shown() == lines, lambda: (shown(), lines))
    # a change in the database arrives
    with contextlib.closing(sqlite3.connect(tmp_path / "shop.db")) as database, database:
        database.execute("UPDATE prices SET price = 3 WHERE item = 'tea'")
    run.table("prices", prices | {"tea": 3.0}, lambda row: row["PRICE"])
    assert run.shown() == 2


@slow
def test_avro(tell: Tell, registry: RegistryServer, engine: Engine) -> None:
    run = tell("avro", registry=registry.url)
    rides = run.rows("avro_rides", 120)
    assert len(rides) == 120 and sorted(rides[0]) == ["DISTANCE", "TIP", "TOTAL", "VENDOR"]
    assert {row["TIP"] for row in rides[:50]} == {None} and all(row["TIP"] > 0 for row in rides[50:])
    vendors: dict[str, list[Row]] = defaultdict(list)
    for row in rides:
        vendors[row["VENDOR"]].append(row)
    truth = {v: (len(rows), total(rows, "TOTAL")) for v, rows in vendors.items()}
    run.table("avro_vendors", truth, lambda row: (row["TRIPS"], row["REVENUE"]))
    given = {v: [row["TIP"] for row in rows if row["TIP"] is not None] for v, rows in vendors.items()}
    tips = {v: (sum(of), max(of)) for v, of in given.items()}
    run.table("avro_tips", tips, lambda row: (row["TIPS"], row["HIGHEST"]))
    printed = run.program("consumer.py", "--count", "120").splitlines()
    last = dict(line.split(": ", 1) for line in printed)
    assert last == {v: f"{count} trips, {revenue:.2f}" for v, (count, revenue) in truth.items()}
    assert run.shown() == 2


@pytest.fixture
def can_run_postgres() -> None:
    """Skip the test where PostgreSQL is not installed or cannot run."""
    try:
        database.program("initdb")
    except database.Problem as problem:
        pytest.skip(str(problem))
    if os.geteuid() == 0 and not os.stat(os.devnull).st_mode & stat.S_IWOTH:
        pytest.skip(f"PostgreSQL does not run as root, and others may not write {os.devnull} here")


@slow
def test_cdc(tell: Tell, engine: Engine, execute: Callable[[str], Any], can_run_postgres: None) -> None:
    plugins = Path(str(engine.services.config["ksql.spark.data.dir"])) / "connect" / "plugins"
    try:
        artifacts.install(stories.load("cdc").connectors[0], plugins)
    except KsqlError as error:
        pytest.skip(f"there is no Debezium: {error.message}")
    run = tell("cdc", {"calls": 20})
    try:
        (process,) = run.running
        assert process.stdout is not None and process.stdout.readline() == "all changes are made\n"
        # what was there when the connector began, then changes of each kind
        for changes in (
            "",
            "DELETE FROM customers WHERE id = (SELECT min(id) FROM customers);"
            "UPDATE customers SET city = 'Cork' WHERE id = (SELECT max(id) FROM customers);"
            "INSERT INTO customers VALUES (9, 'Ida', 'Oslo')",
        ):
            database.sql(54329, changes)
            lines = [line.split("|") for line in database.sql(54329, "SELECT * FROM customers").splitlines()]
            truth = {int(n): (name, city) for n, name, city in lines}
            run.table("customers", truth, lambda row: (row["NAME"], row["CITY"]))
            cities = Counter(city for *_, city in lines)
            # a city that nobody lives in any more has the count 0
            run.table("customers_by_city", dict(cities), lambda row: row["CUSTOMERS"] or None)
        assert len(run.rows("named_calls", 20)) == 20
        assert run.shown() == 3
    finally:
        execute("DROP CONNECTOR customers_cdc;")
