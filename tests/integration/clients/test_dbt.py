"""dbt on a real server: the taxi project, twice; its tests, changes and documentation (make test-dbt)."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.server_process import ServerProcess

ROOT = Path(__file__).parents[3]
DBT = Path(os.environ.get("DBT", ROOT / "build" / "dbt" / "bin" / "dbt"))

pytestmark = [
    pytest.mark.long,
    pytest.mark.kafka,
    pytest.mark.skipif(not DBT.is_file(), reason="dbt is not installed: make test-dbt"),
]


class Project:
    """A copy of the example, run against a server."""

    def __init__(self, folder: Path, server: ServerProcess) -> None:
        self.folder = folder
        self.server = server

    def dbt(self, *arguments: str) -> str:
        done = subprocess.run(
            [str(DBT), "--no-use-colors", *arguments, "--profiles-dir", "."],
            cwd=self.folder,
            env={**os.environ, "KSQL_URL": self.server.url, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
            capture_output=True,
            text=True,
            timeout=600,
        )
        return done.stdout + done.stderr

    def results(self, *arguments: str) -> dict[str, Any]:
        """Model or test -> what a run says of it."""
        said = self.dbt(*arguments)
        path = self.folder / "target" / "run_results.json"
        assert path.is_file(), said
        found = json.loads(path.read_text())["results"]
        path.unlink()
        return {one["unique_id"].split(".")[2]: (one["status"], one["message"]) for one in found}

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    folder = tmp_path / "taxi"
    shutil.copytree(ROOT / "packaging" / "dbt-ksql-spark" / "taxi", folder)
    with ServerProcess(tmp_path / "data") as server:
        yield Project(folder, server.ready())
        server.stop()


def test_the_taxi_project(project: Project) -> None:
    server = project.server
    first = project.results("build")
    assert len(first) == 13 and {status for status, _ in first.values()} == {"success", "pass"}, first
    assert first["zones"] == ("success", "INSERT 5")
    # rides that are younger than the zones, which they meet in a replay, too
    now = int(time.time() * 1000)
    insert = "INSERT INTO rides (vendor, pickup, zone_id, amount) VALUES ({}, {}, {}, {});"
    for vendor, zone, amount in ((1, 4, 50.0), (2, 132, 10.0), (2, 138, 20.0)):
        server.execute(insert.format(vendor, now, zone, amount))

    # nothing has changed, so nothing changes
    before = server.execute("SHOW QUERIES;")[0]["queries"]
    second = project.results("build")
    said = {name: message for name, (status, message) in second.items() if status == "success"}
    assert said.pop("zones") == "INSERT 0"
    assert set(said.values()) == {"unchanged"} and len(said) == 5
    assert {status for status, _ in second.values()} == {"success", "pass"}
    assert server.execute("SHOW QUERIES;")[0]["queries"] == before

    # a test that does not hold
    server.execute(insert.format(7, now, 4, 1.0))
    failed = {
        name: message for name, (status, message) in project.results("test").items() if status == "fail"
    }
    assert list(failed) == ["accepted_values_rides_by_vendor_vendor__False__1__2"]

    # another statement: the new version takes over before what depends on it is tested
    project.write(
        "models/rides_by_borough.sql",
        '{{ config(evolve="backfill") }}\n'
        "SELECT z.borough AS borough, COUNT(*) AS trips, MAX(r.amount) AS highest\n"
        'FROM {{ ref("rides") }} r JOIN {{ ref("zones") }} z ON r.zone_id = z.location_id\n'
        "GROUP BY z.borough\n",
    )
    assert project.results("run")["rides_by_borough"][0] == "success"
    rows = server.rows("SELECT borough, trips, highest FROM rides_by_borough;")
    assert sorted(rows) == [["Manhattan", 2, 50.0], ["Queens", 2, 20.0]]
    assert project.results("run")["rides_by_borough"] == ("success", "unchanged")

    # a file with other rows: one is new, one has changed, two are gone
    project.write(
        "seeds/zones.csv",
        "location_id,borough,zone\n4,Manhattan,Alphabet City\n48,Brooklyn,Clinton East\n"
        "79,Manhattan,East Village\n1,EWR,Newark\n",
    )
    assert project.results("seed")["zones"] == ("success", "INSERT 4")
    assert sorted(row[:2] for row in server.rows("SELECT * FROM zones;")) == [
        [1, "EWR"],
        [4, "Manhattan"],
        [48, "Brooklyn"],
        [79, "Manhattan"],
    ]
    assert project.results("seed")["zones"] == ("success", "INSERT 0")

    project.dbt("docs", "generate")
    catalog = json.loads((project.folder / "target" / "catalog.json").read_text())["nodes"]
    assert list(catalog["model.taxi.rides_by_borough"]["columns"]) == ["borough", "trips", "highest"]
    assert catalog["seed.taxi.zones"]["columns"]["location_id"]["type"] == "INTEGER"


@pytest.mark.parametrize("end", ["abort", "kill"])
def test_a_new_version_that_does_not_take_over_is_no_success(project: Project, end: str) -> None:
    server = project.server
    assert project.results("build", "-s", "rides", "rides_by_vendor")["rides_by_vendor"][0] == "success"
    project.write(
        "models/rides_by_vendor.sql",
        '{{ config(evolve="backfill", with={"VERIFY": "SELECT 1 AS a FROM NEW(rides_by_vendor)"}) }}\n'
        'SELECT vendor, COUNT(*) AS many FROM {{ ref("rides") }} GROUP BY vendor\n',
    )
    insert = "INSERT INTO rides (vendor, pickup, zone_id, amount) VALUES (1, 1, 4, 1.0);"
    server.execute(insert)
    found: list[tuple[str, str]] = []
    running = threading.Thread(
        target=lambda: found.append(project.results("run", "-s", "rides_by_vendor")["rides_by_vendor"])
    )
    running.start()
    while True:
        assert running.is_alive(), found
        with contextlib.suppress(AssertionError):  # it has not evolved yet
            server.execute("DESCRIBE EVOLUTION rides_by_vendor;")
            break
    if end == "abort":
        server.execute("ABORT EVOLUTION rides_by_vendor;")
    else:
        server.crash()
    running.join()
    ((status, message),) = found
    assert status == "error" and ("aborted" in message) == (end == "abort"), message


def test_sinks_and_what_is_refused(project: Project, tmp_path: Path) -> None:
    path = tmp_path / "lake"
    project.write(
        "models/rides_in_the_lake.sql",
        '{{ config(materialized="sink", with={"TYPE": "parquet", "PATH": "' + str(path) + '"}) }}\n'
        '{{ ref("rides") }}\n',
    )
    project.write(
        "models/a_view.sql", '{{ config(materialized="view") }}\nSELECT * FROM {{ ref("rides") }}\n'
    )
    project.write("models/wrong.sql", 'SELECT vendor, SUM(amuont) FROM {{ ref("rides") }} GROUP BY vendor\n')
    selected = ("-s", "rides", "rides_in_the_lake", "a_view", "wrong")
    results = project.results("run", *selected)
    assert results["rides_in_the_lake"] == ("success", "Sink created")
    status, message = results["a_view"]
    assert status == "error" and "materialized='stream' or 'table'" in message
    status, message = results["wrong"]
    assert status == "error" and "AMUONT" in message.upper() and "^" in message
    assert project.results("run", *selected)["rides_in_the_lake"] == ("success", "unchanged")
    (sink,) = project.server.execute("SHOW SINKS;")[0]["sinks"]
    assert sink["source"] == "RIDES"

    # what is there already is not overwritten
    project.server.execute(
        "CREATE STREAM other (a INT) WITH (KAFKA_TOPIC = 'other', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
    )
    project.write(
        "models/other.sql", "SELECT vendor, COUNT(*) AS n FROM {{ ref('rides') }} GROUP BY vendor\n"
    )
    status, message = project.results("run", "-s", "other")["other"]
    assert status == "error" and "made by another statement" in message


STREAM = '{{ config(materialized="stream") }}\n'


def test_odd_names_and_texts(project: Project) -> None:
    texts = {
        "select": 'SELECT vendor FROM {{ ref("rides") }}',  # a reserved word
        "with-dash": 'SELECT vendor FROM {{ ref("rides") }} -- a comment is the end',
        "spaces": "SELECT vendor, 'a;  b' AS s FROM {{ ref(\"with-dash\") }}",
        "two": 'SELECT vendor FROM {{ ref("rides") }}; DROP STREAM rides',
        "quoted": 'SELECT vendor FROM {{ ref("rides") }}',
    }
    for name, text in texts.items():
        project.write(f"models/{name}.sql", STREAM + text)
    project.write("models/quoted.sql", STREAM.replace(")", ', alias="x` AS SELECT 1; --")') + texts["quoted"])
    selected = ("-s", "rides", *texts)
    first = project.results("run", *selected)
    assert {name for name, (status, _) in first.items() if status == "error"} == {"two", "quoted"}, first
    assert "';' within its text" in first["two"][1] and "cannot name a stream" in first["quoted"][1]
    streams = {one["name"] for one in project.server.execute("SHOW STREAMS;")[0]["streams"]}
    assert streams == {"RIDES", "SELECT", "with-dash", "SPACES"}

    # white space and comments change nothing, but the content of a text does
    project.write("models/select.sql", STREAM + "SELECT  vendor\n-- of rides\nFROM {{ ref('rides') }}")
    project.write("models/spaces.sql", STREAM + texts["spaces"].replace("a;  b", "a; b"))
    second = project.results("run", *selected)
    assert [second[name][1] for name in ("rides", "select", "with-dash")] == ["unchanged"] * 3
    assert second["spaces"][0] == "error" and "Cannot upgrade" in second["spaces"][1]

    # what is there stays if the server refuses what should replace it
    project.write("models/select.sql", STREAM + 'SELECT wrong FROM {{ ref("rides") }}')
    third = project.results("run", "--full-refresh", "-s", "select", "spaces")
    assert [third[name][0] for name in ("select", "spaces")] == ["error", "success"]
    streams = {one["name"] for one in project.server.execute("SHOW STREAMS;")[0]["streams"]}
    assert streams == {"RIDES", "SELECT", "with-dash", "SPACES"}


def test_seeds_with_odd_values(project: Project) -> None:
    project.write(
        "seeds/Odd-Values.csv",
        'id,my col,`t`\n1,"it\'s; ""x"" -- ",a\n2,"two\nlines",\n3,<script>,=cmd()\n4,\u202etext,\n',
    )
    project.write("seeds/twice.csv", "a,b\n1,x\n1,y\n")
    project.write("seeds/empty_key.csv", "a,b\n1,x\n,y\n")
    project.write("seeds/no_number.csv", "a,b\n1,x\n")
    project.write(
        "seeds/odd.yml",
        "seeds:\n  - name: no_number\n    config: {column_types: {a: INT, b: INT}}\n",
    )
    names = ("Odd-Values", "twice", "empty_key", "no_number")
    first = project.results("seed", "-s", *names)
    assert first["Odd-Values"] == ("success", "INSERT 4"), first
    for name, reason in zip(
        names[1:], ("several rows have", "must not be empty", "b is INT, but has 'x'"), strict=True
    ):
        assert first[name][0] == "error" and reason in first[name][1], first
    assert project.results("seed", "-s", "Odd-Values")["Odd-Values"] == ("success", "INSERT 0")
    assert project.results("seed", "--full-refresh", "-s", "Odd-Values")["Odd-Values"][1] == "INSERT 4"
    # no table of a file that was refused
    tables = {one["name"] for one in project.server.execute("SHOW TABLES;")[0]["tables"]}
    assert tables == {"Odd-Values", "Odd-Values_rows"}


def test_two_runs_at_once(project: Project, tmp_path: Path) -> None:
    shutil.copytree(project.folder, tmp_path / "other")
    projects = [project, Project(tmp_path / "other", project.server)]
    found: list[dict[str, Any]] = []
    runs = [threading.Thread(target=lambda one=one: found.append(one.results("run"))) for one in projects]
    project.results("seed")
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert {status for one in found for status, _ in one.values()} == {"success"}, found


def test_a_password_in_the_address_is_not_shown(project: Project) -> None:
    project.server.url = project.server.url.replace("//", "//rita:secret@")
    assert "secret" not in project.dbt("debug")
