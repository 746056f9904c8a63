"""The memory of a machine or a container, and the heap that fits it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ksql_spark.config import Config
from ksql_spark.services import memory
from ksql_spark.services.memory import GIGABYTE, MEGABYTE


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with 16 GB, without Linux's files; the folder of its control groups."""
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 16 * GIGABYTE // 4096}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__)
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CGROUPS", tmp_path)
    return tmp_path


def test_a_machine_without_the_files_of_linux(machine: Path) -> None:
    assert (memory.total(), memory.available()) == (16 * GIGABYTE, None)
    assert memory.heap(Config({})) == "2g"


def test_a_system_that_does_not_say(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sysconf")
    assert memory.total() is None and memory.heap(Config({})) == "2g"
    assert memory.cached_blocks(Config({})) == 512


@pytest.mark.parametrize(
    ("limit", "used"),
    [
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ],
)
def test_a_container(machine: Path, limit: str, used: str) -> None:
    (machine / "memory").mkdir()
    (machine / "meminfo").write_text(f"MemTotal: 1 kB\nMemAvailable: {12 * GIGABYTE // 1024} kB\n")
    assert memory.available() == 12 * GIGABYTE
    (machine / limit).write_text(f"{2 * GIGABYTE}\n")
    (machine / used).write_text(f"{500 * MEGABYTE}\n")
    assert (memory.total(), memory.available()) == (2 * GIGABYTE, 2 * GIGABYTE - 500 * MEGABYTE)
    assert memory.heap(Config({})) == "1024m"
    assert memory.heap(Config({"ksql.spark.memory": "3g"})) == "3g"
    (machine / limit).write_text(f"{GIGABYTE}\n")
    assert memory.heap(Config({})) == "512m"


def test_caches_of_state_grow_with_the_machine(machine: Path) -> None:
    assert memory.cached_blocks(Config({})) == 13 * GIGABYTE // 8 // MEGABYTE
    assert memory.cached_blocks(Config({"ksql.spark.memory": "12g"})) == 512
    assert memory.cached_entries(Config({})) == 128 * MEGABYTE
    assert memory.cached_entries(Config({"ksql.spark.memory": "256m"})) == 32 * MEGABYTE
    assert memory.cached_entries(Config({"ksql.state.cache.max.bytes": "0"})) == 0


@pytest.mark.parametrize("text", ["max", str(2**63 - 4096)])
def test_a_container_without_a_limit(machine: Path, text: str) -> None:
    for name in ("memory.max", "memory.current"):
        (machine / name).write_text(text)
    assert memory.total() == 16 * GIGABYTE and memory.available() is None
