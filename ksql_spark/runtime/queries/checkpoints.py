"""Checkpoints, from which sub-topologies resume: Spark's folder, and our note beside it.

Spark neither adds state to a checkpoint nor removes any. If a query continues with a plan that keeps
different state (CREATE OR REPLACE), it restarts without state at the offsets that were committed last.

State is bytes that do not describe themselves. So the note describes them: the types of keys and rows, how
each aggregate is computed and what its buffer contains. A query that would read them differently is refused,
except that it may have further aggregates at the end (Aggregator.java).
"""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ksql_spark import __version__
from ksql_spark.errors import KsqlError
from ksql_spark.plan.distribution import Tasks
from ksql_spark.plan.stages import Stage
from ksql_spark.storage import Folder

log = logging.getLogger(__name__)

#: in the note: state of another kind is being removed
_IS_REMOVED = "is_removed"

#: in the note: keys that the next batch removes from the state
_FORGOTTEN = "forgotten"

#: topic -> {partition: offset}. Where it is a position, nothing has been read of an absent partition.
Offsets = Mapping[str, Mapping[str, int]]


class BatchCommit(NamedTuple):
    """A checkpoint's description of a batch, as stored by its transaction (BatchCommit.java).

    Args:
        batch: its number.
        checkpoint: text of the checkpoint's file ``metadata``, its identity.
        offsets: text of the file ``offsets/<batch>``.
        commit: text of the file ``commits/<batch>``.
    """

    batch: int
    checkpoint: str
    offsets: str
    commit: str


class Forgotten(NamedTuple):
    """Keys that a batch removes from the state before its first record (ForgottenKeys.java).

    Args:
        batch: its number.
        keys: as ``ksql.pack_key`` makes them.
    """

    batch: int
    keys: tuple[bytes, ...]


class Checkpoint:
    """The checkpoint of one sub-topology.

    Args:
        folder: the folder of the query's checkpoints.
        stage: the sub-topology's number.
    """

    def __init__(self, folder: Folder, stage: int) -> None:
        self.folder = folder.sub(str(stage))
        self._commits, self._offsets = self.folder.sub("commits"), self.folder.sub("offsets")
        self._parent = folder
        self._note = f"{stage}.json"

    @property
    def resumed_at(self) -> Offsets | None:
        """The offsets at which it restarted without state while its sink already had rows; None if it did
        not.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED.
        """
        offsets: Offsets | None = self._noted().get("resumed_at")
        return offsets

    def position(self, first: Offsets) -> Offsets:
        """Return the offsets at which it continues: after its last committed batch, or else ``first``.

        Args:
            first: where it began, as its command says.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED: the position is not known.
        """
        return {**first, **(self.resumed_at or {}), **self.moved_to, **(self.committed() or {})}

    def committed(self) -> Offsets | None:
        """The offsets up to which the last committed batch has read; None if no batch is committed.

        Where it goes on is another question, see position().

        Raises:
            KsqlError: CHECKPOINT_DAMAGED.
        """
        last = self._last()
        if last is None:
            return None
        try:
            return _offsets(self._offsets.read(str(last)))
        except (OSError, ValueError) as error:
            raise _damaged(self._offsets, str(last), error) from error

    def _last(self) -> int | None:
        """The number of the last committed batch; None if no batch is committed.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED.
        """
        try:
            return max(_batches(self._commits), default=None)
        except OSError as error:
            raise KsqlError("CHECKPOINT_DAMAGED", file=self._commits, reason=error) from error

    @property
    def transactional_id(self) -> str | None:
        """The id of the producer whose transactions commit its batches; None if it is at least once.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED.
        """
        id_: str | None = self._noted().get("transactional_id")
        return id_

    def set_transactional_id(self, transactional_id: str | None) -> None:
        """Record the producer whose transactions commit its batches from now on.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED.
        """
        noted = self._noted()
        if noted.get("transactional_id") != transactional_id:
            self._write(noted | {"transactional_id": transactional_id})

    def settle(self, last: BatchCommit | None) -> None:
        """Make it agree with the last batch whose transaction was committed.

        If the server was killed between the two, the batch is visible but not in the checkpoint: it is added.
        Later batches in the checkpoint are forgotten, because nothing of them is visible.

        Args:
            last: the last commit in the topic of commits; None if there is none.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED, if batches are missing.
        """
        try:
            identity = self.folder.read("metadata")
        except FileNotFoundError:
            return
        committed = self._last()
        done = -1 if committed is None else committed
        if last is not None and last.batch > done and last.checkpoint == identity:
            if last.batch > done + 1:
                reason = f"it ends with batch {done}, but results of batch {last.batch} exist"
                raise KsqlError("CHECKPOINT_DAMAGED", file=self.folder, reason=reason)
            done = last.batch
            self._offsets.write(str(done), last.offsets)
            self._commits.write(str(done), last.commit)
            log.info("batch %d of %s was committed before a crash", done, self.folder)
        self._forget_after(done)

    def _forget_after(self, last: int) -> None:
        """Forget the batches that were planned after ``last``."""
        for batch in _batches(self._offsets):
            if batch > last:
                self._offsets.forget(str(batch))

    @property
    def moved_to(self) -> Offsets:
        """Recreated topics, with the offsets at which queries without a checkpoint start reading them.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED.
        """
        offsets: Offsets = self._noted().get("moved_to", {})
        return offsets

    def moved_since(self, anew: int) -> Offsets:
        """Return ``moved_to``, but only what has moved since the version with this number began.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED.
        """
        return self.moved_to if self._noted().get("anew") == anew else {}

    def moved_or_none(self) -> Offsets:
        """Return ``moved_to``; empty if the note cannot be read."""
        try:
            return self.moved_to
        except KsqlError:
            return {}

    def move(self, topic: str, offsets: Mapping[str, int]) -> None:
        """Make the next batch read ``topic`` from ``offsets``, with the existing state; {}: not at all.

        Batches that were planned but not committed are forgotten: they refer to records that are gone. The
        server may be killed at any point; then it is repeated.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED.
        """
        last = self._last()
        noted = self._noted()
        self._write(noted | {"moved_to": {**noted.get("moved_to", {}), topic: dict(offsets)}})
        if last is None:
            self.folder.remove()
            return
        self._forget_after(last)
        try:
            head, lines = _lines(self._offsets.read(str(last)))
            moved = [_moved(line, topic, offsets) for line in lines]
        except (OSError, ValueError) as error:
            raise _damaged(self._offsets, str(last), error) from error
        self._offsets.write(str(last), "\n".join([*head, *moved]))

    def begin_anew(self, offsets: Offsets, anew: int) -> None:
        """Remove all state; the next start reads from ``offsets``, or where topics were recreated since.

        It is repeated if the server is killed, or the version, whose number is ``anew``, begins once more.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED.
        """
        moved = self.moved_since(anew)
        self.folder.forget("metadata")  # so that settle() leaves the rest alone
        self.folder.remove()
        if self.folder.exists():
            raise KsqlError("CHECKPOINT_DAMAGED", file=self.folder, reason="it cannot be removed")
        self._write({"resumed_at": offsets, "anew": anew, "moved_to": moved})

    def forget(self, keys: Iterable[bytes]) -> None:
        """Make the next batch begin by removing keys from the state (ForgottenKeys.java).

        It has no effect on a query that runs: it must have been stopped, with all its batches committed.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED.
        """
        last, waiting = self._last(), self.forgotten()
        listed = {*keys, *(waiting.keys if waiting is not None else ())}
        texts = sorted(base64.b64encode(key).decode() for key in listed)
        batch = 0 if last is None else last + 1
        self._write(self._noted() | {_FORGOTTEN: {"batch": batch, "keys": texts}})

    def forgotten(self) -> Forgotten | None:
        """The keys that are still to be removed, or None. The note loses those that were.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED.
        """
        noted = self._noted()
        if _FORGOTTEN not in noted:
            return None
        waiting, last = noted.pop(_FORGOTTEN), self._last()
        if last is not None and last >= waiting["batch"]:
            self._write(noted)
            return None
        return Forgotten(waiting["batch"], tuple(map(base64.b64decode, waiting["keys"])))

    def fit(self, stage: Stage) -> None:
        """Make sure that ``stage`` can resume: remove state of a kind that it does not keep.

        The server may be killed at any point: the note describes the new state only once the old state is
        gone.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED; the state is left as it is.
        """
        noted, kinds = self._noted(), list(stage.state_kinds)
        is_removed = noted.pop(_IS_REMOVED, False)
        if not is_removed and noted.get("state", kinds) != kinds and self.folder.exists():
            # the old query may have written rows without committing a batch
            committed = self.committed()
            noted["resumed_at"] = committed or noted.get("resumed_at", {})
            if committed is not None:
                noted.pop("moved_to", None)
            for name in ("layout", "tasks", _FORGOTTEN):
                noted.pop(name, None)
            is_removed = True
            self._write(noted | {_IS_REMOVED: True})
        if is_removed:
            self.folder.forget("metadata")  # so that settle() leaves the rest alone
            self.folder.remove()
            if self.folder.exists():
                raise KsqlError("CHECKPOINT_DAMAGED", file=self.folder, reason="it cannot be removed")
        if is_removed or noted.get("state") != kinds:
            self._write(noted | {"state": kinds})

    def tasks(self, planned: Tasks) -> Tasks:
        """``planned``, with the state distributed as it is here; if there is none, record how it will be.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED, or STATE_INCOMPATIBLE if the plan groups rows differently.
        """
        noted = self._noted()
        if "tasks" not in noted or not self.folder.exists():
            names = ("partitions", "count", "by_partition")
            self._write(noted | {"tasks": {name: getattr(planned, name) for name in names}})
            return planned
        try:
            there = replace(planned, **noted["tasks"])
        except TypeError as error:
            raise _damaged(self._parent, self._note, error) from error
        if there.by_partition != planned.by_partition:
            before, now = (f"by {'partition' if tasks.by_partition else 'key'}" for tasks in (there, planned))
            release = noted.get("written_by", "an unknown release")
            raise KsqlError("STATE_INCOMPATIBLE", part="tasks", before=before, now=now, release=release)
        if there.by_partition:
            return replace(there, readers=there.count)
        return replace(there, is_exchanged=planned.is_exchanged or there.count > 1)

    def parts(self) -> tuple[int, bool] | None:
        """Tasks.partitions and Tasks.by_partition of the state here, or None.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED.
        """
        tasks = self._noted().get("tasks")
        return None if tasks is None else (int(tasks["partitions"]), bool(tasks["by_partition"]))

    def check_layout(
        self,
        layout: Mapping[str, str],
        spark_version: str,
        appended: Collection[str] = (),
        former: Mapping[str, str] | None = None,
    ) -> None:
        """Make sure that state is read as it was written; if there is none yet, record its layout.

        Args:
            layout: how the query that is about to start reads the state (Built.layout).
            spark_version: Spark's version, to record which release wrote the state.
            appended: the parts that the state may lack (Built.appended). They are recorded before
                the first of them is written, so that no plan without them reads the state any more.
            former: what parts may be in the state instead (Built.former). What they are now is recorded
                before it is written, so that no earlier release reads it.

        Raises:
            KsqlError: STATE_INCOMPATIBLE, CHECKPOINT_DAMAGED; the state is left as it is.
        """
        noted = self._noted()
        release = f"ksql-spark {__version__} with Spark {spark_version}"
        if not self.folder.sub("state").exists():
            if layout and (noted.get("layout"), noted.get("written_by")) != (dict(layout), release):
                self._write(noted | {"layout": dict(layout), "written_by": release})
            return
        written = noted.get("layout", {})
        new = [part for part in layout if part not in written]
        for part in (*written, *(part for part in new if part not in appended)):
            before, now = written.get(part, "nothing"), layout.get(part, "nothing")
            if before not in (now, (former or {}).get(part)):
                raise KsqlError(
                    "STATE_INCOMPATIBLE",
                    part=part,
                    before=before,
                    now=now,
                    release=noted.get("written_by", "an unknown release"),
                )
        if written != layout:
            self._write(noted | {"layout": dict(layout), "written_by": release})

    def _noted(self) -> dict[str, Any]:
        """The note: ``state`` (kinds of state in the last plan), ``layout``, ``tasks``, ``written_by`` …

        Raises:
            KsqlError: CHECKPOINT_DAMAGED.
        """
        try:
            noted: Any = json.loads(self._parent.read(self._note))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise _damaged(self._parent, self._note, error) from error
        if not isinstance(noted, dict):
            raise _damaged(self._parent, self._note, "it is not a JSON object")
        return noted

    def _write(self, noted: Mapping[str, Any]) -> None:
        self._parent.write(self._note, json.dumps(noted))


def _batches(log: Folder) -> list[int]:
    """The numbers of the batches in one of Spark's logs."""
    return [int(name) for name in log.names() if name.isdecimal()]


def _damaged(folder: Folder, name: str, reason: object) -> KsqlError:
    return KsqlError("CHECKPOINT_DAMAGED", file=f"{folder}/{name}", reason=reason)


def _lines(text: str) -> tuple[list[str], list[str]]:
    """The first two lines of a file of offsets, and the lines of its sources.

    Raises:
        ValueError: it has no others.
    """
    lines = text.splitlines()
    if len(lines) < 3:
        raise ValueError("it has no offsets")
    return lines[:2], lines[2:]


def _moved(line: str, topic: str, offsets: Mapping[str, int]) -> str:
    """A source's line of a file of offsets, with those of ``topic`` replaced, or without it."""
    topics = json.loads(line) if line != "-" else {}
    if topic not in topics:
        return line
    rest = {name: there for name, there in topics.items() if name != topic}
    return json.dumps(topics | {topic: dict(offsets)} if offsets else rest)


def _offsets(text: str) -> Offsets:
    """The offsets in a Spark file: "v1", settings, then a line for each source.

    Raises:
        ValueError: the text is not that.
    """
    _, lines = _lines(text)
    offsets: dict[str, Mapping[str, int]] = {}
    for line in lines:
        if line == "-":  # a source that has not read anything yet
            continue
        topics = json.loads(line)
        of_topics = list(topics.values()) if isinstance(topics, dict) else [None]
        if not all(isinstance(t, dict) and all(isinstance(n, int) for n in t.values()) for t in of_topics):
            raise ValueError(f"{line[:40]} is not a list of topic offsets")
        offsets.update(topics)
    return offsets
