"""Folders of plain Parquet files.

A commit is a manifest: a small file with the positions and the names of the new files, which gets its number
by a hard link, so that of two writers only one has it. The files are written before it below other names, and
renamed after it. Whoever opens the table next completes a renaming that was interrupted.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from ksql_spark.errors import KsqlError
from ksql_spark.lake import arrow
from ksql_spark.lake.tables import Report, TableSpec, ignore

#: readers ignore names that begin so
_OWN = "_ksql"
#: how many manifests are kept
_KEPT = 10


class _ParquetTable:
    def __init__(self, spec: TableSpec) -> None:
        self._spec = spec
        self._schema = arrow.with_partitions(arrow.schema_of(spec.columns), spec.partition_by)
        self._folder = Path(spec.path)
        self._own = self._folder / _OWN
        self._own.mkdir(parents=True, exist_ok=True)
        numbers = sorted(int(path.stem) for path in self._own.glob("*.json"))
        self._number = numbers[-1] if numbers else 0
        last = json.loads(self._manifest(self._number).read_bytes()) if numbers else {}
        self._positions: dict[str, dict[str, int]] = last.get("positions", {})
        self._publish(last.get("files", {}))
        there = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(last["schema"]))) if last else pa.schema([])
        for name in set(self._schema.names) & set(there.names):
            if there.field(name).type != self._schema.field(name).type:
                raise KsqlError(
                    "LAKE_INCOMPATIBLE",
                    path=spec.path,
                    column=name,
                    there=there.field(name).type,
                    wanted=self._schema.field(name).type,
                )
        known = pa.unify_schemas([there, self._schema])
        self._columns = known.serialize().to_pybytes().hex()
        for number in numbers[:-_KEPT]:
            self._manifest(number).unlink(missing_ok=True)

    def _manifest(self, number: int) -> Path:
        return self._own / f"{number:020}.json"

    def positions(self) -> dict[int, int]:
        found = self._positions.get(self._spec.topic, {})
        return {int(partition): offset for partition, offset in found.items()}

    def write(self, rows: pa.Table, ends: Mapping[int, int], report: Report = ignore) -> None:
        number = self._number + 1
        moved = {str(partition): offset for partition, offset in ends.items()}
        commit = {
            "positions": self._positions | {self._spec.topic: moved},
            "files": self._staged(rows, number) if rows.num_rows else {},
            "schema": self._columns,
        }
        manifest = self._own / f"{uuid.uuid4().hex}.tmp"
        manifest.write_text(json.dumps(commit), encoding="utf-8")
        _sync(manifest)
        try:
            os.link(manifest, self._manifest(number))
        except FileExistsError:
            for name in commit["files"]:
                (self._own / name).unlink()
            reason = f"Commit {number} is there already."
            raise KsqlError("LAKE_CONFLICT", path=self._spec.path, reason=reason) from None
        finally:
            manifest.unlink()
        _sync(self._own)
        self._publish(commit["files"])

    def _staged(self, rows: pa.Table, number: int) -> dict[str, str]:
        """Write rows to files that readers do not see: name below ``_own`` -> name below the folder."""
        data = arrow.partitioned(rows.cast(arrow.schema_of(self._spec.columns)), self._spec.partition_by)
        data = data.cast(self._schema)
        mark = uuid.uuid4().hex
        names = [part.name for part in self._spec.partition_by]
        if not names:
            pq.write_table(data, self._own / f"{mark}.tmp")
            _sync(self._own / f"{mark}.tmp")
            return {f"{mark}.tmp": f"part-{number:020}.parquet"}
        staging = self._own / mark
        layout = ds.partitioning(pa.schema([self._schema.field(name) for name in names]), flavor="hive")
        ds.write_dataset(
            data,
            staging,
            format="parquet",
            partitioning=layout,
            max_partitions=100_000,
            use_threads=False,  # rows stay in their order
        )
        files = {}
        for i, path in enumerate(sorted(staging.rglob("*.parquet"))):
            staged = f"{mark}-{i}.tmp"
            files[staged] = str(path.relative_to(staging).with_name(f"part-{number:020}.parquet"))
            path.rename(self._own / staged)
            _sync(self._own / staged)
        for folder in sorted((p for p in staging.rglob("*")), reverse=True):
            folder.rmdir()
        staging.rmdir()
        return files

    def _publish(self, files: Mapping[str, str]) -> None:
        for staged, name in files.items():
            target = self._folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # it was renamed before
                (self._own / staged).rename(target)


def _sync(path: Path) -> None:
    """Let a file or folder outlive a crash of the machine."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_table(spec: TableSpec) -> _ParquetTable:
    """Open or create a folder of files; see tables.open_table."""
    return _ParquetTable(spec)
