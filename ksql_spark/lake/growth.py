"""Reads what a lake table has gained since the last read: new files, Delta Lake or Iceberg commits.

A batch is named by its mark, a small JSON object. Whoever has the mark gets the same rows again, because
files do not change, and the next batch begins where it ends.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs

from ksql_spark.errors import KsqlError
from ksql_spark.lake import reading
from ksql_spark.lake.positions import Mark, ReadFile
from ksql_spark.metastore.origins import JSON, Origin
from ksql_spark.metastore.sinks import DELTA, ICEBERG, PARQUET
from ksql_spark.object_stores import arrow_files
from ksql_spark.schema import Column

#: rows of one file, with these columns
Part = Callable[[Sequence[Column]], pa.Table]


@dataclass(frozen=True)
class Batch:
    """Rows that a table has gained.

    Args:
        mark: its name.
        parts: its files, in the order of their commits, or of their names.
        files: those of a folder that nobody knew.
    """

    mark: Mark
    parts: Sequence[Part]
    files: Mapping[str, ReadFile]


def next_batch(origin: Origin, mark: Mark | None, files_read: Mapping[str, ReadFile]) -> Batch | None:
    """Return what the table has gained since the batch ``mark``; None if nothing.

    Args:
        origin: the table.
        mark: of the last batch that was read, or None.
        files_read: the files of earlier batches, of a folder.

    Raises:
        KsqlError: LAKE_MISSING; LAKE_FAILED: it is not there, cannot be read, or lacks what comes next;
            LAKE_UNREADABLE: rows were changed, not added.
    """
    return reading.checked(origin, lambda: _next(origin, mark, files_read))


def same_batch(origin: Origin, mark: Mark, files_read: Mapping[str, ReadFile]) -> Batch:
    """The batch ``mark`` once more; the parameters and errors are those of next_batch()."""
    return reading.checked(origin, lambda: _same(origin, mark, files_read))


def state_of(origin: Origin) -> object:
    """Something that changes whenever the table does; see next_batch() for errors."""
    if origin.format in (DELTA, ICEBERG):
        return reading.state_of(origin)
    return reading.checked(origin, lambda: _files(origin.path))


def changed_files(origin: Origin, files_read: Mapping[str, ReadFile]) -> list[str]:
    """Files of a folder that are not as they were read: their new rows are in no batch."""
    if origin.format in (DELTA, ICEBERG):
        return []
    there = reading.checked(origin, lambda: _files(origin.path))
    return [name for name, size in there.items() if name in files_read and files_read[name].size != size]


def _next(origin: Origin, mark: Mark | None, files_read: Mapping[str, ReadFile]) -> Batch | None:
    if origin.format == DELTA:
        return _delta(origin, None if mark is None else mark["to"], reading.delta_table(origin).version())
    if origin.format == ICEBERG:
        snapshot = reading.iceberg_table(origin).current_snapshot()
        return (
            None
            if snapshot is None
            else _iceberg(origin, None if mark is None else mark["to"], snapshot.snapshot_id)
        )
    number = 1 + (0 if mark is None else mark["batch"])
    new = {
        name: ReadFile(number, size) for name, size in _files(origin.path).items() if name not in files_read
    }
    return Batch({"batch": number}, _file_parts(origin, sorted(new)), new) if new else None


def _same(origin: Origin, mark: Mark, files_read: Mapping[str, ReadFile]) -> Batch:
    if origin.format in (DELTA, ICEBERG):
        batch = (_delta if origin.format == DELTA else _iceberg)(origin, mark["from"], mark["to"])
        return batch or Batch(mark, (), {})
    names = sorted(name for name, file in files_read.items() if file.batch == mark["batch"])
    changed = set(changed_files(origin, files_read)) & set(names)
    if changed:
        raise unreadable(origin, f"the file {min(changed)} was changed while it was read")
    return Batch(mark, _file_parts(origin, names), {})


def unreadable(origin: Origin, reason: str) -> KsqlError:
    """Return the error LAKE_UNREADABLE."""
    return KsqlError("LAKE_UNREADABLE", path=origin.path, reason=reason)


def _rows(origin: Origin, read: Part, columns: Sequence[Column]) -> pa.Table:
    return reading.checked(origin, lambda: reading.converted(read(columns), columns, origin, may_lack=True))


# ---- files --------------------------------------------------------------------------------------------


def _files(path: str) -> dict[str, int]:
    """The files of a folder, or the one that is there, and their sizes."""
    filesystem, inner = arrow_files(path)
    there = filesystem.get_file_info(inner)
    if there.type == pa.fs.FileType.NotFound:
        raise FileNotFoundError("it is not there")
    if there.is_file:
        return {inner: there.size}
    begins = len(inner.rstrip("/")) + 1
    return {
        file.path: file.size
        for file in filesystem.get_file_info(pa.fs.FileSelector(inner, recursive=True))
        # as other readers, leave alone what is being written
        if file.is_file and not any(part[:1] in "._" for part in file.path[begins:].split("/"))
    }


def _file_parts(origin: Origin, names: Sequence[str]) -> Sequence[Part]:
    if origin.format == JSON:
        return [partial(_one_file, origin, name) for name in names]
    if not names:
        return ()
    files = reading.parquet_files if origin.format == PARQUET else reading.csv_files
    dataset, whole = files(origin.path, names)
    # earlier and later batches may have the columns that this one lacks
    return [
        partial(_rows, origin, partial(reading.fragment_rows, fragment, whole, origin=origin, may_lack=True))
        for fragment in dataset.get_fragments()
    ]


def _one_file(origin: Origin, name: str, columns: Sequence[Column]) -> pa.Table:
    path = name
    if "://" in origin.path:
        scheme, _, rest = origin.path.partition("://")
        _, mark, options = rest.partition("?")
        path = f"{scheme}://{name}{mark}{options}"
    return reading.read(replace(origin, path=path), columns)


# ---- Delta Lake ---------------------------------------------------------------------------------------


def _delta(origin: Origin, since: int | None, until: int) -> Batch | None:
    """Return the rows added by the versions after ``since`` up to ``until``; since None: the whole table."""
    if since is not None and since >= until:
        return None
    mark = {"from": since, "to": until}
    schema = reading.delta_table(origin).to_pyarrow_dataset().schema
    if since is None:
        files_by_version: dict[int, set[str] | None] = {until: None}
    else:
        files_by_version = {v: added for v in range(since + 1, until + 1) if (added := _added(origin, v))}
    return Batch(mark, list(_delta_parts(origin, files_by_version, schema)), {})


def _delta_parts(
    origin: Origin, versions: Mapping[int, set[str] | None], schema: pa.Schema
) -> Iterator[Part]:
    from deltalake import DeltaTable

    for version, names in versions.items():
        # also what later versions have compacted
        table = DeltaTable(origin.path, version=version).to_pyarrow_dataset().replace_schema(schema)
        fragments = {fragment.path: fragment for fragment in table.get_fragments()}
        if names is not None and not names <= fragments.keys():
            raise FileNotFoundError(f"version {version} lacks the file {min(names - fragments.keys())}")
        for name in sorted(fragments if names is None else names):
            yield partial(
                _rows, origin, partial(reading.fragment_rows, fragments[name], schema, origin=origin)
            )


def _added(origin: Origin, version: int) -> set[str]:
    """The files with rows that a version has added.

    A version that only removes files, as clean-up by time does, is no matter of a stream; neither is
    compaction, which changes no row.
    """
    name = f"_delta_log/{version:020}.json"
    filesystem, path = arrow_files(origin.path)
    try:
        with filesystem.open_input_stream(f"{path.rstrip('/')}/{name}") as file:
            actions = [json.loads(line) for line in file.read().splitlines() if line.strip()]
    except FileNotFoundError:
        raise FileNotFoundError(
            f"its log has no version {version} any more, so nobody knows which rows it added"
        ) from None
    adds = {unquote(a["add"]["path"]) for a in actions if "add" in a and a["add"]["dataChange"]}
    if adds and any("remove" in a and a["remove"].get("dataChange", True) for a in actions):
        raise unreadable(
            origin, f"version {version} changes or deletes rows, and a stream takes only those that are added"
        )
    return adds


# ---- Iceberg ------------------------------------------------------------------------------------------


def _iceberg(origin: Origin, since: int | None, until: int) -> Batch | None:
    """Return the rows added by the snapshots after ``since`` up to ``until``; since None: the whole table."""
    from pyiceberg.table.snapshots import Operation, ancestors_between_ids

    if since == until:
        return None
    table = reading.iceberg_table(origin)
    if since is None:
        tasks = _ordered(table.scan(snapshot_id=until).plan_files())
    else:
        # it says so where the snapshots are not those after ``since``
        table.incremental_append_scan(
            from_snapshot_id_exclusive=since, to_snapshot_id_inclusive=until
        ).plan_files()
        tasks = []
        for snapshot in reversed(list(ancestors_between_ids(since, until, table.metadata))):
            operation = snapshot.summary and snapshot.summary.operation
            if operation == Operation.OVERWRITE:
                raise unreadable(
                    origin,
                    f"snapshot {snapshot.snapshot_id} changes or deletes rows, "
                    "and a stream takes only those that are added",
                )
            if operation == Operation.APPEND:
                added = table.incremental_append_scan(
                    from_snapshot_id_exclusive=snapshot.parent_snapshot_id,
                    to_snapshot_id_inclusive=snapshot.snapshot_id,
                )
                tasks += _ordered(added.plan_files())
    parts = [partial(_rows, origin, partial(_iceberg_rows, origin, table, task)) for task in tasks]
    return Batch({"from": since, "to": until}, parts, {})


def _ordered(tasks: Iterable[Any]) -> list[Any]:
    return sorted(tasks, key=lambda task: str(task.file.file_path))


def _iceberg_rows(origin: Origin, table: Any, task: Any, columns: Sequence[Column]) -> pa.Table:
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.io.pyarrow import ArrowScan

    schema = table.schema()
    names = reading.names_of([field.name for field in schema.fields], columns, origin)
    scan = ArrowScan(table.metadata, table.io, schema.select(*names.values()), AlwaysTrue())
    return scan.to_table([task]).select(list(names.values())).rename_columns(list(names))
