"""The note beside a checkpoint: what its state means, and who wrote it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.plan.stages import Stage
from ksql_spark.runtime.queries.checkpoints import BatchCommit, Checkpoint
from ksql_spark.storage import LocalFolder

LAYOUT = {"operator": "aggregate", "key": "c0 string", "COUNT(*) AS N": "count(1)"}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    """One with state that was written under LAYOUT."""
    made = Checkpoint(LocalFolder(tmp_path / "CTAS_T_1"), 0)
    made.check_layout(LAYOUT, "4.3.0")
    (made.folder.path / "state").mkdir(parents=True)
    return made


def test_state_is_read_as_it_was_written(checkpoint: Checkpoint) -> None:
    checkpoint.check_layout(LAYOUT, "4.4.0")
    note = json.loads(checkpoint.folder.path.with_suffix(".json").read_text(encoding="utf-8"))
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


def test_aggregates_may_be_appended_and_then_are_part_of_it(checkpoint: Checkpoint) -> None:
    more = LAYOUT | {"MAX(V) AS M": "max(v)", "aggregates at the beginning": "1"}
    new = more.keys() - LAYOUT.keys()
    with pytest.raises(KsqlError, match="was `nothing`"):
        checkpoint.check_layout(more, "4.3.0", {"MAX(V) AS M"})
    checkpoint.check_layout(more, "4.4.0", new)
    checkpoint.check_layout(more, "4.4.0", new)
    with pytest.raises(KsqlError, match=r"now it is `nothing`.*with Spark 4.4.0"):
        checkpoint.check_layout(LAYOUT, "4.3.0")
    with pytest.raises(KsqlError, match="aggregates at the beginning was `1`"):
        checkpoint.check_layout(more | {"aggregates at the beginning": "2"}, "4.3.0", new)


def test_what_a_part_was_in_an_earlier_release_can_be_read_until_it_is_written_anew(
    checkpoint: Checkpoint,
) -> None:
    now = LAYOUT | {"COUNT(*) AS N": "count(2)"}
    with pytest.raises(KsqlError, match="now it is `count"):
        checkpoint.check_layout(now, "4.4.0", former={"COUNT(*) AS N": "count(3)"})
    checkpoint.check_layout(now, "4.4.0", former={"COUNT(*) AS N": "count(1)"})
    checkpoint.check_layout(now, "4.4.0")
    with pytest.raises(KsqlError, match=r"was `count\(2\)`.*with Spark 4.4.0"):
        checkpoint.check_layout(LAYOUT, "4.3.0", former={"COUNT(*) AS N": "count(3)"})


def test_where_no_state_was_written_anything_goes(tmp_path: Path) -> None:
    checkpoint = Checkpoint(LocalFolder(tmp_path / "CTAS_T_1"), 0)
    checkpoint.check_layout(LAYOUT, "4.3.0")
    checkpoint.check_layout(LAYOUT | {"key": "c0 int"}, "4.3.0")
    (checkpoint.folder.path / "state").mkdir(parents=True)
    checkpoint.check_layout(LAYOUT | {"key": "c0 int"}, "4.3.0")


def test_state_without_a_note_is_refused(tmp_path: Path) -> None:
    checkpoint = Checkpoint(LocalFolder(tmp_path / "CTAS_T_1"), 0)
    (checkpoint.folder.path / "state").mkdir(parents=True)
    with pytest.raises(KsqlError, match="an unknown release"):
        checkpoint.check_layout(LAYOUT, "4.3.0")


@pytest.mark.parametrize("text", ["", '{"state": [', "[]", "\0\0"])
def test_a_damaged_note_is_refused_by_its_name(checkpoint: Checkpoint, text: str) -> None:
    note = checkpoint.folder.path.with_suffix(".json")
    note.write_text(text, encoding="utf-8")
    with pytest.raises(KsqlError) as refused:
        checkpoint.check_layout(LAYOUT, "4.3.0")
    assert refused.value.condition == "CHECKPOINT_DAMAGED"
    assert str(note) in refused.value.message and "state rebuild" in refused.value.message
    assert note.read_text(encoding="utf-8") == text and (checkpoint.folder.path / "state").is_dir()


@pytest.fixture
def of_batches(tmp_path: Path) -> Checkpoint:
    """One with the batches 6 and 7; batch 8 was begun."""
    made = Checkpoint(LocalFolder(tmp_path / "CTAS_T_1"), 0)
    for name, text in {
        "metadata": "identity", "offsets/6": "o6", "commits/6": "c6", "offsets/7": "o7", "commits/7": "c7",
        "offsets/8": "o8 of a run that was killed",
    }.items():  # fmt: skip
        (made.folder.path / name).parent.mkdir(parents=True, exist_ok=True)
        (made.folder.path / name).write_text(text, encoding="utf-8")
    return made


def files(checkpoint: Checkpoint) -> dict[str, str]:
    return {
        str(path.relative_to(checkpoint.folder.path)): path.read_text(encoding="utf-8")
        for path in checkpoint.folder.path.rglob("*")
        if path.is_file()
    }


BATCHES = {"metadata": "identity", "offsets/6": "o6", "commits/6": "c6", "offsets/7": "o7", "commits/7": "c7"}


@pytest.mark.parametrize(
    "last",
    [
        None,
        BatchCommit(7, "identity", "o7", "c7"),
        # batches without results have no transaction
        BatchCommit(3, "identity", "o3", "c3"),
        # of a checkpoint that was there before this one
        BatchCommit(8, "another", "o8", "c8"),
    ],
)
def test_what_nobody_has_seen_is_forgotten(of_batches: Checkpoint, last: BatchCommit | None) -> None:
    of_batches.settle(last)
    assert files(of_batches) == BATCHES


def test_what_is_visible_is_put_into_the_checkpoint(of_batches: Checkpoint) -> None:
    last = BatchCommit(8, "identity", "o8", "c8")
    for _ in range(2):  # as after a crash in between
        of_batches.settle(last)
        assert files(of_batches) == BATCHES | {"offsets/8": "o8", "commits/8": "c8"}


def test_the_first_batch_of_all(tmp_path: Path) -> None:
    checkpoint = Checkpoint(LocalFolder(tmp_path / "CTAS_T_1"), 0)
    checkpoint.settle(BatchCommit(0, "identity", "o0", "c0"))
    assert not checkpoint.folder.exists()
    checkpoint.folder.path.mkdir(parents=True)
    (checkpoint.folder.path / "metadata").write_text("identity", encoding="utf-8")
    checkpoint.settle(BatchCommit(0, "identity", "o0", "c0"))
    assert files(checkpoint) == {"metadata": "identity", "offsets/0": "o0", "commits/0": "c0"}


def test_a_checkpoint_that_is_older_than_its_results(of_batches: Checkpoint) -> None:
    with pytest.raises(KsqlError, match="with batch 7, but results of batch 9 exist") as caught:
        of_batches.settle(BatchCommit(9, "identity", "o9", "c9"))
    assert caught.value.condition == "CHECKPOINT_DAMAGED"


def test_whose_transactions_commit_it(tmp_path: Path) -> None:
    checkpoint = Checkpoint(LocalFolder(tmp_path / "CTAS_T_1"), 0)
    assert checkpoint.transactional_id is None
    checkpoint.set_transactional_id("_confluent-ksql-default_query_CTAS_T_1-0")
    assert checkpoint.transactional_id == "_confluent-ksql-default_query_CTAS_T_1-0"
    checkpoint.set_transactional_id(None)
    assert checkpoint.transactional_id is None


class HalfRemoved(LocalFolder):
    """One whose removal the server does not survive."""

    def sub(self, name: str) -> LocalFolder:
        return HalfRemoved(self.path / name)

    def remove(self) -> None:
        for name in self.names():
            if name != "offsets":
                LocalFolder(self.path / name).remove()
        raise KeyboardInterrupt


def test_state_whose_removal_was_interrupted(of_batches: Checkpoint) -> None:
    folder = of_batches.folder.path.parent
    offsets = 'v1\n{}\n{"t": {"0": 5}}'
    of_batches.folder.sub("offsets").write("7", offsets)
    before, after = (cast(Stage, SimpleNamespace(state_kinds=[kind])) for kind in "ab")
    of_batches.fit(before)
    with pytest.raises(KeyboardInterrupt):
        Checkpoint(HalfRemoved(folder), 0).fit(after)
    assert of_batches.folder.exists()
    # nothing is put into what is left, and it is not taken for a checkpoint
    of_batches.settle(BatchCommit(8, "identity", "o8", "c8"))
    of_batches.fit(after)
    assert not of_batches.folder.exists() and of_batches.resumed_at == {"t": {"0": 5}}
    of_batches.folder.write("metadata", "another")
    of_batches.fit(after)
    assert files(of_batches) == {"metadata": "another"}
