"""Folders of plain Parquet files, on this machine or in an object store; manifests.py has their commits."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from ksql_spark.errors import KsqlError
from ksql_spark.lake import arrow, manifests
from ksql_spark.lake.manifests import OWN, File, Manifest
from ksql_spark.lake.stores import Store
from ksql_spark.lake.tables import Report, TableSpec, ignore

#: compaction leaves files of this size alone, bytes
_LARGE = 64 << 20
#: rows of a group in the files that it writes
_GROUP = 100_000


class _ParquetTable:
    def __init__(self, spec: TableSpec) -> None:
        self._spec = spec
        self._schema = arrow.with_partitions(arrow.schema_of(spec.columns), spec.partition_by)
        self._store = Store(spec.path, is_made=True)
        self._last = manifests.complete(self._store)
        if not self._last.number:
            manifests.require_empty(self._store, spec.path)
        schema = self._last.schema
        there = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(schema))) if schema else pa.schema([])
        for name in set(self._schema.names) & set(there.names):
            if there.field(name).type != self._schema.field(name).type:
                raise KsqlError(
                    "LAKE_INCOMPATIBLE",
                    path=spec.path,
                    column=name,
                    there=there.field(name).type,
                    wanted=self._schema.field(name).type,
                )
        self._all = pa.unify_schemas([there, self._schema])
        #: names below OWN of the next commit's files
        self._names: list[str] = []

    def positions(self) -> dict[int, int]:
        of_topic = self._last.positions.get(self._spec.topic, {})
        return {int(partition): offset for partition, offset in of_topic.items()}

    def write(self, rows: pa.Table, ends: Mapping[int, int], report: Report = ignore) -> None:
        number = self._last.number + 1
        with self._staging():
            files, written = self._staged(rows, number) if rows.num_rows else ({}, {})
        moved = {str(partition): offset for partition, offset in ends.items()}
        self._commit(
            replace(
                self._last,
                number=number,
                positions={**self._last.positions, self._spec.topic: moved},
                schema=self._all.serialize().to_pybytes().hex(),
                files=files,
                removed=(),
                recent={**self._last.recent, **written},
            )
        )

    def compact(self) -> None:
        """Merge small files of each folder, in the order of their rows; see LakeTable."""
        live = manifests.listed(self._store, self._last)
        number = self._last.number + 1
        groups = list(_groups(live))
        files: dict[str, str] = {}
        merged: dict[str, File] = {}
        with self._staging():
            for i, group in enumerate(groups):
                staged = manifests.staged_name(number)
                name = str(Path(group[0]).with_name(f"part-{number:020}-{i}.parquet"))
                with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
                    self._merge(group, Path(file.name))
                    merged[name] = self._write(staged, Path(file.name))
                files[staged] = name
        removed = [name for group in groups for name in group]
        if removed:
            remaining = {name: file for name, file in live.items() if name not in set(removed)}
            self._commit(
                replace(
                    self._last,
                    number=number,
                    files=files,
                    removed=removed,
                    recent={**remaining, **merged},
                    lists=(),
                )
            )
        # what writers left that were overtaken, or killed while they removed files
        live = manifests.listed(self._store, self._last)
        for name in self._store.all_names():
            match = manifests.PART.fullmatch(name.rpartition("/")[2])
            if match is not None and int(match[1]) <= self._last.number and name not in live:
                self._store.remove(name)

    def _merge(self, names: Sequence[str], target: Path) -> None:
        opened = [pq.ParquetFile(pa.BufferReader(self._store.read(name))) for name in names]
        schema = pa.unify_schemas([file.schema_arrow for file in opened])
        waiting: list[pa.Table] = []
        with pq.ParquetWriter(target, schema) as writer:
            for file in opened:
                for batch in file.iter_batches(_GROUP):
                    rows = [schema.empty_table(), pa.Table.from_batches([batch])]
                    waiting.append(pa.concat_tables(rows, promote_options="default"))
                    if sum(rows.num_rows for rows in waiting) >= _GROUP:
                        writer.write_table(pa.concat_tables(waiting))
                        waiting = []
            if waiting:
                writer.write_table(pa.concat_tables(waiting))

    def _commit(self, manifest: Manifest) -> None:
        if manifest.removed:  # until they are
            self._store.write(f"{OWN}/{manifests.staged_name(manifest.number)}", b"")
        if not manifests.commit(self._store, manifest):
            self._store.remove(*(f"{OWN}/{staged}" for staged in manifest.files))
            reason = f"Commit {manifest.number} is there already."
            raise KsqlError("LAKE_CONFLICT", path=self._spec.path, reason=reason)
        manifests.publish(self._store, manifest)
        self._last = manifests.newest(self._store)

    @contextlib.contextmanager
    def _staging(self) -> Iterator[None]:
        """Remove the files of a commit if some of them cannot be written: attempts must not fill a disk."""
        self._names = []
        try:
            yield
        except Exception:
            with contextlib.suppress(KsqlError):
                self._store.remove(*(f"{OWN}/{name}" for name in self._names))
            raise

    def _staged(self, rows: pa.Table, number: int) -> tuple[dict[str, str], dict[str, File]]:
        """Write rows to files that readers do not see: name below OWN -> name; name -> file."""
        data = arrow.partitioned(rows.cast(arrow.schema_of(self._spec.columns)), self._spec.partition_by)
        data = data.cast(self._schema)
        fields = [self._schema.field(part.name) for part in self._spec.partition_by]
        files: dict[str, str] = {}
        by_name: dict[str, File] = {}
        with tempfile.TemporaryDirectory() as folder:
            ds.write_dataset(
                data,
                folder,
                format="parquet",
                partitioning=ds.partitioning(pa.schema(fields), flavor="hive") if fields else None,
                max_partitions=100_000,
                use_threads=False,  # rows stay in their order
            )
            for path in sorted(Path(folder).rglob("*.parquet")):
                staged = manifests.staged_name(number)
                name = str(path.relative_to(folder).with_name(f"part-{number:020}.parquet"))
                files[staged], by_name[name] = name, self._write(staged, path)
        return files, by_name

    def _write(self, staged: str, file: Path) -> File:
        """Write a file below OWN."""
        self._names.append(staged)
        self._store.write(f"{OWN}/{staged}", file)
        size = file.stat().st_size
        if not self._spec.is_archive:
            return (size,)
        offsets = pq.read_table(file, columns=["offset"], partitioning=None)["offset"]
        return (size, *(pc.min_max(offsets)[end].as_py() for end in ("min", "max")))


def _groups(live: Mapping[str, File]) -> Iterator[list[str]]:
    """Files of one folder that become one, in the order of their rows."""
    folders: dict[str, list[str]] = {}
    # offsets, or else commits and their parts
    for name in sorted(live, key=lambda name: (live[name][1:], _place(name))):
        folders.setdefault(name.rpartition("/")[0], []).append(name)
    for names in folders.values():
        group: list[str] = []
        size = 0
        for name in names:
            if group and (live[name][0] >= _LARGE or size >= _LARGE):
                if len(group) > 1:
                    yield group
                group, size = [], 0
            if live[name][0] < _LARGE:
                group.append(name)
                size += live[name][0]
        if len(group) > 1:
            yield group


def _place(name: str) -> tuple[int, int]:
    commit, _, part = Path(name).stem.removeprefix("part-").partition("-")
    return int(commit), int(part or 0)


def complete(path: str) -> None:
    """See tables.complete."""
    manifests.complete(Store(path))


def open_table(spec: TableSpec) -> _ParquetTable:
    """Open or create a folder of files; see tables.open_table."""
    return _ParquetTable(spec)
