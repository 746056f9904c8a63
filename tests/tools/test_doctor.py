"""ksql-spark doctor: what each check finds, and what it advises."""

from __future__ import annotations

import importlib.metadata
import re
import socket
from pathlib import Path

import pytest

from ksql_spark.config import Config
from ksql_spark.engine import Request
from ksql_spark.errors import KsqlError
from ksql_spark.kafka import admin
from ksql_spark.server.postgres.session.statements import split, statement
from ksql_spark.services import artifacts, java
from ksql_spark.shell.main import main
from ksql_spark.tools import doctor
from ksql_spark.tools.charts import COLUMNS, charts
from tests.server.fake_engine import FakeStream
from tests.server.postgres.port import PgEngine, Port


def config(tmp_path: Path, **given: str) -> Config:
    folder = {"ksql.spark.data.dir": str(tmp_path / "data")}
    return Config({**folder, **{name.replace("_", "."): value for name, value in given.items()}})


def test_an_old_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert doctor.python(config(tmp_path)).state == "ok"
    monkeypatch.setattr(doctor.sys, "version_info", (3, 10, 1))
    assert doctor.python(config(tmp_path)).state == "bad"


def test_only_the_client_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert doctor.packages(config(tmp_path)).state == "ok"
    found = importlib.metadata.distribution

    def distribution(name: str) -> importlib.metadata.Distribution:
        if name in ("pyspark", "fastapi"):
            raise importlib.metadata.PackageNotFoundError(name)
        return found(name)

    monkeypatch.setattr(importlib.metadata, "distribution", distribution)
    finding = doctor.packages(config(tmp_path))
    assert finding.state == "bad" and finding.text == "without pyspark, fastapi"
    assert "ksql-spark[server]" in finding.advice


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def java_home() -> Path:
        raise KsqlError("JAVA_MISSING", version=17, found="")

    monkeypatch.setattr(java, "java_home", java_home)
    finding = doctor.java_runtime(config(tmp_path))
    assert finding.state == "bad" and "ksql-spark[java]" in finding.advice


def test_a_java_that_is_too_old_for_the_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "release").write_text('JAVA_VERSION="17.0.1"\n')
    monkeypatch.setattr(java, "java_home", lambda: tmp_path)
    assert doctor.java_runtime(config(tmp_path)).state == "note"


def test_artifacts_that_cannot_be_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(artifacts, "are_there", lambda confs: False)
    monkeypatch.setenv("KSQL_SPARK_MAVEN_URL", "http://127.0.0.1:1/maven")
    finding = doctor.jvm_artifacts(config(tmp_path))
    assert finding.state == "bad" and "http://127.0.0.1:1/maven/ cannot be reached" in finding.text
    assert "KSQL_SPARK_MAVEN_URL" in finding.advice
    monkeypatch.setattr(artifacts, "are_there", lambda confs: True)
    assert doctor.jvm_artifacts(config(tmp_path)).state == "ok"


@pytest.mark.parametrize(("left", "state"), [(None, "note"), (2**30, "note"), (16 * 2**30, "ok")])
def test_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, left: int | None, state: str) -> None:
    monkeypatch.setattr(doctor, "available_memory", lambda: left)
    assert doctor.memory(config(tmp_path)).state == state


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        finding = doctor.ports(config(tmp_path, listeners=f"http://127.0.0.1:{port}"))
    assert finding.state == "note" and f"127.0.0.1:{port}: Address already in use" in finding.text
    assert doctor.ports(config(tmp_path, listeners=f"http://127.0.0.1:{port}")).state == "ok"


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert doctor.disk(config(tmp_path)).state == "ok"
    monkeypatch.setattr(doctor, "DISK", 2**60)
    assert doctor.disk(config(tmp_path)).state == "bad"


def test_a_broker_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert doctor.broker(config(tmp_path)).state == "ok"
    monkeypatch.setattr(doctor, "TIMEOUT_S", 0.5)
    finding = doctor.broker(config(tmp_path, bootstrap_servers="127.0.0.1:1"))
    assert finding.state == "bad" and "127.0.0.1:1" in finding.text
    monkeypatch.setattr(admin.KafkaAdmin, "cluster_id", lambda self: "c")
    monkeypatch.setattr(admin.KafkaAdmin, "topics", lambda self: {})
    assert doctor.broker(config(tmp_path, bootstrap_servers="127.0.0.1:1")).state == "ok"


def test_a_registry_that_is_not_there(tmp_path: Path) -> None:
    assert doctor.registry(config(tmp_path)).state == "ok"
    given = Config({"ksql.schema.registry.url": "http://127.0.0.1:1"})
    assert doctor.registry(given).state == "bad"


@pytest.mark.parametrize(("state", "code"), [("ok", 0), ("note", 0), ("bad", 1)])
def test_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], state: str, code: int
) -> None:
    def check(config: Config) -> doctor.Finding:
        return doctor.Finding(state, "found", "do this")  # type: ignore[arg-type]

    monkeypatch.setattr(doctor, "CHECKS", {"thing": check})
    assert main(["doctor"]) == code
    shown = capsys.readouterr().out
    assert "thing" in shown and "→ do this" in shown


def test_wrong_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--nonsense"]) == 2
    assert main(["doctor", "--properties", "/nowhere"]) == 2
    assert "ksql-spark doctor: " in capsys.readouterr().err


class Charts(PgEngine):
    """An engine that does not know one function."""

    def query(self, request: Request) -> FakeStream:
        if "STDDEV_POP" in request.text:
            raise KsqlError("FUNCTION_UNKNOWN", name="STDDEV_POP", hint="SHOW FUNCTIONS lists all functions.")
        return super().query(request)


def test_charts_that_fail_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with Port(Charts()) as port:
        url = f"postgresql://ada@127.0.0.1:{port.port}/ksql"
        assert main(["doctor", "--tools", url, "--table", "zones"]) == 1
        shown = capsys.readouterr().out
        assert main(["doctor", "--tools", url, "--table", "nowhere"]) == 2
    assert "There is no stream or table nowhere." in capsys.readouterr().err
    assert re.search(r"^zones\n  ok    datagrip  +6 of 6 charts\n", shown)
    assert re.search(
        r"^  BAD   tableau +\d of \d charts, \d without columns for them\n +deviations: ", shown, re.M
    )
    assert 'SELECT "zones"."zone" AS "zone", STDDEV_SAMP(' in shown


def test_no_port_for_tools(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
    assert main(["doctor", "--tools", f"postgresql://ada@127.0.0.1:{port}/ksql"]) == 2
    assert "--pg-listen" in capsys.readouterr().err


def test_names_that_need_quotes() -> None:
    names = dict.fromkeys(COLUMNS, "Select") | {"table": "my-table"}
    for chart in charts():
        statement(next(split(chart.of(names))))
        assert "{" not in chart.of(names)
