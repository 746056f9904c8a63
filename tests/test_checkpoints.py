"""The note beside a checkpoint: what its state means, and who wrote it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.runtime.checkpoints import Checkpoint

LAYOUT = {"operator": "aggregate", "key": "c0 string", "COUNT(*) AS N": "count(1)"}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    """One with state that was written under LAYOUT."""
    made = Checkpoint(tmp_path / "CTAS_T_1", 0)
    made.check_layout(LAYOUT, "4.3.0")
    (made.folder / "state").mkdir(parents=True)
    return made


def test_state_is_read_as_it_was_written(checkpoint: Checkpoint) -> None:
    checkpoint.check_layout(LAYOUT, "4.4.0")
    note = json.loads(checkpoint.folder.with_suffix(".json").read_text(encoding="utf-8"))
    assert note["layout"] == LAYOUT and note["written_by"].endswith("with Spark 4.3.0")


@pytest.mark.parametrize(
    "layout, told",
    [
        (
            LAYOUT | {"COUNT(*) AS N": "count(2)"},
            "COUNT(*) AS N was `count(1)` when it was written, now it is",
        ),
        (LAYOUT | {"key": "c0 int"}, "key was `c0 string` when it was written, now it is `c0 int`"),
        (LAYOUT | {"row": "v int"}, "row was `nothing` when it was written, now it is `v int`"),
        ({"operator": "aggregate", "key": "c0 string"}, "now it is `nothing`"),
    ],
)
def test_other_readings_are_refused(checkpoint: Checkpoint, layout: dict[str, str], told: str) -> None:
    with pytest.raises(KsqlError) as refused:
        checkpoint.check_layout(layout, "4.4.0")
    assert refused.value.condition == "STATE_INCOMPATIBLE"
    assert told in refused.value.message and "with Spark 4.3.0" in refused.value.message
    checkpoint.check_layout(LAYOUT, "4.4.0")


def test_where_no_state_was_written_anything_goes(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "CTAS_T_1", 0)
    checkpoint.check_layout(LAYOUT, "4.3.0")
    checkpoint.check_layout(LAYOUT | {"key": "c0 int"}, "4.3.0")
    (checkpoint.folder / "state").mkdir(parents=True)
    checkpoint.check_layout(LAYOUT | {"key": "c0 int"}, "4.3.0")


def test_state_without_a_note_is_refused(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "CTAS_T_1", 0)
    (checkpoint.folder / "state").mkdir(parents=True)
    with pytest.raises(KsqlError, match="an unknown release"):
        checkpoint.check_layout(LAYOUT, "4.3.0")


@pytest.mark.parametrize("text", ["", '{"state": [', "[]", "\0\0"])
def test_a_damaged_note_is_refused_by_its_name(checkpoint: Checkpoint, text: str) -> None:
    note = checkpoint.folder.with_suffix(".json")
    note.write_text(text, encoding="utf-8")
    with pytest.raises(KsqlError) as refused:
        checkpoint.check_layout(LAYOUT, "4.3.0")
    assert refused.value.condition == "CHECKPOINT_DAMAGED"
    assert str(note) in refused.value.message and "create it again" in refused.value.message
    assert note.read_text(encoding="utf-8") == text and (checkpoint.folder / "state").is_dir()
