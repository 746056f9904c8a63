"""Shows the progress of queries started at the prompt: records left, rate, time left; then a last word."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ksql_spark.shell.output.figures import count_text, time_text

#: a query that has less left than this has caught up
FEW = 1


class Progress:
    """Follows queries from their start until they have caught up.

    Args:
        print_line: called with a line for the user.
    """

    def __init__(self, print_line: Callable[[str], None]) -> None:
        self._print_line = print_line
        #: query -> whether it had something left
        self._followed: dict[str, bool] = {}
        #: what the line below the prompt says
        self.text = ""

    def follow(self, query_id: str) -> None:
        """Follow a query that has just started."""
        self._followed[query_id] = False

    @property
    def is_needed(self) -> bool:
        """Whether a query is followed."""
        return bool(self._followed)

    def take(self, graph: Mapping[str, Any]) -> None:
        """Read the answer of GET /graph; report which queries have caught up."""
        nodes = {node.get("name"): node for node in graph.get("nodes") or [] if node.get("kind") == "QUERY"}
        parts = []
        for query_id, was_behind in list(self._followed.items()):
            node = nodes.get(query_id)
            if node is None or node.get("state") in ("ERROR", "PAUSED"):
                del self._followed[query_id]  # others tell what has become of it
                continue
            figures = node.get("figures") or {}
            lag, rate = figures.get("lagRecords"), figures.get("readPerS")
            if lag is None:
                continue
            if lag >= FEW:
                self._followed[query_id] = True
                parts.append(_remaining_text(query_id, lag, rate))
            elif was_behind or rate is not None:
                del self._followed[query_id]
                rates = f"reads {count_text(rate)}, writes {count_text(figures.get('writtenPerS'))} rows/s"
                # a new version takes over after its next checkpoint, which is when it has caught up
                done = "has read what there was" if node.get("newVersionOf") else "has caught up"
                self._print_line(f"{query_id} {done}: {rates}.")
        self.text = " · ".join(parts)


def _remaining_text(query_id: str, lag: float, rate: float | None) -> str:
    """Describe the work that a query has left.

    >>> _left("CSAS_A_1", 12000, 1000.0)
    'CSAS_A_1: 12,000 records left, 1,000/s, 12.0 s'
    """
    text = f"{query_id}: {lag:,.0f} record{'' if lag == 1 else 's'} left"
    return f"{text}, {count_text(rate)}/s, {time_text(lag / rate)}" if rate else text
