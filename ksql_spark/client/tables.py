"""Results as tables of pandas, pyarrow and polars, which are imported when needed; their tables as rows."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ksql_spark.client import values
from ksql_spark.client.errors import InterfaceError
from ksql_spark.client.packages import install
from ksql_spark.client.protocol import Columns

Rows = Sequence[tuple[Any, ...]]


def arrow(columns: Columns, rows: Rows) -> Any:
    """A pyarrow.Table. Raises InterfaceError without pyarrow."""
    pyarrow = needed("pyarrow")
    types = map(values.type_of, columns.types)
    arrays = [values.arrow_array([row[i] for row in rows], type_) for i, type_ in enumerate(types)]
    return pyarrow.Table.from_arrays(arrays, list(columns.names))


def pandas(columns: Columns, rows: Rows) -> Any:
    """A pandas.DataFrame. Raises InterfaceError without pandas."""
    module = needed("pandas")
    series = {}
    for i, (name, text) in enumerate(zip(columns.names, columns.types, strict=True)):
        column, type_ = [row[i] for row in rows], values.PANDAS.get(values.type_of(text).name, "object")
        if type_ == values.PANDAS["TIMESTAMP"]:
            column = values.numpy_times(column)
        series[name] = module.Series(column, dtype=type_)
    return module.DataFrame(series, columns=list(columns.names))


def polars(columns: Columns, rows: Rows) -> Any:
    """A polars.DataFrame. Raises InterfaceError without polars or pyarrow."""
    return needed("polars").from_arrow(arrow(columns, rows))


def text(columns: Columns, rows: Iterable[tuple[Any, ...]], most: int) -> str:
    """The first ``most`` rows as text, below the names of their columns.

    >>> print(text(Columns("", ("ITEM", "N"), ("STRING", "BIGINT")), [("tea", 2), ("coffee", 1)], 1))
    ITEM | N
    -----+--
    tea  | 2
    … more rows
    """
    cells = [["NULL" if value is None else str(value) for value in row] for row in rows]
    shown = [list(columns.names), *cells[:most]]
    widths = [max(len(row[i]) for row in shown) for i in range(len(columns.names))]
    numbers = [kind.startswith(("INTEGER", "BIGINT", "DOUBLE", "DECIMAL")) for kind in columns.types]

    def line(row: Sequence[str]) -> str:
        parts = zip(row, widths, numbers, strict=True)
        return " | ".join(one.rjust(w) if right else one.ljust(w) for one, w, right in parts).rstrip()

    lines = [line(shown[0]), "-+-".join("-" * width for width in widths), *map(line, shown[1:])]
    return "\n".join([*lines, *(["… more rows"] if len(cells) > most else [])])


def needed(name: str) -> Any:
    """A package of the extra ``frames``. Raises InterfaceError if it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise InterfaceError(f"{name} is not installed: {install('ksql-spark[frames]')}") from None


def of_entities(entities: Sequence[Mapping[str, Any]]) -> tuple[Columns, list[tuple[Any, ...]]]:
    """The results of statements that are not queries: the list in the last one, or its plain members."""
    last = entities[-1] if entities else {}
    lists = [value for name, value in last.items() if isinstance(value, list) and name != "warnings"]
    members = [v for v in lists if v and all(isinstance(one, Mapping) for one in v)]
    plain = {name: value for name, value in last.items() if not isinstance(value, (list, Mapping))}
    objects: list[Mapping[str, Any]] = [plain]
    if members or (lists and not any(lists)):  # an empty list has no rows
        objects = members[0] if members else []
    names = list(dict.fromkeys(name for one in objects for name in one if not name.startswith("@")))
    rows = [tuple(_text(one.get(name)) for name in names) for one in objects] if names else []
    types = [_type_of([row[place] for row in rows]) for place in range(len(names))]
    return Columns("", tuple(names), tuple(types)), rows


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, (list, Mapping)) else value


def _type_of(column: Sequence[Any]) -> str:
    kinds = {type(value) for value in column if value is not None}
    return (
        {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE"}.get(kinds.pop(), "STRING")
        if len(kinds) == 1
        else "STRING"
    )


def rows_of(data: Any) -> Iterable[Mapping[str, Any]]:
    """The rows of a frame (pandas, polars, pyarrow), of one mapping or of several."""
    if isinstance(data, Mapping):
        return [data]
    if hasattr(data, "notna") and hasattr(data, "to_dict"):  # pandas
        dicts: list[Mapping[str, Any]] = data.astype(object).where(data.notna(), None).to_dict("records")
        return dicts
    for method in ("to_dicts", "to_pylist"):  # polars, pyarrow
        if hasattr(data, method):
            dicts = getattr(data, method)()
            return dicts
    rows: Iterable[Mapping[str, Any]] = data
    return rows


def create_statement(
    data: Any, name: str, key: str | None, table: bool | None, topic: str | None, partitions: int, format: str
) -> tuple[str, list[dict[str, Any]]]:
    """The statement that declares a source with the columns of ``data``, and its rows by these columns.

    Raises:
        InterfaceError: there is no such key, a table has no key, or a column has a type that SQL lacks.
    """
    pyarrow = needed("pyarrow")
    if isinstance(data, pyarrow.Table):
        frame = data
    elif hasattr(data, "to_arrow"):  # polars
        frame = data.to_arrow()
    elif hasattr(data, "notna"):  # pandas
        frame = pyarrow.Table.from_pandas(data, preserve_index=False)
    else:
        listed: list[Mapping[str, Any]] = list(rows_of(data))
        every = dict.fromkeys(name for row in listed for name in row)
        if not every:
            raise InterfaceError("There are no rows, so no columns: give a frame with columns.")
        frame = pyarrow.Table.from_pylist([{name: row.get(name) for name in every} for row in listed])
    is_table = key is not None if table is None else table
    if key is not None and key not in frame.column_names:
        raise InterfaceError(f"There is no column {key}: the columns are {', '.join(frame.column_names)}.")
    if is_table and key is None:
        raise InterfaceError("A table needs a key: name the column with key=….")
    role = " PRIMARY KEY" if is_table else " KEY"
    columns = [
        f"{identifier(column.name)} {sql_type(column.type)}{role if column.name == key else ''}"
        for column in frame.schema
    ]
    names = {column: identifier(column) for column in frame.column_names}
    rows = [{names[column]: value for column, value in row.items()} for row in frame.to_pylist()]
    quoted_topic = (topic or name).replace("'", "''")
    text = (
        f"CREATE {'TABLE' if is_table else 'STREAM'} {identifier(name)} ({', '.join(columns)}) WITH "
        f"(KAFKA_TOPIC = '{quoted_topic}', PARTITIONS = {partitions}, VALUE_FORMAT = '{format}');"
    )
    return text, rows


def identifier(name: str) -> str:
    """A name in SQL: in upper case if it can be written without quotes, else as it is.

    >>> identifier("price"), identifier("unit price")
    ('`PRICE`', '`unit price`')
    """
    folded = name.upper() if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else name
    return "`" + folded.replace("`", "``") + "`"


def sql_type(type_: Any) -> str:
    """The SQL type of a pyarrow type. Raises InterfaceError if there is none."""
    types = needed("pyarrow").types
    if types.is_dictionary(type_):  # pandas' categories
        return sql_type(type_.value_type)
    if types.is_decimal(type_):
        return f"DECIMAL({type_.precision}, {type_.scale})"
    if types.is_map(type_):
        return f"MAP<{sql_type(type_.key_type)}, {sql_type(type_.item_type)}>"
    if types.is_list(type_) or types.is_large_list(type_):
        return f"ARRAY<{sql_type(type_.value_type)}>"
    if types.is_struct(type_):
        return f"STRUCT<{', '.join(f'{identifier(part.name)} {sql_type(part.type)}' for part in type_)}>"
    for fits, text in (
        (types.is_boolean, "BOOLEAN"),
        (lambda t: types.is_integer(t) and t.bit_width < 32, "INTEGER"),
        (types.is_int32, "INTEGER"),
        (types.is_integer, "BIGINT"),
        (types.is_floating, "DOUBLE"),
        (types.is_date, "DATE"),
        (types.is_time, "TIME"),
        (types.is_timestamp, "TIMESTAMP"),
        (lambda t: types.is_string(t) or types.is_large_string(t) or types.is_string_view(t), "STRING"),
        (types.is_null, "STRING"),
        (lambda t: types.is_binary(t) or types.is_large_binary(t), "BYTES"),
    ):
        if fits(type_):
            return text
    raise InterfaceError(f"SQL has no type for {type_}.")
