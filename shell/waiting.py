"""``--wait`` and ``--batch``: wait until queries have processed what is there when a script ends.

DESCRIBE EXTENDED says how far the queries that write a stream or table have read, as of their last
checkpoint.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ksql_spark.shell.client import Client, ClientError
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.statements import quoted_name

#: how often to ask
LOOK_S = 0.5
#: a row of SHOW QUERIES
_Query = Mapping[str, Any]


class Server(Protocol):
    """What carries out statements, such as a Client."""

    def run(self, text: str) -> list[dict[str, Any]]:
        """Carry out statements; returns their answers. Raises ClientError."""


def wait_for_queries(
    client: Server,
    console: Console,
    but: Collection[str] = (),
    look_s: float | None = None,
    timeout_s: float = math.inf,
) -> None:
    """Wait until each running query has read all records that its topics have now, upstream queries first.

    What a query has written counts as the input of those after it, and what one of its sub-topologies has
    written as that of the next one. Paused queries are left out, and those with the ids ``but``.

    Args:
        client: carries out SHOW QUERIES and DESCRIBE.
        console: for a status line.
        but: ids of queries to leave out.
        look_s: how often to ask, or None for LOOK_S.
        timeout_s: how long this may take.

    Raises:
        ClientError: a query has failed, or this takes too long.
    """
    deadline = time.monotonic() + timeout_s
    try:
        for query in _upstream_first(client, [q for q in _queries(client) if q["id"] not in but]):
            done: set[str] = set()
            while rest := [topic for topic in _places(client, query) if topic not in done]:
                _wait_for_topic(client, console, query, rest[0], look_s or LOOK_S, deadline)
                done.add(rest[0])
    finally:
        console.clear_status()


def _upstream_first(client: Server, queries: Iterable[_Query]) -> Iterator[_Query]:
    """Yield queries, each after all others that write a topic that it reads; in a cycle, as they come."""
    rest = [(query, _places(client, query).keys()) for query in queries]
    while rest:
        written = [(query, topic) for query, _ in rest for topic in query["sinkKafkaTopics"]]
        first = next(
            (at for at, (query, read) in enumerate(rest)
             if not any(topic in read for other, topic in written if other is not query)),
            0,
        )  # fmt: skip
        yield rest.pop(first)[0]


def _wait_for_topic(
    client: Server, console: Console, query: _Query, topic: str, look_s: float, deadline: float
) -> None:
    """Wait until a query has read what a topic has now."""
    (sink,) = query["sinks"]
    ends = {partition: end for partition, (_, end) in _places(client, query).get(topic, {}).items()}
    #: when the first look was, and what was left then
    first: tuple[float, int] | None = None
    while True:
        places = _places(client, query).get(topic, {})
        remaining = sum(
            max(end - places[partition][0], 0) for partition, end in ends.items() if partition in places
        )
        if not remaining:
            return
        now = time.monotonic()
        if now > deadline:
            raise ClientError(f"The query that writes {sink} did not read its topics to the end in time.")
        first = first or (now, remaining)
        done, took_s = first[1] - remaining, now - first[0]
        rest = f", {done / took_s:,.0f}/s, {remaining / done * took_s:,.0f} s" if done and took_s else ""
        console.status(f"waiting for {sink}: {remaining:,} records left{rest}")
        time.sleep(look_s)


@dataclass(frozen=True)
class Running:
    """The catalog of a server: ids of persistent queries; names of streams, tables and sinks."""

    queries: frozenset[str]
    sources: frozenset[str]
    sinks: frozenset[str]

    @classmethod
    def of(cls, client: Client) -> Running:
        """Read the catalog of the server as it is now.

        Raises:
            ClientError: the server does not say.
        """
        streams, tables, sinks = client.run("SHOW STREAMS; SHOW TABLES; SHOW SINKS;")
        return cls(
            frozenset(query["id"] for query in _queries(client)),
            frozenset(source["name"] for source in (*streams["streams"], *tables["tables"])),
            frozenset(sink["name"] for sink in sinks["sinks"]),
        )


class Remaining:
    """Tells how many records the query that maintains a table has left, for a status line.

    Args:
        client: of the server.
        name: the table's.
    """

    def __init__(self, client: Client, name: str) -> None:
        self._client, self._name = client, name
        self._text, self._ask_at_s = "running", 0.0

    def __call__(self) -> str:
        """The text; asks the server now and then."""
        if time.monotonic() >= self._ask_at_s:
            with contextlib.suppress(ClientError):  # the statement reports it
                left = self._left()
                records = f"{left:,} record{'' if left == 1 else 's'} left"
                self._text = f"waiting for {self._name}: {records}" if left else "running"
            self._ask_at_s = time.monotonic() + LOOK_S
        return self._text

    def _left(self) -> int:
        (answer,) = self._client.run(f"DESCRIBE {quoted_name(self._name)} EXTENDED;")
        groups = answer["sourceDescription"]["queryOffsetSummaries"]
        places = [p for group in groups for topic in group["topicSummaries"] for p in topic["offsets"]]
        return sum(max(0, place["logEndOffset"] - place["consumerOffset"]) for place in places)


def finish_batch(client: Client, console: Console, before: Running) -> None:
    """Let all that has come since ``before`` process what is there now, and end it; its results stay.

    Streams and tables of lakes read them once, queries what their topics have then, sinks what these have
    then.

    Raises:
        ClientError: something has failed; nothing is ended.
    """
    now = Running.of(client)
    try:
        for name in sorted(now.sources - before.sources):
            _wait_for_lake(client, console, name)
        wait_for_queries(client, console, before.queries)
        for name in sorted(now.sinks - before.sinks):
            _wait_for_sink(client, console, name)
    finally:
        console.clear_status()
    for name in sorted(now.sinks - before.sinks):
        client.run(f"DROP SINK {quoted_name(name)};")
    for name in sorted(now.queries - before.queries):
        client.run(f"TERMINATE {quoted_name(name)};")


def _queries(client: Server) -> list[_Query]:
    (answer,) = client.run("SHOW QUERIES;")
    return [query for query in answer["queries"] if query["queryType"] == "PERSISTENT"]


def _wait_for_lake(client: Client, console: Console, name: str) -> None:
    while True:
        (answer,) = client.run(f"DESCRIBE {quoted_name(name)};")
        origin = answer["sourceDescription"].get("origin")
        if origin is None or origin["lastRefreshMs"] is not None:
            return
        if origin["state"] == "ERROR":
            raise ClientError(f"{name} cannot be read: {origin['reason']}")
        console.status(f"waiting for {name}: {origin['written']:,} rows were read")
        time.sleep(LOOK_S)


def _wait_for_sink(client: Client, console: Console, name: str) -> None:
    ends: dict[int, int] = {}
    while True:
        (description,) = client.run(f"DESCRIBE SINK {quoted_name(name)};")
        if description["sink"]["state"] == "ERROR":
            raise ClientError(f"The sink {name} has failed: {description['sink']['reason']}")
        places = {place["partition"]: place for place in description["positions"]}
        ends = ends or {partition: place["end"] for partition, place in places.items()}
        if ends and all(places[partition]["offset"] >= end for partition, end in ends.items()):
            return
        console.status(f"waiting for the sink {name}")
        time.sleep(LOOK_S)


def _places(client: Server, query: _Query) -> dict[str, dict[int, tuple[int, int]]]:
    """Return topic -> partition -> how far a query has read it, and its end; upstream topics first.

    Raises:
        ClientError: it has failed.
    """
    (sink,) = query["sinks"]
    (answer,) = client.run(f"DESCRIBE {quoted_name(sink)} EXTENDED;")
    description: Mapping[str, Any] = answer["sourceDescription"]
    name = query["id"]
    state = next((writer["state"] for writer in description["writeQueries"] if writer["id"] == name), None)
    if state == "ERROR":
        raise ClientError(f"The query {name} has failed. EXPLAIN {name}; says why.")
    if state in (None, "PAUSED"):
        return {}
    return {
        topic["kafkaTopic"]: {
            place["partition"]: (place["consumerOffset"], place["logEndOffset"]) for place in topic["offsets"]
        }
        for group in description["queryOffsetSummaries"]
        if group["groupId"] == name
        for topic in group["topicSummaries"]
    }
