"""``ksql-spark doctor --tools``: which charts of which tools fail over a server's own streams and tables."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ksql_spark.client.packages import install
from ksql_spark.tools.charts import COLUMNS, Chart, charts

if TYPE_CHECKING:
    import psycopg

_TIMEOUT_S = 10
_KEY_FIRST = """SELECT c.table_name, c.column_name, c.data_type FROM information_schema.columns c
  LEFT JOIN information_schema.key_column_usage k
    ON k.table_name = c.table_name AND k.column_name = c.column_name
  WHERE c.table_schema = 'public' ORDER BY c.table_name, k.column_name IS NULL, c.ordinal_position"""


class Result(NamedTuple):
    """What became of a statement over a table: ``problem`` is why it failed, or "" if it did not."""

    chart: Chart
    sql: str
    problem: str


def check_tools(url: str, names: Sequence[str]) -> int:
    """Run the statements of all tools over a server's streams and tables, and print what fails.

    Args:
        url: of its port for clients of PostgreSQL: ``postgresql://user:password@host:port/ksql``.
        names: of streams and tables, as the port shows them; none: all of them.

    Returns:
        0 if each statement is answered, 1 if one is not, 2 if none could be tried.
    """
    try:
        import psycopg
    except ModuleNotFoundError:
        print(f"psycopg is not installed: {install('ksql-spark[jdbc]')}", file=sys.stderr)
        return 2
    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=_TIMEOUT_S) as connection:
            return _check(connection, names)
    except psycopg.OperationalError as error:
        advice = (
            "Start the server with --pg-listen, or name its address: --tools postgresql://me@host:5433/ksql"
        )
        print(f"{error}\n{advice}", file=sys.stderr)
        return 2


def _check(connection: psycopg.Connection[Any], names: Sequence[str]) -> int:
    columns: dict[str, list[tuple[str, str]]] = {}
    for table, column, type_ in connection.execute(_KEY_FIRST):
        columns.setdefault(table, []).append((column, type_))
    unknown = [name for name in names if name not in columns]
    if unknown or not columns:
        what = f"no stream or table {', '.join(unknown)}" if unknown else "no streams and tables"
        print(f"There is {what}.", file=sys.stderr)
        return 2
    is_bad, is_tried = False, False
    for table in names or columns:
        print(table, flush=True)
        if problem := _problem(
            connection, Chart("", "", "SELECT * FROM {table} LIMIT 1").of({"table": table})
        ):
            print(f"  note  not tried: {problem}", flush=True)
            continue
        is_tried = True
        is_bad |= _print(list(_results(connection, table, columns[table])))
    return int(is_bad) if is_tried else 2


def _results(
    connection: psycopg.Connection[Any], table: str, columns: Sequence[tuple[str, str]]
) -> Iterator[Result | Chart]:
    """What became of each statement; the statement itself, if the table lacks a column that it names."""
    found = {"table": table}
    for kind, types in COLUMNS.items():
        fitting = [name for name, type_ in columns if not types or type_ in types]
        # one column for each, as far as there are several
        free = [name for name in fitting if name not in found.values()] or fitting
        if free:
            found[kind] = free[0]
    for chart in charts():
        if not found.keys() >= set(chart.columns):
            yield chart
            continue
        sql = chart.of(found)
        yield Result(chart, sql, _problem(connection, sql))


def _problem(connection: psycopg.Connection[Any], sql: str) -> str:
    """Why a statement fails; "" if it does not."""
    import psycopg

    try:
        connection.execute(sql.encode())
    except psycopg.Error as error:
        if connection.closed:
            raise
        return error.diag.message_primary or str(error)
    return ""


def _print(results: Sequence[Result | Chart]) -> bool:
    """Print a line for each tool, and what fails; returns whether something does."""
    tried = [result for result in results if isinstance(result, Result)]
    failed = [result for result in tried if result.problem]
    counts = Counter(result.chart.tool for result in tried)
    lacking = Counter(chart.tool for chart in results if isinstance(chart, Chart))
    width = max(map(len, counts | lacking))
    for tool in sorted(counts | lacking):
        of_tool = [result for result in failed if result.chart.tool == tool]
        left_out = f", {lacking[tool]} without columns for them" if lacking[tool] else ""
        mark = "BAD " if of_tool else "ok  "
        print(
            f"  {mark}  {tool.ljust(width)}  {counts[tool] - len(of_tool)} of {counts[tool]} charts{left_out}"
        )
        for result in of_tool:
            print(f"          {result.chart.name}: {result.problem}")
            print("".join(f"            {line}\n" for line in result.sql.splitlines()), end="")
    sys.stdout.flush()
    return bool(failed)
