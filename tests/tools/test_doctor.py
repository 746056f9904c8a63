"""ksql-spark doctor: what each check finds, and what it advises."""

from __future__ import annotations

import importlib.metadata
import socket
from pathlib import Path

import pytest

from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.kafka import admin
from ksql_spark.services import artifacts, java
from ksql_spark.shell.main import main
from ksql_spark.tools import doctor


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
