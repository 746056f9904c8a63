"""A service whose process writes an archive of its classes once it is told to exit, at its own pace."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.services import artifacts, class_archive
from ksql_spark.services.class_archive import ClassArchive
from ksql_spark.services.embedded import EmbeddedService
from tests.waiting import until

#: a JVM: once told to exit, it writes its archive, the first bytes last, as soon as the file "go" is there
PROGRAM = """
import os, pathlib, signal, sys, time
option, ready, go = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
def stop(number, frame):
    if "=" in option and not option.startswith("-XX:SharedArchiveFile"):
        file = pathlib.Path(option.partition("=")[2])
        file.write_bytes(bytes(8))
        while not go.exists():
            time.sleep(0.01)
        file.write_bytes(b"archive!")
    os._exit(143)
signal.signal(signal.SIGTERM, stop)
ready.touch()
while True:
    time.sleep(60)
"""


class Service(EmbeddedService):
    title = "Kafka"
    process = "Kafka broker"
    name = "broker"
    needs = ()
    start_timeout_s = 60.0
    stop_timeout_s = 0.01

    @property
    def go(self) -> Path:
        return self.data_dir / "go"

    @property
    def log_file(self) -> Path:
        return self.data_dir / "logs" / "broker.log"

    def _prepare(self) -> None:
        pass

    def _command(self) -> list[str]:
        archive = self._archive = ClassArchive("broker", [])
        (self.data_dir / "ready").unlink(missing_ok=True)
        (option, *_) = archive.options() or archive.recording() or ["none"]
        return [sys.executable, "-c", PROGRAM, option, str(self.data_dir / "ready"), str(self.go)]

    def _answers(self) -> bool:
        return (self.data_dir / "ready").exists()

    def _ready_line(self) -> str:
        return "Kafka is ready"

    def _error(self, reason: str) -> KsqlError:
        return KsqlError("BROKER_FAILED", reason=reason, log=str(self.log_file))


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    monkeypatch.setenv("KSQL_SPARK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(class_archive, "_REPORT_S", 0.01)
    monkeypatch.setattr(artifacts, "ensure", lambda confs, report: None)
    return []


@pytest.fixture
def service(lines: list[str], tmp_path: Path) -> Iterator[Service]:
    service = Service(tmp_path / "data", 0, lines.append)
    yield service
    service.kill()
    service.stop()


def written(tmp_path: Path) -> list[Path]:
    """All files of archives, whole or not."""
    return [path for path in (tmp_path / "cache").rglob("broker-*") if path.is_file()]


def test_what_is_being_written_is_finished_and_shown(
    service: Service, lines: list[str], tmp_path: Path
) -> None:
    service.start()

    def report(line: str) -> None:
        lines.append(line)
        if line.startswith("Kafka archives its classes"):
            assert service.is_archiving
            service.go.touch()

    service._report = report
    service.stop()
    assert any(line.startswith("Kafka archives its classes") for line in lines)
    assert not service.is_archiving
    (file,) = written(tmp_path)
    service.start()
    assert service._archive is not None and service._archive.options()[0].endswith(f"={file}")
    service.stop()


def test_what_takes_too_long_does_not_count_and_is_written_again(
    service: Service, lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as short:
        short.setattr(class_archive, "WRITE_S", 0.05)
        service.start()
        service.stop()
    assert written(tmp_path) == []
    assert lines[-1] == "Kafka could not archive its classes; its next start tries again"
    service.go.touch()
    service.start()
    service.stop()
    assert len(written(tmp_path)) == 1


def test_what_a_killed_process_has_written_does_not_count(service: Service, tmp_path: Path) -> None:
    service.start()
    child = service._child
    assert child is not None
    child.terminate()
    until(lambda: written(tmp_path))
    child.kill()
    service.stop()
    assert written(tmp_path) == []
