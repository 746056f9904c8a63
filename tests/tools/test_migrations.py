"""What ksql-spark migrations does without a server: files, which versions, what is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksql_spark.shell.client import ClientError
from ksql_spark.shell.options import OptionProblem
from ksql_spark.tools.migrations.applying import Wanted, check_applied, choose, parts_of
from ksql_spark.tools.migrations.history import (
    CLAIM,
    CLAIMED,
    CURRENT,
    ERROR,
    MIGRATED,
    NO_REASON,
    NO_VERSION,
    RELEASED,
    RUNNING,
    Event,
    Standing,
    standing,
)
from ksql_spark.tools.migrations.main import main
from ksql_spark.tools.migrations.project import Migration, Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.create(tmp_path / "shop", "http://localhost:1")


def event(migration: Migration, state: str = MIGRATED, previous: str = NO_VERSION) -> Event:
    return Event(
        str(migration.version),
        migration.name,
        state,
        migration.checksum(),
        "1000",
        "" if state == RUNNING else "2000",
        previous,
        NO_REASON,
    )


def test_new_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "shop"
    assert main(["new-project", str(folder), "http://localhost:8088"]) == 0
    config = folder / "ksql-migrations.properties"
    assert config.read_text() == "ksql.server.url=http://localhost:8088\n"
    assert (folder / "migrations").is_dir()
    assert f"Created {config}" in capsys.readouterr().out
    assert main(["new-project", str(folder), "http://localhost:8088"]) == 2
    assert "already exists" in capsys.readouterr().err


def test_create(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    config = ["-c", str(project.config), "create"]
    assert main([*config, "Create", "orders"]) == 0
    assert main([*config, "add table", "-v", "10"]) == 0
    assert main([*config, "more"]) == 0
    names = [migration.path.name for migration in project.migrations()]
    assert names == ["V000001__Create_orders.sql", "V000010__add_table.sql", "V000011__more.sql"]
    assert [migration.name for migration in project.migrations()] == ["Create orders", "add table", "more"]
    assert main([*config, "again", "-v", "10"]) == 2
    assert "A migration with version 10 already exists: V000010__add_table.sql" in capsys.readouterr().err
    assert main([*config, "a/b"]) == 2
    assert "letters, digits, spaces" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["", "ftp://x", "http://", "a b"])
def test_a_url_that_is_none(tmp_path: Path, url: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["new-project", str(tmp_path / "shop"), url])
    assert not (tmp_path / "shop").exists()


@pytest.mark.parametrize("version", ["0", "1000000", "-1", "x"])
def test_a_version_is_a_number_up_to_six_digits(project: Project, version: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["-c", str(project.config), "create", "x", "-v", version])


def test_a_project_needs_a_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-c", str(tmp_path / "none"), "info"]) == 2
    assert "does not exist" in capsys.readouterr().err
    config = tmp_path / "ksql-migrations.properties"
    config.write_text("ssl.alpn=true\n")
    assert main(["-c", str(config), "info"]) == 2
    assert "ksql.server.url is missing" in capsys.readouterr().err


def test_a_server_that_is_not_there(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-c", str(project.config), "apply", "-a"]) == 1
    assert "http://localhost:1" in capsys.readouterr().err


def test_names_and_places_from_properties(tmp_path: Path) -> None:
    elsewhere = tmp_path / "sql"
    elsewhere.mkdir()
    (elsewhere / "V000007__x.sql").touch()
    config = tmp_path / "c.properties"
    config.write_text(
        "ksql.server.url=http://localhost:8088\n"
        "ksql.migrations.stream.name=my_events\n"
        "ksql.migrations.table.topic.name=versions\n"
        f"ksql.migrations.dir.override={elsewhere}\n"
    )
    project = Project.open(config)
    assert project.stream == "MY_EVENTS"
    assert project.topic("stream", "default_") == "default_ksql_MY_EVENTS"
    assert project.topic("table", "default_") == "versions"
    assert [migration.version for migration in project.migrations()] == [7]


def test_two_files_of_one_version(project: Project) -> None:
    project.add("one", 3)
    (project.folder / "V000003__two.sql").touch()
    (project.folder / "notes.txt").touch()
    with pytest.raises(OptionProblem, match=r"V000003__one.sql and V000003__two.sql have the same version"):
        project.migrations()


@pytest.mark.parametrize(
    ("current", "wanted", "versions"),
    [
        (None, Wanted(), [1, 2, 4]),
        (None, Wanted(next=True), [1]),
        (None, Wanted(until=2), [1, 2]),
        (None, Wanted(version=2), [2]),
        ((1, MIGRATED), Wanted(), [2, 4]),
        ((1, ERROR), Wanted(next=True), [1]),
        ((2, ERROR), Wanted(until=4), [2, 4]),
        ((4, MIGRATED), Wanted(), []),
    ],
)
def test_choose(
    project: Project, current: tuple[int, str] | None, wanted: Wanted, versions: list[int]
) -> None:
    migrations = [project.add("x", version) for version in (1, 2, 4)]
    last = current and event(next(m for m in migrations if m.version == current[0]), current[1])
    assert [one.version for one in choose(migrations, Standing(current=last), wanted)] == versions


@pytest.mark.parametrize(
    ("state", "wanted", "message"),
    [
        (MIGRATED, Wanted(version=1), "Version 1 is not newer than the last applied version, 2"),
        (ERROR, Wanted(until=1), "Version 1 is not newer"),
        (MIGRATED, Wanted(version=3), "No migration has version 3"),
        (RUNNING, Wanted(), "Another process is applying version 2.* --take-over"),
    ],
)
def test_choose_refuses(project: Project, state: str, wanted: Wanted, message: str) -> None:
    migrations = [project.add("x", version) for version in (1, 2, 4)]
    known = standing([(CURRENT, event(migrations[1], state))])
    with pytest.raises(ClientError, match=message):
        choose(migrations, known, wanted)


def test_one_that_is_marked_as_running_can_be_taken_over(project: Project) -> None:
    migrations = [project.add("x", version) for version in (1, 2)]
    known = standing([(CURRENT, event(migrations[0], RUNNING))])
    assert choose(migrations, known, Wanted(), takes_over=True) == migrations


def test_files_of_what_was_applied_are_checked(project: Project) -> None:
    first, second, third = (project.add("x", version) for version in (1, 2, 3))
    applied, failed = event(second, previous="1"), event(third, ERROR, previous="2")
    known = standing([("1", event(first)), ("2", applied), ("3", failed), (CURRENT, failed)])
    third.path.write_text("what was not applied may change")
    assert check_applied(project.migrations(), known) == 2
    first.path.write_text("-- other")
    with pytest.raises(ClientError, match=r"V000001__x.sql was changed after it was applied"):
        check_applied(project.migrations(), known)
    first.path.unlink()
    with pytest.raises(ClientError, match=r"The file of the applied version 1 \(x\) is missing"):
        check_applied(project.migrations(), known)


def test_nothing_applied_is_nothing_to_check(project: Project) -> None:
    assert check_applied(project.migrations(), Standing()) == 0


def claimed(name: str, at: str, takes_over: str = "", state: str = CLAIMED) -> tuple[str, Event]:
    return CLAIM, Event("1", name, state, "", at, "", NO_VERSION, takes_over)


def test_of_several_claims_the_first_one_counts_until_its_version_has_ended() -> None:
    begun = Event("1", "x", RUNNING, "", "10", "", NO_VERSION, NO_REASON)
    ended = Event("1", "x", MIGRATED, "", "10", "20", NO_VERSION, NO_REASON)
    events = [claimed("a", "10"), claimed("b", "11"), (CURRENT, begun), claimed("c", "12")]
    known = standing(events)
    assert known.holder is not None and known.holder.name == "a"
    known = standing([*events, ("1", ended), (CURRENT, ended)])
    assert (known.holder, known.current, known.migrated, known.versions) == (None, ended, "1", {"1": ended})
    # whoever claims then has read what was before, and gives it back
    late = claimed("d", "9")
    assert standing([*events, (CURRENT, ended), late]).holder == late[1]
    released = claimed("d", "9", state=RELEASED)
    assert standing([*events, (CURRENT, ended), late, released]).holder is None


def test_a_claim_is_taken_over_once() -> None:
    begun = Event("1", "x", RUNNING, "", "10", "", NO_VERSION, NO_REASON)
    events = [claimed("a", "10"), (CURRENT, begun), claimed("b", "30", "a"), claimed("c", "31", "a")]
    known = standing(events)
    assert known.holder is not None and known.holder.name == "b"
    # the one that was taken over is not gone after all: it does not end what the other one does
    late = Event("1", "x", MIGRATED, "", "10", "32", NO_VERSION, NO_REASON)
    known = standing([*events, (CURRENT, late)])
    assert known.holder is not None and known.holder.name == "b"
    # ksqlDB's tool claims nothing
    theirs = standing([(CURRENT, begun), claimed("d", "40"), claimed("e", "41", "10")])
    assert theirs.holder is not None and theirs.holder.name == "e"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SET 'a' 'b';", r":1:1: Syntax: SET 'property' = 'value';"),
        ("\n DEFINE x = 5;", r":2:2: Syntax: DEFINE"),
        ("CREATE TYPE a AS INT;\n  SELECT 1;", r"V000001__x.sql:2:3: A migration cannot contain SELECT"),
        ("run script 'x.sql';", r":1:1: A migration cannot contain RUN"),
        ("help", r":1:1: A migration cannot contain HELP"),
        ("DROP STREAM a", r":1:1: This statement does not end in ';'"),
        ("DROP STREAM a; /* x", r":1:16: This comment is never closed"),
        ("SET 'a' = 'b;\n", r":1:1: This string is never closed"),
    ],
)
def test_a_file_with_what_no_migration_may_have(project: Project, text: str, message: str) -> None:
    migration = project.add("x", 1)
    migration.path.write_text(text)
    with pytest.raises(ClientError, match=message):
        parts_of(migration)


def test_a_file_may_change_rows_and_versions(project: Project) -> None:
    migration = project.add("x", 1)
    statements = ["UPDATE t SET n = 1 WHERE k = 2", "DELETE FROM t WHERE k = 1", "SWAP t", "ROLLBACK t"]
    migration.path.write_text(";\n".join(statements) + ";")
    assert [part.text for part in parts_of(migration)] == statements


def test_a_file_without_statements(project: Project) -> None:
    migration = project.add("x", 1)
    migration.path.write_text("-- nothing yet\n")
    assert parts_of(migration) == []
