"""``ksql-spark import --cut-over`` between two servers of ours, on fakes of Kafka and Spark that they share.

Rows are compared by queries, which the fakes do not run: here a test says what the comparison has found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ksql_spark.runtime.queries import differences
from ksql_spark.runtime.queries.runs import takeovers
from ksql_spark.shell.client import Client, ClientError, ServerError
from ksql_spark.shell.main import main
from ksql_spark.tools.comparing import Comparison
from ksql_spark.tools.importer import cutover, shadow
from tests.server.live_server import LiveServer
from tests.statements.world import World
from tests.tools.world_engine import WorldEngine

DECLARED = (
    "CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 3);"
)
STREAM = (
    "CREATE STREAM kept AS SELECT * FROM s WHERE v > 1;"
    "INSERT INTO kept WITH (QUERY_ID = 'NEGATIVE') SELECT * FROM s WHERE v < 0;"
)
TABLE = "CREATE TABLE counts AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;"
STATEFUL = "CREATE STREAM firsts AS SELECT DISTINCT ON (k) * FROM s;"
AT = {"0": 5, "1": 7, "2": 0}
LATER = {"0": 6, "1": 6, "2": 0}


class Pair:
    """Two servers; the second has the shadows of the first one's results."""

    def __init__(self, folder: Path) -> None:
        alone = {"ksql.connect.url": "http://127.0.0.1:1"}
        self.there = World(folder / "there", **alone)
        self.here = World(folder / "here", **alone)
        self.here.admin = self.there.admin
        self.here.restart()
        #: what a comparison finds
        self.found = Comparison("", rows=(3, 3))
        self.urls: tuple[str, str] = ("", "")

    def import_(self, *more: str) -> int:
        return main(["import", "--from", self.urls[0], "--server", self.urls[1], *more])

    def begin(self, statements: str) -> None:
        """Run statements there and in the shadow; both read s, the first a little more of partition 1."""
        self.there.run(DECLARED + statements)
        self.there.admin.ends |= {("s", 0): 10, ("s", 1): 7, ("s", 2): 3}
        assert self.import_("--shadow") == 0
        for world, offsets in ((self.there, AT), (self.here, LATER)):
            for query in world.ids():
                world.commit(query, 0, s=offsets)

    def close(self) -> None:
        self.there.close()
        self.here.close()


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    two = Pair(tmp_path)
    monkeypatch.setattr(
        shadow, "compared", lambda _source, _target, other: replace(two.found, what=other.what)
    )
    monkeypatch.setattr(cutover, "_LOOK_S", 0.01)
    # the rows of topics
    monkeypatch.setattr(differences.TopicRows, "read", lambda self, admin: {})
    monkeypatch.setattr(takeovers, "fence", lambda *_: None)
    monkeypatch.setattr(differences, "writer", lambda *_: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(differences, "write", lambda *_: None)
    with LiveServer(WorldEngine(two.there)) as first, LiveServer(WorldEngine(two.here)) as second:
        two.urls = (first.url, second.url)
        yield two
    two.close()


def catch_up(pair: Pair) -> None:
    for query in pair.here.ids():
        pair.here.commit(query, 1, s=AT)


def check_stream(pair: Pair) -> None:
    """KEPT is written here, from where it ended there."""
    queries = [q for q in pair.here.queries.all() if q.plan.sink.name == "KEPT"]
    assert len(queries) == 2 and {q.plan.sink.topic for q in queries} == {"KEPT"}
    assert [q.starts for q in queries] == [{"s": AT}] * 2
    assert "shadow_KEPT" not in pair.here.admin.topics()
    assert not any(q.plan.sink.name == "KEPT" for q in pair.there.queries.all())


def test_results_are_taken_over(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    pair.begin(STREAM + TABLE)
    ids = {query.split("_")[1] if "_" in query else query: query for query in pair.there.ids()}
    table = next(q.id for q in pair.here.queries.all() if q.plan.sink.name == "COUNTS")
    catch_up(pair)
    capsys.readouterr()
    assert pair.import_("--cut-over") == 0
    said = capsys.readouterr().out
    check_stream(pair)
    query = pair.here.queries.find(table)
    assert query is not None and query.plan.sink.topic == "COUNTS"  # with its state
    assert pair.here.queries.checkpoints.committed_offsets(query) == {"s": {0: 5, 1: 7, 2: 0}}
    assert "shadow_COUNTS" not in pair.here.admin.topics() and pair.there.ids() == []
    assert said.splitlines()[:4] == [
        f"paused   TABLE COUNTS: {ids['COUNTS']} on the other server",
        f"taken    TABLE COUNTS: {table} writes topic COUNTS",
        f"ended    TABLE COUNTS: {ids['COUNTS']} on the other server",
        f"paused   STREAM KEPT: {ids['KEPT']} on the other server",
    ]
    pair.here.restart()
    check_stream(pair)
    assert pair.import_("--cut-over") == 0  # there is nothing left to do


def test_a_stream_whose_queries_have_committed_nothing(pair: Pair) -> None:
    """What waits for them is ours: they stand where they began, neither at the beginning nor at the ends."""
    pair.there.run(DECLARED)
    pair.there.admin.ends |= {("s", 0): 4}
    pair.there.run(STREAM)
    pair.there.admin.ends |= {("s", 0): 10, ("s", 1): 7, ("s", 2): 3}
    assert pair.import_("--shadow") == 0
    assert pair.import_("--cut-over") == 0
    queries = [q for q in pair.here.queries.all() if q.plan.sink.name == "KEPT"]
    assert [q.starts for q in queries] == [{"s": {"0": 4, "1": 0, "2": 0}}] * 2


def test_a_stream_whose_new_version_has_not_begun(pair: Pair) -> None:
    """It has answered what the version before it has, and not what it is about to read again."""
    pair.there.run(DECLARED + "CREATE STREAM kept AS SELECT * FROM s WHERE v > 1;")
    pair.there.admin.ends |= {("s", 0): 10, ("s", 1): 7, ("s", 2): 3}
    assert pair.import_("--shadow") == 0
    (query,) = pair.there.ids()
    pair.there.commit(query, 0, s=AT)
    keeps = "WITH (EVOLVE = 'backfill', HISTORY = 'keep')"
    pair.there.run(f"PAUSE ALL; CREATE OR REPLACE STREAM kept {keeps} AS SELECT k, v FROM s WHERE v > 2;")
    assert pair.import_("--cut-over") == 0
    (taken,) = pair.here.queries.all()
    assert taken.starts == {"s": AT}


@pytest.mark.parametrize("number", range(10))
def test_a_run_that_was_killed_goes_on(pair: Pair, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """It is killed after each of the requests that change something."""
    pair.begin(STREAM + TABLE)
    catch_up(pair)
    run, left = Client.run, number

    def killed(client: Client, text: str, settings: Any = None) -> list[dict[str, Any]]:
        nonlocal left
        answer = run(client, text, settings)
        if not text.startswith(("SHOW", "LIST", "DESCRIBE", "EXPLAIN")):
            left -= 1
            if left < 0:
                raise ClientError("killed")
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(Client, "run", killed)
        assert pair.import_("--cut-over") == 1
    assert pair.import_("--cut-over") == 0
    check_stream(pair)
    assert pair.here.services.metastore.require("COUNTS").topic == "COUNTS"
    assert not [name for name in pair.here.admin.topics() if name.startswith("shadow_")]
    assert pair.there.ids() == [] and {*pair.here.states().values()} == {"RUNNING"}


def test_results_that_differ_are_refused_unless_forced(
    pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    pair.begin(STREAM)
    pair.found = Comparison("", rows=(3, 4), only_here=1)
    assert pair.import_("--cut-over") == 1
    assert "refused  STREAM KEPT: differs: 3 rows there, 4 here" in capsys.readouterr().out
    assert {*pair.there.states().values()} == {"RUNNING"}
    pair.found = replace(pair.found, is_behind=True)
    assert pair.import_("--cut-over") == 0
    check_stream(pair)


def test_a_table_waits_until_it_has_read_as_much(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    pair.begin(TABLE)
    looks: list[float] = []

    def looked(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            assert pair.here.services.metastore.require("COUNTS").topic == "shadow_COUNTS"
            catch_up(pair)

    monkeypatch.setattr(cutover.time, "sleep", looked)
    assert pair.import_("--cut-over") == 0
    assert len(looks) >= 3 and pair.here.services.metastore.require("COUNTS").topic == "COUNTS"


def refuse(monkeypatch: pytest.MonkeyPatch, message: str, is_refused: Callable[[str, str], bool]) -> None:
    """Refuse statements by the URL of the server and their text."""
    run = Client.run

    def refusing(client: Client, text: str, settings: Any = None) -> list[dict[str, Any]]:
        if is_refused(client.url, text):
            raise ServerError({"message": message})
        return run(client, text, settings)

    monkeypatch.setattr(Client, "run", refusing)


def test_a_server_that_does_not_let_us_is_left_to_the_user(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pair.begin(TABLE)
    catch_up(pair)

    def user(_: float) -> None:
        asked = [line for line in capsys.readouterr().out.splitlines() if line.startswith("asked")]
        for line in asked:
            pair.there.run(line.split("run ")[1].split(" on the other")[0])

    theirs = ("PAUSE", "TERMINATE")
    refuse(monkeypatch, "You may not.", lambda url, text: url == pair.urls[0] and text.startswith(theirs))
    monkeypatch.setattr(cutover.time, "sleep", user)
    assert pair.import_("--cut-over") == 0
    assert pair.there.ids() == [] and pair.here.services.metastore.require("COUNTS").topic == "COUNTS"


def test_what_is_refused_here_resumes_there(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pair.begin(TABLE)
    catch_up(pair)
    refuse(monkeypatch, "There is no space.", lambda _, text: "EVOLVE" in text)
    assert pair.import_("--cut-over") == 1
    said = capsys.readouterr().out
    assert "resumed  TABLE COUNTS: CTAS_COUNTS_" in said and "refused  TABLE COUNTS: There is no sp" in said
    assert {*pair.there.states().values(), *pair.here.states().values()} == {"RUNNING"}


def test_a_statement_that_takes_its_time_is_waited_for(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server answers before it has carried it out."""
    pair.begin(TABLE)
    catch_up(pair)
    run = Client.run
    waiting: list[str] = []

    def late(client: Client, text: str, settings: Any = None) -> list[dict[str, Any]]:
        if "EVOLVE" in text:
            waiting.append(text)
            return [{"commandStatus": {"status": "QUEUED"}}]
        return run(client, text, settings)

    def passes(_: float) -> None:
        if waiting:
            pair.here.run(waiting.pop())

    monkeypatch.setattr(Client, "run", late)
    monkeypatch.setattr(cutover.time, "sleep", passes)
    assert pair.import_("--cut-over") == 0
    assert pair.here.services.metastore.require("COUNTS").topic == "COUNTS" and pair.there.ids() == []


def test_positions_that_ksqldb_tells() -> None:
    """Its groups are called by its applications, and have no positions of partitions without records."""
    offsets = [{"partition": 0, "consumerOffset": 4, "logStartOffset": 0, "logEndOffset": 9}]
    described = {
        "writeQueries": [{"id": "CSAS_X_1"}],
        "queryOffsetSummaries": [
            {"groupId": f"_confluent-ksql-default_query_{query}", "topicSummaries": topics}
            for query, topics in (
                ("CSAS_X_1", [{"kafkaTopic": "s", "offsets": offsets}]),
                ("CSAS_X_11", []),
            )
        ],
    }
    assert shadow.places(described) == {"CSAS_X_1": {"s": {0: shadow.Place(4, 0, 9)}}}


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        (STATEFUL, "cannot be taken over exactly: START at offsets is for queries that keep no state"),
        (
            TABLE + "CREATE TABLE few AS SELECT * FROM counts WHERE n < 3;",
            "read it here, in topic shadow_COUNTS",
        ),
        (
            TABLE + "CREATE TABLE few AS SELECT * FROM counts WHERE n < 3;",
            "it reads COUNTS, whose topic here is",
        ),
    ],
)
def test_what_cannot_be_exact_is_refused(
    pair: Pair, capsys: pytest.CaptureFixture[str], statements: str, reason: str
) -> None:
    pair.begin(statements)
    assert pair.import_("--cut-over") == 1
    assert reason in capsys.readouterr().out
    assert {*pair.there.states().values(), *pair.here.states().values()} == {"RUNNING"}
    assert all(q.plan.sink.topic.startswith("shadow_") for q in pair.here.queries.all())
