"""The broker that starts before the server is imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.services.data_dir import locked_data_dir
from ksql_spark.services.early_broker import EarlyBroker, begun, folder


def config_of(data_dir: Path, **more: str) -> Config:
    given = {name.replace("_", "."): value for name, value in more.items()}
    return Config.load(None, {}, {"ksql.spark.data.dir": str(data_dir), **given})


def formatted(data_dir: Path) -> None:
    """What a broker leaves in its folder, as far as anybody looks before it is started."""
    file = folder(data_dir) / "topics" / "meta.properties"
    file.parent.mkdir(parents=True)
    file.write_text("cluster.id=x\n")


def test_a_server_that_never_ran_has_none(tmp_path: Path) -> None:
    assert begun(config_of(tmp_path / "new")) is None
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("more", [{"bootstrap_servers": "somewhere:9092"}, {"ksql_cluster_enabled": "true"}])
def test_a_server_with_another_broker_has_none(tmp_path: Path, more: dict[str, str]) -> None:
    formatted(tmp_path)
    assert begun(config_of(tmp_path, **more)) is None


def test_a_folder_in_use_is_left_to_the_server_to_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    formatted(tmp_path)
    monkeypatch.setattr(EmbeddedBroker, "start", lambda self: pytest.fail("it was started"))
    with locked_data_dir(tmp_path):
        assert begun(config_of(tmp_path)) is None


def test_what_it_says_goes_to_who_waits_in_order_and_so_does_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(self: EmbeddedBroker) -> None:
        self._report("one")
        self._report("two")
        raise KsqlError("BROKER_FAILED", reason="a reason", log="a log")

    monkeypatch.setattr(EmbeddedBroker, "start", start)
    lines: list[str] = []
    with EarlyBroker(tmp_path, Config({})) as early:
        with pytest.raises(KsqlError, match="a reason"):
            early.wait(lines.append)
        assert lines == ["one", "two"]


@pytest.mark.long
@pytest.mark.kafka
def test_it_starts_again_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with EmbeddedBroker(folder(tmp_path), port=0) as first:
        port = first.port
    lines: list[str] = []
    early = begun(config_of(tmp_path))
    assert early is not None
    with early:
        with pytest.raises(KsqlError, match="in use"), locked_data_dir(tmp_path):
            pass
        early.wait(lines.append)
        assert (early.broker.port, lines[-1]) == (port, f"Kafka is ready at 127.0.0.1:{port}")
        assert not KafkaAdmin(early.broker.bootstrap_servers).topics()
        pid = early.broker.pid
    assert pid is not None and not early.broker.is_running()
    with begun(config_of(tmp_path)) or pytest.fail("the folder is not free"):
        pass  # it is stopped before it has started
    with locked_data_dir(tmp_path), EmbeddedBroker(folder(tmp_path), port=port):
        pass
