"""Migrations on a real server: applied once and in order, failures, and two who apply at once."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksql_spark.shell.client import ClientError
from ksql_spark.shell.output.console import Console
from ksql_spark.tools.migrations.applying import Applying
from ksql_spark.tools.migrations.history import CLAIMED, RUNNING, Event, History, Standing, standing
from ksql_spark.tools.migrations.main import main
from ksql_spark.tools.migrations.project import Project
from tests.waiting import TIMEOUT_S

pytestmark = pytest.mark.kafka

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def project(url: str, tmp_path: Path, execute: Callable[[str], Any]) -> Iterator[Project]:
    """A project whose stream and table are there; what migrations make is dropped by ``execute``."""
    made = Project.create(tmp_path / "shop", url)
    assert main(["-c", str(made.config), "initialize-metadata"]) == 0
    yield made
    assert main(["-c", str(made.config), "destroy-metadata"]) == 0


@pytest.fixture
def migrations(project: Project, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command; returns its exit code, output and errors."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["-c", str(project.config), *arguments])
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def history(project: Project) -> Iterator[History]:
    client = project.client()
    yield History(client, project)
    client.close()


def write(project: Project, description: str, text: str) -> None:
    project.add(description, None).path.write_text(text)


def rows(shown: str) -> list[list[str]]:
    """The first three cells of each row of ``info``."""
    lines = shown.splitlines()[3:-1]
    return [[cell.strip() for cell in line.split("|")[:3]] for line in lines]


@pytest.mark.long
def test_a_file_is_applied_once_and_one_that_failed_again(
    project: Project, migrations: Run, topic_names: Callable[[str], str]
) -> None:
    topic = topic_names("mig")
    write(
        project,
        "make orders",
        "SET 'auto.offset.reset' = 'earliest';\nDEFINE format = 'JSON';\n"
        "CREATE STREAM mig_orders (id INT KEY, item STRING) "
        "WITH (KAFKA_TOPIC = '${topic}', VALUE_FORMAT = '${format}', PARTITIONS = 1);\n"
        "INSERT INTO mig_orders VALUES (1, 'it''s ${topic}; tea');\n",
    )
    # variables and settings of the file before are gone
    write(project, "copy", 'CREATE STREAM mig_copy AS\n  SELECT id, itm AS "${format}" FROM mig_orders;')
    code, out, err = migrations("apply", "--all", "--define", f"topic={topic}")
    assert code == 1
    assert "Applying V000001__make_orders.sql" in out
    failure = "V000002__copy.sql:2:14: SELECT column 'ITM' cannot be resolved. Did you mean ITEM?"
    assert err.startswith(failure)
    code, out, err = migrations("info")
    assert (code, err) == (0, "")
    assert out.startswith("The current version is 1.\n")
    assert rows(out) == [["1", "make orders", "MIGRATED"], ["2", "copy", "ERROR"]]
    assert failure in out

    project.migrations()[1].path.write_text("CREATE STREAM mig_copy AS SELECT id, item FROM mig_orders;")
    write(project, "drop the copy", "DROP STREAM mig_copy DELETE TOPIC;")
    assert "would be applied" in migrations("apply", "--next", "--dry-run")[1]
    assert migrations("apply", "--until", "2")[1].endswith("Applied 1 migration. The current version is 2.\n")
    assert rows(migrations("info")[1])[2] == ["3", "drop the copy", "PENDING"]
    assert migrations("apply", "--all")[1].endswith("Applied 1 migration. The current version is 3.\n")
    assert migrations("apply", "--all")[1] == "Nothing to apply. The current version is 3.\n"
    assert migrations("validate") == (
        0,
        "The files of the 3 applied versions are unchanged.\n",
        "",
    )
    project.migrations()[0].path.write_text("-- nothing")
    assert migrations("apply", "--all")[0] == 1
    assert "V000001__make_orders.sql was changed after it was applied" in migrations("validate")[2]


def test_a_mistake_in_the_last_file_is_found_before_the_first_one_runs(
    project: Project, migrations: Run, history: History
) -> None:
    write(project, "one", "CREATE TYPE mig_type AS INT;")
    write(project, "two", "SELECT 1;")
    code, _, err = migrations("apply", "--all")
    assert (code, err[:18]) == (1, "V000002__two.sql:1")
    assert history.read() == []


def test_metadata_are_made_once(project: Project, migrations: Run, history: History) -> None:
    assert "already exist" in migrations("initialize-metadata")[1]
    assert history.is_initialized()
    assert "Dropped MIGRATION_SCHEMA_VERSIONS and MIGRATION_EVENTS" in migrations("destroy-metadata")[1]
    assert "Nothing to drop" in migrations("destroy-metadata")[1]
    assert "First run: ksql-spark migrations initialize-metadata" in migrations("apply", "--all")[2]


def test_the_table_has_the_last_event_of_each_version_as_ksqldbs_tool_reads_it(
    project: Project, migrations: Run, execute: Callable[[str], Any], url: str
) -> None:
    write(project, "nothing", "-- nothing yet")
    assert migrations("apply", "--all")[0] == 0
    columns = "version, state, previous, checksum"
    sql = f"SELECT {columns} FROM MIGRATION_SCHEMA_VERSIONS WHERE version_key = 'CURRENT';"
    deadline = time.monotonic() + 60
    while True:
        answer = httpx.post(f"{url}/query-stream", json={"sql": sql}, timeout=TIMEOUT_S).text
        if '["1","MIGRATED","<none>",' in answer or time.monotonic() > deadline:
            break
    assert '["1","MIGRATED","<none>",' in answer


class _Slow(History):
    """Another one goes on between our reading of the events and our claim."""

    between: Callable[[], object] | None = None

    def claim(self, event: Event) -> None:
        other, self.between = self.between, None
        if other is not None:
            other()
        super().claim(event)


def applied(project: Project, history: History) -> Standing:
    (migration,) = project.migrations()
    with contextlib.closing(project.client()) as client:
        return Applying(client, history, Console(), {}).apply(migration, standing(history.read()))


@pytest.mark.parametrize("is_over", [False, True])
def test_of_two_who_begin_at_once_one_goes_on(project: Project, history: History, is_over: bool) -> None:
    write(project, "make", "CREATE TYPE mig_type AS INT;")
    other = Event("1", "other", CLAIMED, "", "1", "", "<none>", "")
    with contextlib.closing(project.client()) as client:
        slow = _Slow(client, project)
        slow.between = lambda: applied(project, history) if is_over else history.claim(other)
        with pytest.raises(ClientError, match="meanwhile" if is_over else "is applying version 1"):
            applied(project, slow)
        # the other one has made it, if it has come so far, and has the last word
        assert list(client.run("SHOW TYPES;")[0]["types"]) == ["MIG_TYPE"] * is_over
        client.run("DROP TYPE IF EXISTS mig_type;")
    known = standing(history.read())
    assert (known.holder is None, known.migrated) == (is_over, "1" if is_over else "<none>")


@pytest.mark.long
def test_processes_that_begin_at_once(
    project: Project, history: History, topic_names: Callable[[str], str]
) -> None:
    stream = f"WITH (KAFKA_TOPIC = '{topic_names('mig')}', VALUE_FORMAT = 'JSON', PARTITIONS = 1)"
    write(project, "make", f"CREATE STREAM mig_once (v INT) {stream};")
    code = "import sys; from ksql_spark.shell.main import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "migrations", "-c", str(project.config), "apply", "--all"]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(3)
    ]
    outputs = [process.communicate()[0] for process in processes]
    assert sum("Applied 1 migration. The current version is 1." in out for out in outputs) == 1, outputs
    known = standing(history.read())
    assert (known.holder, known.migrated) == (None, "1"), outputs


def test_one_that_was_killed_is_taken_over(project: Project, migrations: Run, history: History) -> None:
    write(project, "nothing", "-- nothing yet")
    (migration,) = project.migrations()
    history.write(Event("1", "nothing", RUNNING, migration.checksum(), "1", "", "<none>", "N/A"))
    code, _, err = migrations("apply", "--all")
    assert code == 1
    assert "--take-over" in err
    assert migrations("apply", "--all", "--take-over")[1].endswith("The current version is 1.\n")
