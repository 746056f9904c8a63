"""Manifests: what a folder has, in the cases of the JVM's readers (ManifestTest.java)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.lake import manifests
from ksql_spark.lake.stores import Store

CASES = json.loads((Path(__file__).parent / "manifests.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_what_a_folder_has(case: dict[str, Any], tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    for name, content in case["files"].items():
        text = content if isinstance(content, str) else json.dumps(content)
        store.write(name, text.encode())
    newest = manifests.newest(store)
    end = newest.positions.get("archive:t:1", {}).get("1", 0)
    assert (newest.number, end) == (case["newest"], case["end"])
    assert manifests.listed(store, newest).keys() == case["located"].keys()
    for name, content in case["located"].items():
        if content is None:
            with pytest.raises(FileNotFoundError):
                manifests.content(store, newest, name)
        else:
            assert manifests.content(store, newest, name) == content.encode()


def test_a_damaged_manifest_is_named(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    store.write(f"_ksql/{7:020}.json", b'{"positions": {"t')
    with pytest.raises(KsqlError, match=rf"The table _ksql/{7:020}\.json cannot be read .* damaged: Unterm"):
        manifests.newest(store)
