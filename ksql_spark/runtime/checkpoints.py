"""What a sub-topology goes on from: its folder of checkpoints (Spark's), and a note of ours beside it.

Spark neither adds state to a checkpoint nor takes it away. Where a query goes on with a plan that keeps other
state (CREATE OR REPLACE), it begins anew, without state, at the offsets that were committed last.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ksql_spark.physical.steps import PhysicalPlan

#: topic -> {partition: offset}
Offsets = Mapping[str, Mapping[str, int]]


class Checkpoint:
    """The checkpoint of one sub-topology.

    Args:
        folder: of the query's checkpoints.
        stage: the sub-topology's number.
    """

    def __init__(self, folder: Path, stage: int) -> None:
        self.folder = folder / str(stage)
        self._note = folder / f"{stage}.json"
        self._removed = folder / f"{stage}.removed"

    @property
    def resumed_at(self) -> Offsets | None:
        """Where it began anew, its sink having rows already that its state knows nothing of; else None."""
        offsets: Offsets | None = self._noted().get("resumed_at")
        return offsets

    def committed(self) -> Offsets | None:
        """The offsets that the last committed batch read up to; None where there is none."""
        names = (path.name for path in (self.folder / "commits").glob("*"))
        last = max((int(name) for name in names if name.isdecimal()), default=None)
        if last is None:
            return None
        # "v1", settings, then a line for each source: its topics and their offsets
        lines = (self.folder / "offsets" / str(last)).read_text(encoding="utf-8").splitlines()
        offsets: dict[str, Mapping[str, int]] = {}
        for line in lines[2:]:
            with contextlib.suppress(json.JSONDecodeError):  # "-": a source that has read nothing yet
                offsets.update(json.loads(line))
        return offsets

    def fit(self, stage: PhysicalPlan) -> None:
        """See to it that ``stage`` can go on: begin anew where it keeps other state than what ran last.

        May be killed at any point: the note tells of other state only when the old state is gone.
        """
        shutil.rmtree(self._removed, ignore_errors=True)
        noted, kinds = self._noted(), list(stage.state_kinds)
        if noted.get("state", kinds) != kinds and self.folder.exists():
            # what ran may have written rows without having committed any
            noted["resumed_at"] = self.committed() or noted.get("resumed_at", {})
            self._write(noted)
            self.folder.rename(self._removed)
            shutil.rmtree(self._removed, ignore_errors=True)
        if noted.get("state") != kinds:
            self._write(noted | {"state": kinds})

    def _noted(self) -> dict[str, Any]:
        """``state``: kinds of state of what ran last; ``resumed_at``."""
        try:
            noted: dict[str, Any] = json.loads(self._note.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return noted

    def _write(self, noted: Mapping[str, Any]) -> None:
        self._note.parent.mkdir(parents=True, exist_ok=True)
        written = self._note.with_suffix(".tmp")
        written.write_text(json.dumps(noted), encoding="utf-8")
        written.replace(self._note)
