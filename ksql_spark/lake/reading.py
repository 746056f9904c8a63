"""Reads tables outside Kafka as Arrow rows with the columns that a statement declares.

A column, or a field of a STRUCT, is found by its name, or else by the only name that is equal in another
case, in each file for itself. Values are converted where nothing is lost; what cannot be converted fails the
whole read, with words.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.fs
import pyarrow.json

from ksql_spark.errors import KsqlError
from ksql_spark.lake.arrow import arrow_type
from ksql_spark.lake.tables import missing
from ksql_spark.metastore.origins import CSV, JSON, Origin
from ksql_spark.metastore.sinks import DELTA, ICEBERG, JDBC, PARQUET, folded
from ksql_spark.object_stores import arrow_files
from ksql_spark.schema import Column
from ksql_spark.types import BYTES, STRING, Array, Decimal, Map, Primitive, SqlType, Struct

T = TypeVar("T")
#: how much of a CSV file is parsed at once, the most that a row may have
CSV_BLOCK_BYTES = 16 * 2**20
#: texts that formats without such types have
_TEXTS = ("BYTES", "DATE", "TIME", "TIMESTAMP")


def read(origin: Origin, columns: Sequence[Column]) -> pa.Table:
    """All rows of a table.

    Returns:
        columns as in arrow.schema_of, TIME as milliseconds of the day.

    Raises:
        KsqlError: LAKE_MISSING; LAKE_FAILED: it is not there or cannot be read; LAKE_UNREADABLE: a column is
            not there, or has values that its type does not have.
    """
    rows = checked(origin, lambda: _READERS[origin.format](origin, columns))
    return converted(rows, columns, origin)


def converted(rows: pa.Table, columns: Sequence[Column], origin: Origin, may_lack: bool = False) -> pa.Table:
    """Return the columns of ``rows`` with the types that are declared, as read() does.

    Args:
        may_lack: whether a field of a STRUCT that is not there is NULL.

    Raises:
        KsqlError: LAKE_UNREADABLE.
    """
    return pa.table({column.name: _converted(rows, column, origin, may_lack) for column in columns})


def state_of(origin: Origin) -> object | None:
    """Something that changes whenever the table does, or None if that is not known.

    Raises:
        KsqlError: LAKE_MISSING, LAKE_FAILED.
    """
    return checked(origin, lambda: _STATES.get(origin.format, _state_of_files)(origin))


def checked(origin: Origin, act: Callable[[], T]) -> T:
    """Call ``act`` and return its result; turn errors into KsqlError.

    Raises:
        KsqlError: its own; LAKE_MISSING; LAKE_FAILED for all other errors.
    """
    try:
        return act()
    except KsqlError:
        raise
    except ModuleNotFoundError as error:
        raise missing(origin.format, error) from None
    except Exception as error:  # libraries have no common class
        raise _failed(origin, error) from None


def _failed(origin: Origin, error: Exception) -> KsqlError:
    """LAKE_FAILED with the reason of ``error`` in one line."""
    reason = " ".join(str(getattr(error, "orig", None) or error).split()).rstrip(".")
    return KsqlError("LAKE_FAILED", path=origin.path, reason=reason or type(error).__name__)


# ---- files --------------------------------------------------------------------------------------------


def _parquet(origin: Origin, columns: Sequence[Column]) -> pa.Table:
    _state_of_files(origin)  # there is a file
    dataset, whole = parquet_files(origin.path)
    parts = [fragment_rows(fragment, whole, columns, origin) for fragment in dataset.get_fragments()]
    return pa.concat_tables(parts, promote_options="permissive")


def fragment_rows(
    fragment: ds.Fragment, whole: pa.Schema, columns: Sequence[Column], origin: Origin, may_lack: bool = False
) -> pa.Table:
    """Return the columns of one file; those that only other files have, by ``whole``, are NULL.

    Args:
        may_lack: whether columns that no file has are NULL, too, as long as there is one of ``columns``.

    Raises:
        KsqlError: LAKE_UNREADABLE.
    """
    own = fragment.physical_schema.names
    if may_lack:
        lacking = [column for column in columns if not _same([*own, *whole.names], column.name)]
        if len(lacking) == len(columns):
            reason = f"it has none of the columns {', '.join(column.name for column in columns)}"
            raise KsqlError("LAKE_UNREADABLE", path=origin.path, reason=reason)
        whole = pa.schema([*whole, *(pa.field(column.name, pa.null()) for column in lacking)])
    names: dict[str, str] = {}
    for column in columns:
        names |= names_of(own if _same(own, column.name) else whole.names, [column], origin)
    table = fragment.to_table(schema=whole, columns=list(names.values()))
    return table.rename_columns(list(names))


def parquet_files(path: str, names: Sequence[str] | None = None) -> tuple[ds.Dataset, pa.Schema]:
    """Return the files of Parquet below a path or URL, and all columns that some of them have.

    A folder such as ``region=01`` gives its files the column ``region``: a text, unless other files have that
    column themselves.

    Args:
        path: a folder, or a file.
        names: those of the files there that are wanted, or None for all.
    """
    filesystem, base = arrow_files(path)
    files = partial(
        ds.dataset, base if names is None else list(names), format="parquet", filesystem=filesystem
    )
    fragments = list(files().get_fragments())
    schemas = [fragment.physical_schema for fragment in fragments]
    plain = [pa.schema([(field.name, _without_dictionary(field.type)) for field in each]) for each in schemas]
    whole = pa.unify_schemas(plain, promote_options="permissive")
    root = "" if [fragment.path for fragment in fragments] == [base] else base
    folders = pa.schema(
        whole.field(name) if name in whole.names else pa.field(name, pa.string())
        for name in _folder_columns(fragment.path.removeprefix(root) for fragment in fragments)
    )
    whole = pa.unify_schemas([whole, folders])
    hive = ds.partitioning(folders, flavor="hive")
    return files(schema=whole, partitioning=hive, partition_base_dir=root), whole


def _folder_columns(names: Iterable[str]) -> list[str]:
    """The columns in the names of files' folders, each once."""
    parts = (part.partition("=") for name in names for part in name.split("/")[:-1])
    return list(dict.fromkeys(unquote(column) for column, mark, _ in parts if mark))


def _without_dictionary(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if pa.types.is_dictionary(type_) else type_


def _csv(origin: Origin, columns: Sequence[Column]) -> pa.Table:
    _state_of_files(origin)  # there is a file
    dataset, whole = csv_files(origin.path)
    parts = [fragment_rows(fragment, whole, columns, origin) for fragment in dataset.get_fragments()]
    return pa.concat_tables(parts)


def csv_files(path: str, names: Sequence[str] | None = None) -> tuple[ds.Dataset, pa.Schema]:
    """Return the files of CSV below a path or URL, and all columns that some of them have, as texts.

    Args:
        path: a folder, or a file.
        names: those of the files there that are wanted, or None for all.
    """
    filesystem, base = arrow_files(path)
    source = base if names is None else list(names)
    parsing = pa.csv.ParseOptions(newlines_in_values=True)  # else only files of one block may have such
    reading = pa.csv.ReadOptions(block_size=CSV_BLOCK_BYTES)
    plain = ds.CsvFileFormat(parse_options=parsing, read_options=reading)
    files = list(ds.dataset(source, format=plain, filesystem=filesystem).get_fragments())
    whole = pa.schema(
        [(name, pa.string()) for name in dict.fromkeys(n for f in files for n in f.physical_schema.names)]
    )
    options = pa.csv.ConvertOptions(
        column_types=whole,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    format_ = ds.CsvFileFormat(parse_options=parsing, convert_options=options, read_options=reading)
    return ds.dataset(source, format=format_, schema=whole, filesystem=filesystem), whole


def _json(origin: Origin, columns: Sequence[Column]) -> pa.Table:
    _state_of_files(origin)  # an empty folder would have no rows
    # names are not known before all is read
    schema = pa.schema(_spelled((column.name, column.type) for column in columns))
    options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    parts = [schema.empty_table()]
    filesystem, path = arrow_files(origin.path)
    for file in ds.dataset(path, format="json", schema=schema, filesystem=filesystem).get_fragments():
        # a dataset would read a last line without an end as a row of NULLs, if it is the only line
        if file.filesystem.get_file_info(file.path).size:
            with file.filesystem.open_input_stream(file.path) as content:
                parts.append(pa.json.read_json(content, parse_options=options))
    table = pa.concat_tables(parts)
    return pa.table({c.name: pc.coalesce(*(table[way] for way in _ways(c.name))) for c in columns})


def _json_type(type_: SqlType) -> pa.DataType:
    match type_:
        case Primitive(name) if name in _TEXTS:
            return pa.string()
        case Array(element):
            return pa.list_(_json_type(element))
        case Map(_, value):
            return pa.map_(pa.string(), _json_type(value))
        case Struct(fields):
            return pa.struct(_spelled((field.name, field.type) for field in fields))
    return arrow_type(type_)


def _spelled(fields: Iterable[tuple[str, SqlType]]) -> list[pa.Field]:
    """Return a field for each spelling of a name that JSON may use."""
    return [pa.field(way, _json_type(type_)) for name, type_ in fields for way in _ways(name)]


def _ways(name: str) -> list[str]:
    return list(dict.fromkeys((name, folded(name))))


def _state_of_files(origin: Origin) -> object:
    filesystem, path = arrow_files(origin.path)
    there = filesystem.get_file_info(path)
    files = [there]
    if there.type == pa.fs.FileType.Directory:
        files = filesystem.get_file_info(pa.fs.FileSelector(path, recursive=True))
    state = sorted((file.path, file.size, file.mtime_ns) for file in files if file.is_file)
    if not state:  # not a table without rows: nobody wants all of them removed because a disk is away
        raise FileNotFoundError("there is no file")
    return state


# ---- lakes --------------------------------------------------------------------------------------------


def _delta(origin: Origin, columns: Sequence[Column]) -> pa.Table:
    table = delta_table(origin)
    names = names_of([field.name for field in table.schema().fields], columns, origin)
    return (
        table.to_pyarrow_table(columns=list(names.values()))
        .select(list(names.values()))
        .rename_columns(list(names))
    )


def delta_table(origin: Origin) -> Any:
    """The newest version of a table of Delta Lake."""
    from deltalake import DeltaTable

    return DeltaTable(origin.path)


def _iceberg(origin: Origin, columns: Sequence[Column]) -> pa.Table:
    table = iceberg_table(origin)
    names = names_of([field.name for field in table.schema().fields], columns, origin)
    scan = table.scan(selected_fields=tuple(names.values()))
    return scan.to_arrow().select(list(names.values())).rename_columns(list(names))


def iceberg_table(origin: Origin) -> Any:
    """The newest version of a table of Iceberg."""
    from ksql_spark.lake import iceberg

    return iceberg.table(origin.path)


def _jdbc(origin: Origin, columns: Sequence[Column]) -> pa.Table:
    from ksql_spark.lake import databases

    values_by_column = databases.select(
        origin.path, origin.table or "", lambda names: names_of(names, columns, origin)
    )
    arrays = []
    for column in columns:
        values = values_by_column[column.name]
        if column.type == STRING:
            arrays.append(pa.array([None if value is None else str(value) for value in values], pa.string()))
        elif isinstance(column.type, (Primitive, Decimal)):
            arrays.append(pa.array(values))
        else:
            inner = _from_json(column.type)
            arrays.append(pa.array([inner(value) for value in values], _plain_type(column.type)))
    return pa.table(dict(zip(values_by_column, arrays, strict=True)))


def _from_json(type_: SqlType) -> Callable[[Any], Any]:
    """A function from JSON's values to those that Arrow makes arrays of."""
    convert: Callable[[Any], Any]
    match type_:
        case Array(element):
            inner = _from_json(element)
            convert = lambda value: [inner(part) for part in value]  # noqa: E731
        case Map(_, value_type):
            inner = _from_json(value_type)
            convert = lambda value: [(k, inner(v)) for k, v in value.items()]  # noqa: E731
        case Struct(fields):
            parts = [(field.name, _from_json(field.type)) for field in fields]
            convert = lambda value: {name: inner(_member(value, name)) for name, inner in parts}  # noqa: E731
        case Primitive("STRING") | Decimal():
            convert = str
        case _:
            return lambda value: value
    return lambda value: None if value is None else convert(value)


def _member(value: Mapping[str, Any], name: str) -> Any:
    return value.get(name, value.get(folded(name)))


def _plain_type(type_: SqlType) -> pa.DataType:
    """Return the Arrow type for reading JSON: as _json_type, but DECIMAL as text."""
    match type_:
        case Array(element):
            return pa.list_(_plain_type(element))
        case Map(_, value):
            return pa.map_(pa.string(), _plain_type(value))
        case Struct(fields):
            return pa.struct([pa.field(field.name, _plain_type(field.type)) for field in fields])
        case Decimal():
            return pa.string()
    return _json_type(type_)


# ---- columns ------------------------------------------------------------------------------------------


def names_of(there: Iterable[str], columns: Sequence[Column], origin: Origin) -> dict[str, str]:
    """A column's name -> its name in the table.

    Raises:
        KsqlError: LAKE_UNREADABLE.
    """
    existing = list(there)
    by_column = {}
    for column in columns:
        same = _same(existing, column.name)
        if len(same) != 1:
            which = "has no column" if not same else f"has the columns {', '.join(same)} for"
            reason = f"it {which} {column.name}"
            raise KsqlError("LAKE_UNREADABLE", path=origin.path, reason=reason)
        by_column[column.name] = same[0]
    return by_column


def _same(existing: Sequence[str], name: str) -> list[str]:
    return [name] if name in existing else [one for one in existing if one.upper() == name.upper()]


def _renamed(values: pa.Array, target: SqlType, may_lack: bool) -> pa.Array:
    """Return the values with the names of STRUCT fields that are declared. Raises ValueError."""
    match target:
        case Struct(fields) if pa.types.is_struct(values.type):
            names = [values.type.field(i).name for i in range(values.type.num_fields)]
            parts = []
            for field in fields:
                # JSON is read with both ways to write a name
                same = [way for way in _ways(field.name) if way in names] or _same(names, field.name)
                if not same and not may_lack:
                    raise ValueError(f"it has no field {field.name}")
                members = [values.field(name) for name in same] or [pa.nulls(len(values))]
                parts.append(_renamed(pc.coalesce(*members), field.type, may_lack))
            return pa.StructArray.from_arrays(
                parts, names=[field.name for field in fields], mask=values.is_null()
            )
        case Array(element) if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
            kind = pa.ListArray if pa.types.is_list(values.type) else pa.LargeListArray
            return kind.from_arrays(_offsets(values), _renamed(values.values, element, may_lack))
        case Map(_, value) if pa.types.is_map(values.type):
            return pa.MapArray.from_arrays(
                _offsets(values), values.keys, _renamed(values.items, value, may_lack)
            )
    return values


def _offsets(values: pa.Array) -> pa.Array:
    """Return the offsets of lists in their values, with NULL for lists that are NULL."""
    begins = values.offsets
    if not values.null_count:
        return begins
    return pa.concat_arrays([pc.if_else(values.is_null(), None, begins[:-1]), begins[-1:]])


def _has_struct(type_: SqlType) -> bool:
    match type_:
        case Array(inner) | Map(_, inner):
            return _has_struct(inner)
    return isinstance(type_, Struct)


def _converted(rows: pa.Table, column: Column, origin: Origin, may_lack: bool) -> pa.ChunkedArray:
    target = arrow_type(column.type)
    is_text = origin.format in (CSV, JSON)
    try:
        values = rows[column.name]
        if is_text and column.type == BYTES:
            values = pa.chunked_array(
                [pa.array([v and base64.b64decode(v, validate=True) for v in values.to_pylist()], target)]
            )
        if _has_struct(column.type):
            renamed = [_renamed(chunk, column.type, may_lack) for chunk in values.chunks]
            values = pa.chunked_array(renamed) if renamed else pa.chunked_array([], target)
        return _cast(values, target).cast(arrow_type(column.type, pa.int32()))
    except (pa.ArrowException, ValueError) as error:
        reason = f"its column {column.name} is no {column.type}: {' '.join(str(error).split()).rstrip('.')}"
        raise KsqlError("LAKE_UNREADABLE", path=origin.path, reason=reason) from None


def _cast(values: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_time(target) and pa.types.is_string(values.type):
        return _cast(
            _cast(pc.binary_join_element_wise("1970-01-01T", values, ""), pa.timestamp("us")), target
        )
    if pa.types.is_timestamp(target) and not (pa.types.is_timestamp(values.type) and values.type.tz):
        if pa.types.is_string(values.type):
            zoned = pc.match_substring_regex(values, r"(Z|[+-]\d\d:?\d\d)$")
            if pc.any(zoned).as_py():
                return values.cast(target)
        values = _cast_plainly(values, pa.timestamp("us"))  # without a zone it is UTC
    if pa.types.is_decimal(target) and pa.types.is_integer(values.type):
        values = values.cast(pa.decimal128(20))  # Arrow asks for room for all digits of the integer's type
    return _cast_plainly(values, target)


def _cast_plainly(values: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    return pc.cast(values, options=pc.CastOptions(target, allow_time_truncate=True))


_READERS: Mapping[str, Callable[[Origin, Sequence[Column]], pa.Table]] = {
    PARQUET: _parquet,
    CSV: _csv,
    JSON: _json,
    DELTA: _delta,
    ICEBERG: _iceberg,
    JDBC: _jdbc,
}
_STATES: Mapping[str, Callable[[Origin], object | None]] = {
    DELTA: lambda origin: delta_table(origin).version(),
    ICEBERG: lambda origin: getattr(iceberg_table(origin).current_snapshot(), "snapshot_id", None),
    JDBC: lambda origin: None,
}
