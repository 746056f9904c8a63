r"""\top: the queries of a server as a table, sorted and filtered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ksql_spark.shell.output.console import Console
from ksql_spark.shell.output.figures import bytes_text, count_text, errors_of, time_text
from ksql_spark.shell.output.table import UNLIMITED
from ksql_spark.shell.output.text import clip, pad, width

Query = Mapping[str, Any]
#: ids are cut to this width; then columns are left out
LEAST_ID = 28


def _figure(name: str) -> Callable[[Query], float | None]:
    return lambda query: (query.get("figures") or {}).get(name)


@dataclass(frozen=True)
class Column:
    """One column: its header, its value, how that is shown, and whether the greatest comes first."""

    header: str
    value: Callable[[Query], Any]
    text: Callable[[Any], str]
    falls: bool = True


#: in the order of the screen; on a narrow one the last ones are left out first
COLUMNS = (
    Column("query", lambda query: query.get("name", ""), str, falls=False),
    Column("state", lambda query: query.get("state") or "", str, falls=False),
    Column("read/s", _figure("readPerS"), count_text),
    Column("lag", _figure("lagRecords"), count_text),
    Column("p95 latency", _figure("latencySeconds"), time_text),
    Column("errors", lambda query: errors_of(query.get("figures") or {}), count_text),
    Column("written/s", _figure("writtenPerS"), count_text),
    Column("waiting", _figure("lagSeconds"), time_text),
    Column("state size", _figure("stateBytes"), bytes_text),
    Column("state rows", _figure("stateRows"), count_text),
    Column("restarts", _figure("failures"), count_text),
    Column("server", lambda query: query.get("host") or "", str, falls=False),
)


@dataclass
class Top:
    """The queries, and what the user has chosen.

    Attributes:
        graph: the answer of GET /graph.
        sort: the column that sorts.
        is_reversed: whether in the opposite order.
        filter: only queries whose id, state or statement has this text.
        selected: the id of the selected query.
    """

    graph: Mapping[str, Any] = field(default_factory=dict)
    sort: int = 0
    is_reversed: bool = False
    filter: str = ""
    selected: str | None = None

    @property
    def all(self) -> list[Query]:
        """All queries."""
        return [node for node in self.graph.get("nodes") or [] if node.get("kind") == "QUERY"]

    @property
    def shown(self) -> list[Query]:
        """The queries to show, in order."""
        column, searched = COLUMNS[self.sort], self.filter.casefold()
        matching = [
            query
            for query in sorted(self.all, key=lambda query: str(query.get("name")))
            if any(
                searched in str(query.get(member) or "").casefold()
                for member in ("name", "state", "statement")
            )
        ]
        with_value = [query for query in matching if column.value(query) is not None]
        with_value.sort(key=column.value, reverse=column.falls != self.is_reversed)
        return [*with_value, *(query for query in matching if column.value(query) is None)]

    @property
    def current(self) -> Query | None:
        """The selected query; the first one if it is gone."""
        shown = self.shown
        return next(
            (query for query in shown if query.get("name") == self.selected), shown[0] if shown else None
        )

    def move(self, lines: int) -> None:
        """Select another query, ``lines`` further down."""
        shown, current = self.shown, self.current
        if current is not None:
            place = min(max(shown.index(current) + lines, 0), len(shown) - 1)
            self.selected = str(shown[place].get("name"))

    def sort_by_next(self, step: int = 1) -> None:
        """Sort by the next column."""
        self.sort, self.is_reversed = (self.sort + step) % len(COLUMNS), False

    @property
    def summary(self) -> str:
        """Describe how many queries there are, what they do together, and which holds up the others."""
        queries = self.all
        states: dict[str, int] = {}
        for query in queries:
            state = str(query.get("state") or "").lower()
            states[state] = states.get(state, 0) + 1
        read = sum((query.get("figures") or {}).get("readPerS") or 0 for query in queries)
        parts = [f"{len(queries):,} quer{'y' if len(queries) == 1 else 'ies'}"]
        parts += [f"{count:,} {state}" for state, count in sorted(states.items(), key=lambda item: -item[1])]
        parts.append(f"{count_text(read)} rows/s read")
        parts += [f"{one['queryId']}: {one['reason']}" for one in self.graph.get("culprits") or []]
        return " · ".join(parts)

    def lines(self, console: Console, height: int | None = None) -> list[str]:
        """The summary, the headers, and a line for each query; at most ``height`` lines."""
        is_chosen = height is not None
        columns = (console.columns or UNLIMITED) - 2 * is_chosen
        queries = self.shown
        current = self.current
        if height is not None:
            room = max(1, height - 2)
            first = max(0, queries.index(current) - room + 1) if current is not None else 0
            queries = queries[first : first + room]
        cells = [[column.text(column.value(query)) for column in COLUMNS] for query in queries]
        down, up = "▼▲" if console.is_unicode else "v^"
        mark = down if COLUMNS[self.sort].falls != self.is_reversed else up
        headers = [column.header + mark * (index == self.sort) for index, column in enumerate(COLUMNS)]
        widths = [max(map(width, (header, *(row[i] for row in cells)))) for i, header in enumerate(headers)]
        # ids are cut before columns are left out
        others = sum(widths[1:]) + 2 * (len(widths) - 1)
        widths[0] = min(widths[0], max(LEAST_ID, columns - others))
        shown_columns = [
            index for index in range(len(COLUMNS)) if sum(widths[: index + 1]) + 2 * index <= columns
        ] or [0]
        if not any(query.get("host") for query in queries) and len(COLUMNS) - 1 in shown_columns:
            shown_columns.remove(len(COLUMNS) - 1)
        widths[0] = min(widths[0], columns)
        lines = [f"{'  ' * is_chosen}{console.bold(_line(headers, widths, shown_columns, console))}"]
        for row, query in zip(cells, queries, strict=True):
            line = _line(row, widths, shown_columns, console)
            if is_chosen and query is current:
                lines.append(f"> {console.inverse(line)}")
            else:
                lines.append("  " * is_chosen + _styled(line, query, console))
        return [clip(self.summary, columns, console.ellipsis), *lines]


def _line(cells: Sequence[str], widths: Sequence[int], shown_columns: Sequence[int], console: Console) -> str:
    shown = (
        pad(clip(cells[i], widths[i], console.ellipsis), widths[i], COLUMNS[i].falls) for i in shown_columns
    )
    return "  ".join(shown).rstrip()


def _styled(line: str, query: Query, console: Console) -> str:
    match query.get("state"):
        case "ERROR":
            return console.red(line)
        case "PAUSED":
            return console.dim(line)
    return line
