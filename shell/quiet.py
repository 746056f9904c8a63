"""Queries that return nothing: what the server knows about the reason."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ksql_spark.shell.client import Client, ClientError, Settings

if TYPE_CHECKING:
    from ksql_spark.shell.resuming import Frames

#: a query without rows for so long is explained
QUIET_S = 3.0


class Quiet:
    """The frames of a push query, and one frame ``note`` with the warnings of its EXPLAIN if no row comes.

    Args:
        stream: the frames.
        client: a client of the server, which another thread uses.
    """

    def __init__(self, stream: Frames, client: Client) -> None:
        self._stream, self._client = stream, client
        self._timer: threading.Timer | None = None
        self._notes: list[dict[str, Any]] = []

    def read(self, timeout_s: float) -> list[dict[str, Any]] | None:
        """Read frames; see FrameStream.read."""
        frames = self._stream.read(timeout_s)
        for frame in frames or ():
            if "header" in frame and self._timer is None:
                self._timer = threading.Timer(QUIET_S, self._ask, [frame["header"].get("queryId")])
                self._timer.daemon = True
                self._timer.start()
            elif "row" in frame and self._timer is not None:
                self._timer.cancel()
        if frames is None or not self._notes:
            return frames
        return [*frames, self._notes.pop()]

    def close(self) -> None:
        """Close the stream; see FrameStream.close."""
        if self._timer is not None:
            self._timer.cancel()
        self._stream.close()

    def _ask(self, query_id: str) -> None:
        # users who may not see it get no reason; RuntimeError: the client was closed meanwhile
        with contextlib.suppress(ClientError, RuntimeError):
            (described,) = self._client.run(f"EXPLAIN {query_id};", Settings())
            if warnings := [str(one["message"]) for one in described.get("warnings") or ()]:
                self._notes.append({"note": "\n".join(warnings)})


def why_empty(graph: Mapping[str, Any], sources: Collection[str]) -> str | None:
    """Why a pull query may have found no rows yet: a query that writes one of its sources is not done.

    Args:
        graph: of GET /graph.
        sources: names of streams and tables.
    """
    nodes = {node["id"]: node for node in graph["nodes"]}
    written = {
        f"topic:{node.get('topic')}": node["name"] for node in nodes.values() if node["name"] in sources
    }
    for edge in graph["edges"]:
        node, name = nodes.get(edge["source"], {}), written.get(edge["target"])
        if node.get("kind") != "QUERY" or name is None:
            continue
        query, left = f"{node['name']}, which writes {name},", (node.get("figures") or {}).get("lagRecords")
        if node["state"] == "REGISTERED":
            return f"{query} is starting. Ask again in a moment."
        if node["state"] == "PAUSED":
            return f"{query} is PAUSED. RESUME {node['name']}; goes on."
        if node["state"] != "RUNNING":
            return f"{query} is {node['state']}. EXPLAIN {node['name']}; says why."
        if left is None:
            return f"{query} has just started. Ask again in a moment."
        if left:
            records = "1 record" if left == 1 else f"{left:,} records"
            return f"{query} has {records} left to read. Ask again in a moment."
    return None
