"""Look-ups by known plans and by ranges of keys give what a scan with the whole WHERE gives."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from ksql_spark import analyzer, grammar
from ksql_spark.authorization import Rights
from ksql_spark.config import Config
from ksql_spark.consistency import decode, encode
from ksql_spark.engine import query_service
from ksql_spark.engine.query_service import QueryService
from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from ksql_spark.plan.queries import Lookup
from ksql_spark.runtime.reading.key_ranges import key_ranges
from ksql_spark.runtime.reading.view import View
from ksql_spark.runtime.reading.views import Views
from ksql_spark.server.app import create_app
from ksql_spark.server.host import Host
from ksql_spark.statements import Services
from tests.kafka.mock_cluster import MockAdmin, MockCluster
from tests.statements.world import World

SOON_S = 20.0
TABLES = """
CREATE SOURCE TABLE ints (id INT PRIMARY KEY, n BIGINT, v STRING, d DECIMAL(5, 2), x DOUBLE)
    WITH (kafka_topic='ints', key_format='KAFKA', value_format='JSON');
CREATE SOURCE TABLE texts (id STRING PRIMARY KEY, n INT)
    WITH (kafka_topic='texts', key_format='KAFKA', value_format='JSON');
CREATE SOURCE TABLE pairs (a INT PRIMARY KEY, b STRING PRIMARY KEY, n INT)
    WITH (kafka_topic='pairs', key_format='JSON', value_format='JSON');
"""
INTS = [-(2**31), -7, -1, 0, 1, 2, 5, 300, 2**31 - 1]
TEXTS = ["", "a", "ab", "abc", "abd", "b", "z", "é", "\ud7ff", "\ue000", "😀", "a😀", "a\uffff"]


@pytest.fixture(scope="module")
def cluster() -> MockCluster:
    cluster = MockCluster()
    for number in INTS:
        value = {"N": number * 2, "V": f"v{number}", "D": 1.5, "X": number / 4}
        cluster.write("ints", (number.to_bytes(4, "big", signed=True), json.dumps(value).encode()))
    for number, text in enumerate(TEXTS):
        cluster.write("texts", (text.encode(), json.dumps({"N": number}).encode()))
    for number in range(4):
        key = json.dumps({"A": number % 2, "B": f"b{number // 2}"}, separators=(",", ":")).encode()
        cluster.write("pairs", (key, json.dumps({"N": number}).encode()))
    return cluster


@pytest.fixture
def services(
    make_world: Callable[..., World], cluster: MockCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Services]:
    monkeypatch.setattr("ksql_spark.runtime.reading.view._POLL_S", 0.01)  # views end sooner
    admin = MockAdmin(cluster)
    world = make_world()
    for topic in ("ints", "texts", "pairs"):
        world.admin.create_topic(topic, 4)
    world.run(TABLES)
    world.services.views = Views(admin, tmp_path / "views")
    world.spark.running_session = None  # type: ignore[attr-defined]
    yield world.services
    world.services.views.close()
    admin.close()


@pytest.fixture
def service(services: Services) -> QueryService:
    return QueryService(services)


def answer(service: QueryService, text: str) -> list[list[Any]]:
    stream = service.query(Request(text))
    rows = []
    while (some := stream.read(0)) is not None:
        rows += [row.values for row in some]
    return rows


def test_an_answer_says_that_the_tables_query_does_not_run(
    service: QueryService, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped: dict[str, tuple[str, ...]] = {}
    monkeypatch.setattr(services.queries, "stopped_writers", lambda source: stopped.get(source, ()))
    for expected in ((), ("CTAS_INTS_1",)):
        stopped["INTS"] = expected
        service.query(request := Request("SELECT n FROM ints WHERE id = 1;"))
        assert request.positions.stopped == expected
        look_up = service.look_up("SELECT n FROM ints WHERE id = 1;", {})
        assert look_up is not None and look_up.stopped == expected
        service.query(other := Request("SELECT n FROM texts WHERE id = 'a';"))
        assert other.positions.stopped == ()


def at_once(service: QueryService, text: str) -> list[list[Any]] | None:
    """The answer of a look-up that needs no thread; None if it is none."""
    look_up = service.look_up(text, {})
    if look_up is None:
        return None
    told, errors = threading.Event(), list[KsqlError]()

    def on_reached(error: KsqlError | None) -> None:
        errors.extend([error] if error is not None else [])
        told.set()

    if look_up.when_current is not None:
        look_up.when_current(on_reached)
        assert told.wait(SOON_S) and not errors
    return [row.values for row in look_up.result().read(0) or []]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("SELECT * FROM ints WHERE id = 1;", "SELECT * FROM ints WHERE id = 300;"),
        ("SELECT v, id FROM ints WHERE id IN (1, 2);", "SELECT v, id FROM ints WHERE id IN (5, 4);"),
        ("SELECT n FROM ints WHERE id = 1;", "SELECT n FROM ints WHERE id = 2;"),
        (
            "SELECT d, x, n FROM ints WHERE 1 = id OR id = 2;",
            "SELECT d, x, n FROM ints WHERE 2 = id OR id = 0;",
        ),
        ("SELECT * FROM ints WHERE id = 1 AND n > 1;", "SELECT * FROM ints WHERE id = 1 AND n > 2;"),
        ("SELECT * FROM ints WHERE id = 5 AND v = 'v5';", "SELECT * FROM ints WHERE id = 5 AND v = 'v';"),
        ("SELECT id, 7 AS x FROM ints WHERE id = 5;", "SELECT id, 8 AS x FROM ints WHERE id = 5;"),
        ("SELECT * FROM texts WHERE id = 'a';", "SELECT * FROM texts WHERE id = '😀';"),
        ("SELECT * FROM texts WHERE id = 'a';", "SELECT * FROM texts WHERE id = 'x'' OR ''1'' = ''1';"),
        ("SELECT n FROM pairs WHERE a = 1 AND b = 'b1';", "SELECT n FROM pairs WHERE a = 0 AND b = 'b0';"),
        ("SELECT * FROM ints WHERE id IN (1, 2) LIMIT 1;", "SELECT * FROM ints WHERE id IN (1, 2) LIMIT 1;"),
    ],
)
def test_a_known_look_up_gives_what_the_query_gives(service: QueryService, first: str, then: str) -> None:
    assert at_once(service, first) is None  # no plan, no view
    answer(service, first)
    assert at_once(service, first) == answer(service, first)
    assert at_once(service, then) == answer(service, then)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM ints;",
        "SELECT * FROM texts WHERE id > 'a';",
        "SELECT * FROM ints WHERE id = 1 AND v = '${v}';",
        "SELECT * FROM nowhere WHERE id = 1;",
        "DROP TABLE ints;",
    ],
)
def test_anything_else_takes_the_other_way(service: QueryService, text: str) -> None:
    for _ in range(2):
        with contextlib.suppress(KsqlError):
            service.query(Request(text, variables={"v": "x"}))
        assert service.look_up(text, {}) is None


def test_a_view_that_was_dropped_is_not_looked_up(service: QueryService, services: Services) -> None:
    text = "SELECT * FROM ints WHERE id = 1;"
    answer(service, text)
    known = service.look_up(text, {})
    assert known is not None
    services.views.drop("INTS")
    assert service.look_up(text, {}) is None
    with pytest.raises(KsqlError):
        known.result()


CONDITIONS = [
    *(f"id {op} {value}" for op in ("<", "<=", ">", ">=", "=") for value in (-7, 0, 2, 2147483647)),
    "id BETWEEN -1 AND 2",
    "3 > id AND id >= -7",
    "id > 5 AND id < 2",
    "id > 0 OR n < -1",
    "id > 0 AND n > 4",
]
TEXT_CONDITIONS = [
    *(
        f"id {op} '{value}'"
        for op in ("<", "<=", ">", ">=", "=")
        for value in ("a", "ab", "\ud7ff", "😀", "")
    ),
    "id BETWEEN 'ab' AND 'b'",
    "id > 'a' AND id < 'b' AND n > 2",
    "id >= '\ue000'",
]


@pytest.mark.parametrize(
    "where", [f"ints WHERE {c}" for c in CONDITIONS] + [f"texts WHERE {c}" for c in TEXT_CONDITIONS]
)
def test_a_range_gives_what_a_scan_gives(
    service: QueryService, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"SELECT id, n FROM {where};"
    found = answer(service, text)
    everything = View.pages
    monkeypatch.setattr(View, "pages", lambda self, ranges=None: everything(self))
    assert found == answer(service, text)


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        ("texts WHERE id LIKE 'ab%'", ["ab", "abc", "abd"]),
        ("texts WHERE id LIKE 'ab_' AND n < 3", ["ab", "abc", "abd"]),
        ("texts WHERE id >= 'abc' AND id < 'abd'", ["abc"]),
        ("ints WHERE id > -7 AND id < 2", [-1, 0, 1]),
        ("ints WHERE id BETWEEN 5 AND 5", [5]),
    ],
)
def test_a_range_reads_no_other_keys(
    service: QueryService, services: Services, where: str, keys: list[Any]
) -> None:
    statement = grammar.parse_one(f"SELECT * FROM {where};")
    plan = analyzer.bind_read(statement.query, services.published, services.config)  # type: ignore[attr-defined]
    assert isinstance(plan, Lookup)
    ranges = key_ranges(plan.source, plan.predicate)
    view = services.views.current(plan.source, SOON_S)
    read = [row.key for page in view.pages(ranges) for row in page]
    wanted = [k.encode() if isinstance(k, str) else k.to_bytes(4, "big", signed=True) for k in keys]
    assert sorted(read) == sorted(wanted)


def test_a_scan_comes_in_pages_and_its_limit_ends_it(
    service: QueryService, services: Services, cluster: MockCluster
) -> None:
    cluster.write("many", *((str(n).encode(), b'{"N":1}') for n in range(9000)))
    services.admin.create_topic("many", 4)
    source = services.published.require("TEXTS")
    services.metastore.add(dataclasses.replace(source, name="MANY", topic="many"))
    services.catalog.publish()
    stream = service.query(Request("SELECT * FROM many;"))
    sizes = []
    while (rows := stream.read(0)) is not None:
        sizes.append(len(rows))
    assert sum(sizes) == 9000 and max(sizes) <= 2000
    assert len(answer(service, "SELECT * FROM many LIMIT 2500;")) == 2500
    assert len(answer(service, "SELECT * FROM many LIMIT 5 OFFSET 8998;")) == 2
    read: list[int] = []
    pages = View.pages

    def counted(self: View, ranges: Any = None) -> Iterator[Any]:
        for page in pages(self, ranges):
            read.append(len(page))
            yield page

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(View, "pages", counted)
        assert len(answer(service, "SELECT * FROM many LIMIT 3;")) == 3
    assert len(read) == 1


def test_parameters_use_the_plans_of_literals(service: QueryService) -> None:
    answer(service, "SELECT n FROM ints WHERE id =  1  AND v =  'v1' ;")
    for text, parameters in (
        ("SELECT n FROM ints WHERE id = ? AND v = ?;", [300, "v300"]),
        ("SELECT n FROM ints WHERE id = :id AND v = :v;", {"v": "v300", "id": 300}),
    ):
        look_up = service.look_up(text, {}, parameters)
        assert look_up is not None
        assert [row.values for row in look_up.result().read(0) or []] == [[600]]
        stream = service.query(Request(text, parameters=parameters))
        assert [row.values for row in stream.read(0) or []] == [[600]]


@pytest.mark.parametrize("value", ["${v}", "x' OR 'a' = 'a", "?"])
def test_values_of_parameters_are_only_values(service: QueryService, value: str) -> None:
    for _ in range(2):
        stream = service.query(Request("SELECT * FROM texts WHERE id = ?;", parameters=[value]))
        assert stream.read(0) == []
        assert service.look_up("SELECT * FROM texts WHERE id = ?;", {}, [value]) is not None


def test_parameters_and_variables_do_not_mix(service: QueryService) -> None:
    with pytest.raises(KsqlError, match="not both"):
        service.query(Request("SELECT * FROM texts WHERE id = ?;", variables={"a": "b"}, parameters=["x"]))
    with pytest.raises(KsqlError, match="1 parameters"):
        service.query(Request("SELECT * FROM texts WHERE id = ?;", parameters=[]))


def test_parameters_of_long_texts_are_not_filled_in_by_look_ups(
    service: QueryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_service, "filled_in", lambda _: pytest.fail("it was filled in"))
    assert service.look_up("?" * 1_000_000, {}, [1]) is None
    assert service.look_up("SELECT * FROM ints WHERE id IN (?" + ",?" * 5_000 + ");", {}, [1] * 5_001) is None


def test_long_texts_with_parameters_are_answered_in_a_thread(service: QueryService) -> None:
    text = "SELECT n FROM ints WHERE id IN (?" + ",?" * 5_000 + ");"
    stream = service.query(Request(text, parameters=[300] * 5_001))
    assert [row.values for row in stream.read(0) or []] == [[600]]


@pytest.mark.parametrize(
    "more", [{"parameters": ["x" * 50_000]}, {"parameters": ["x"], "properties": {"a": ["x"] * 50_000}}]
)
def test_long_values_are_worked_on_in_a_thread(service: QueryService, more: dict[str, Any]) -> None:
    engine = SimpleNamespace(state="RUNNING", figures=list, query=service.query)
    engine.look_up = lambda *_: pytest.fail("in the event loop")
    host = Host()
    host.engine = engine  # type: ignore[assignment]

    async def run() -> int:
        transport = httpx.ASGITransport(create_app(host))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            body = {"sql": "SELECT * FROM texts WHERE id = ?;", **more}
            return (await client.post("/query-stream", json=body)).status_code

    assert asyncio.run(run()) in (200, 400)


def test_an_allowed_lag_asks_no_broker(
    service: QueryService, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, lag = "SELECT n FROM ints WHERE id = 1;", {"ksql.query.pull.max.allowed.offset.lag": 0}
    service.query(Request(text, lag))
    views = services.views
    monkeypatch.setattr(views, "ends", lambda *_: pytest.fail("it asked"))
    monkeypatch.setattr(views, "when_current", lambda *_: pytest.fail("it asked"))
    stream = service.query(Request(text, lag))
    assert [row.values for row in stream.read(0) or []] == [[2]]
    look_up = service.look_up(text, lag)
    assert look_up is not None and look_up.when_current is None
    assert look_up.rows() == [[2]]


def test_properties_that_are_null_are_not_set(service: QueryService) -> None:
    text = "SELECT n FROM ints WHERE id = 1;"
    for name in ("ksql.query.pull.max.allowed.offset.lag", "ksql.query.pull.max.staleness.ms"):
        try:
            service.query(Request(text, {name: None}))
        except KsqlError as error:  # or they are refused, but that is not a failure of the server
            assert error.code < 50000
        service.look_up(text, {name: None})


def test_an_answer_has_what_its_token_knows(
    service: QueryService, services: Services, cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "SELECT n FROM texts WHERE id = 'token';"
    answer(service, text)
    for number in range(5):
        cluster.write("texts", (b"token", json.dumps({"N": number}).encode()))
        ends = services.views.ends(["texts"])["texts"]
        token = encode({"texts": ends, "another": {0: 10**9}})
        with monkeypatch.context() as patch:
            patch.setattr(services.views, "ends", lambda *_: pytest.fail("it asked"))
            request = Request(text, consistency_token=token)
            stream = service.query(request)
        assert [row.values for row in stream.read(0) or []] == [[number]]
        known = request.positions.token
        assert known is not None and decode(known)["texts"] == ends


@pytest.mark.parametrize("token", ["x", "!!!", "W10", encode({})[:-1], "a" * 200_000])
def test_a_token_of_others_is_refused(service: QueryService, token: str) -> None:
    text = "SELECT n FROM ints WHERE id = 1;"
    answer(service, text)
    with pytest.raises(KsqlError, match="token"):
        service.query(Request(text, consistency_token=token))
    with pytest.raises(KsqlError, match="token"):
        service.look_up(text, {}, None, token)


def test_pull_queries_that_are_too_many_are_refused(service: QueryService, services: Services) -> None:
    text = "SELECT n FROM ints WHERE id = 1;"
    services.current_config.config = services.config.with_values({"ksql.query.pull.max.qps": 3})
    with pytest.raises(KsqlError) as caught:
        for _ in range(20):
            answer(service, text)
    assert caught.value.code == 42900
    with pytest.raises(KsqlError, match=r"ksql\.query\.pull\.max\.qps"):
        for _ in range(20):
            service.look_up(text, {})
    services.current_config.config = Config({"ksql.query.pull.max.concurrent.requests": 0})
    with pytest.raises(KsqlError, match=r"max\.concurrent"):
        answer(service, text)


def test_a_plan_that_is_known_is_for_who_may_read_the_table(service: QueryService) -> None:
    text = "SELECT n FROM ints WHERE id = 300;"
    assert answer(service, text) == [[600]]
    assert service.look_up(text, {}) is not None
    for roles in ("reader:texts", "developer:ints_*", "reader:`ints`", "reader:'ints'"):
        rights = Rights.of([roles])
        for also in (text, "SELECT n FROM ints WHERE id = 5;"):
            with pytest.raises(KsqlError, match="INTS needs the role reader"):
                service.look_up(also, {}, rights=rights)
            with pytest.raises(KsqlError, match="INTS needs the role reader"):
                service.query(Request(also, rights=rights))
        with pytest.raises(KsqlError, match="INTS needs the role reader"):
            service.query(Request("SELECT n FROM ints WHERE id = ?;", parameters=[300], rights=rights))
    reader = Rights.of(["reader:in*"])
    assert service.look_up(text, {}, rights=reader) is not None
    assert service.query(Request(text, rights=reader)).read(0)[0].values == [600]  # type: ignore[index]


def test_over_http_both_ways_give_the_same_bytes(service: QueryService) -> None:
    engine = SimpleNamespace(state="RUNNING", query=service.query, look_up=service.look_up, figures=list)
    host = Host()
    host.engine = engine  # type: ignore[assignment]
    app = create_app(host)

    async def run() -> None:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            for path, member in (("/query-stream", "sql"), ("/query", "ksql")):
                for accept in ("application/vnd.ksql.v1+json", "application/json", "*/*"):
                    bodies = []
                    for more in ({"sessionVariables": {"a": "b"}}, {}, {}):
                        body = {member: "SELECT * FROM ints WHERE id = 300;", **more}
                        sent = await client.post(path, json=body, headers={"accept": accept})
                        assert sent.status_code == 200
                        text = sent.text.replace(sent.text.split("query_")[1].split('"')[0], "")
                        bodies.append((text, sent.headers["content-type"]))
                    assert len(set(bodies)) == 1, bodies
            ask = {"sql": "SELECT n FROM ints WHERE id = :id;", "parameters": {"id": 300}}
            first = await client.post("/query-stream", json=ask)
            assert first.text.splitlines()[1] == "[600]" and "ksql-consistency-token" not in first.headers
            wants = {"properties": {"ksql.query.pull.consistency.token.enabled": True}}
            for more in (wants, wants):
                sent = await client.post("/query-stream", json={**ask, **more})
                token = sent.headers["ksql-consistency-token"]
                own = {"request.ksql.query.pull.consistency.token": token}
                again = await client.post("/query-stream", json={**ask, "requestProperties": own})
                assert again.status_code == 200 and again.headers["ksql-consistency-token"] == token
            wrong = await client.post("/query-stream", json={**ask, "parameters": {"id": {"a": 1}}})
            assert wrong.status_code == 400 and "must be null" in wrong.text
            refused = await client.post(
                "/query-stream", json={"sql": "SELECT * FROM ints WHERE id = 1;"}, headers={"accept": "a/b"}
            )
            assert refused.status_code == 406
            wrong_ones = (
                b"{",
                b"[]",
                b'{"sql":1}',
                b'{"sql":"SELECT * FROM ints WHERE id = 1;","properties":[]}',
            )
            known = [await client.post("/query-stream", content=c) for c in wrong_ones]
            assert {sent.status_code for sent in known} == {400}
            many = await asyncio.gather(
                *(
                    client.post("/query-stream", json={"sql": f"SELECT n FROM ints WHERE id = {n};"})
                    for n in INTS * 20
                )
            )
            assert [json.loads(sent.text.splitlines()[1]) for sent in many] == [[n * 2] for n in INTS * 20]

    asyncio.run(run())
    host.release_threads()
