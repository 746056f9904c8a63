from __future__ import annotations

from pathlib import Path

import pytest

from ksql_spark import grammar
from ksql_spark.grammar.nodes import AliasedSource, LateRowsOf
from ksql_spark.shell.client import Client
from ksql_spark.shell.main import main
from ksql_spark.shell.output.text import width
from ksql_spark.tools.demo import dashboard, stories
from ksql_spark.tools.demo import main as demo
from ksql_spark.tools.demo.dashboard import Feed, Panel
from ksql_spark.tools.demo.stories import Generate, Program, Show, StoryProblem, Then


def plain(text: str) -> str:
    return text


def panels() -> list[Panel]:
    vendors = Feed(("VENDOR",))
    vendors.add({"VENDOR": "Curb", "TRIPS": 4, "REVENUE": 80.5})
    vendors.add({"VENDOR": "Helix", "TRIPS": 2, "REVENUE": 1234.567})
    vendors.add({"VENDOR": "Curb", "TRIPS": 8, "REVENUE": 160.5})
    windows = Feed(("WINDOWSTART",))
    windows.add({"WINDOWSTART": 60_000, "TRIPS": 1})
    windows.add({"WINDOWSTART": 120_000, "TRIPS": 3})
    broken = Feed()
    broken.problem = "no such stream"
    return [
        Panel("Vendors", vendors, "TRIPS"),
        Panel("Windows", windows),
        Panel("Empty", Feed()),
        Panel("Broken", broken),
        Panel("Odd", windows),
    ]


def test_screen() -> None:
    lines = dashboard.screen(panels()[:4], ("title", "right"), "foot", 80, 24, plain, plain, plain)
    assert len(lines) == 24
    assert all(width(line) <= 80 for line in lines)
    assert lines[0] == "title" + " " * 70 + "right"
    assert lines[4].split() == ["vendor", "trips", "revenue", "windowstart", "trips"]
    assert lines[5].split() == ["Curb", "8", "160.50", "█████████████", "00:02:00", "3"]
    assert lines[6].split() == ["Helix", "2", "1,234.57", "███▎", "00:01:00", "1"]
    assert "waiting for the first rows …" in lines[14] and "no such stream" in lines[14]
    assert lines[-1] == "foot"


def test_screen_of_any_size() -> None:
    for columns, rows in ((20, 8), (40, 10), (200, 60)):
        lines = dashboard.screen(panels(), ("title", "right"), "foot", columns, rows, plain, plain, plain)
        assert len(lines) == rows


def test_tombstone_takes_a_row_away() -> None:
    feed = Feed(("K",))
    feed.add({"K": 1, "N": 1})
    feed.add({"K": 1, "N": None}, tombstone=True)
    assert feed.rows == {}


def test_a_pull_query_replaces_what_was_there() -> None:
    feed = Feed(("K",))
    feed.replace([{"K": 1, "N": 1}, {"K": 2, "N": 1}])
    feed.replace([{"K": 2, "N": 1}])
    feed.replace([{"K": 2, "N": 1}])
    assert (feed.rows, feed.total) == ({(2,): {"K": 2, "N": 1}}, 2)


def test_bar() -> None:
    assert [dashboard.bar(share, 2) for share in (0, 0.25, 0.5, 0.9, 1, 7)] == [
        "",
        "▌",
        "█",
        "█▊",
        "██",
        "██",
    ]


STORY = """\
-- A title: with more

--@server ksql.heartbeat.enable = true
--@registry
--@package deltalake ksql-spark[lake]
CREATE STREAM s (v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
--@fill zones
--@generate rides --rate 5/s
--@run write.py --count 3
--@show All rows | key A, B; bar N | SELECT * FROM s EMIT CHANGES;
--@show A program | | python read.py
--@then What comes next
DROP STREAM s;
"""


def test_a_story_is_read() -> None:
    story = stories.read(Path("/x/a/a.sql"), STORY)
    assert (story.name, story.title, story.has_registry) == ("a", "A title: with more", True)
    assert story.server == {"ksql.heartbeat.enable": "true"}
    assert story.packages == {"deltalake": "ksql-spark[lake]"}
    create, *steps, drop = story.steps
    assert isinstance(create, grammar.StatementText) and isinstance(drop, grammar.StatementText)
    assert steps == [
        Generate(("zones",), True),
        Generate(("rides", "--rate", "5/s"), False),
        Program(Path("/x/a/write.py"), ("--count", "3"), True),
        Show("All rows", "SELECT * FROM s EMIT CHANGES;", ("A", "B"), "N"),
        Show("A program", Program(Path("/x/a/read.py"), (), False)),
        Then("What comes next"),
    ]


def test_a_wrong_directive_is_refused_with_its_place() -> None:
    with pytest.raises(StoryProblem, match=r"a\.sql:3: cannot parse this: --@shw x"):
        stories.read(Path("a.sql"), "-- T\n\n--@shw x\n")


@pytest.mark.parametrize("name", stories.names())
def test_stories_are_whole(name: str) -> None:
    story = stories.load(name)
    assert story.title and (story.file.parent / "README.md").exists()
    created: set[str] = set()
    for step in story.steps:
        match step:
            case Show(source=str() as sql):
                (query,) = grammar.parse(sql)
                read = query.query.find(AliasedSource, LateRowsOf)
                assert isinstance(read, LateRowsOf) or read.name in created
            case Show(source=Program(file=file)) | Program(file=file):
                assert file.exists()
            case grammar.StatementText():
                grammar.parse_one(step.text)
                created.update({step.name} if step.verb == "CREATE" else ())


def test_the_demo_lists_the_stories(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    listed = capsys.readouterr().out
    assert all(f"  {name}  " in listed or f"  {name} " in listed for name in stories.names())
    assert "Taxi rides of New Yo" in listed


def test_missing_packages_are_told_before_anything_starts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda module: None)
    assert main(["demo", "lakehouse"]) == 2
    told, command = capsys.readouterr().err.splitlines()
    assert told.endswith("'lakehouse' needs more Python packages. Install them, and start it again:")
    assert command.endswith(" -m pip install 'ksql-spark[lake,jdbc]' duckdb")


def test_without_the_repository_there_are_no_stories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stories.names, "__defaults__", (tmp_path,))
    assert main(["demo"]) == 2
    assert "is only in the repository" in capsys.readouterr().err


def test_an_unknown_story(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "taxis"]) == 2
    assert "Unknown story 'taxis'. Available stories: avro, " in capsys.readouterr().err


def test_properties_of_the_server(server) -> None:
    assert demo._property(Client(server.url), "bootstrap.servers") == "127.0.0.1:9092"
    with pytest.raises(demo.DemoProblem, match=r"needs no\.such"):
        demo._property(Client(server.url), "no.such")
