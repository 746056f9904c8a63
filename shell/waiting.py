"""``--wait`` and ``--batch``: wait until queries have processed what is there when a script ends.

DESCRIBE EXTENDED says how far the queries that write a stream or table have read, as of their last
checkpoint.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ksql_spark.shell.client import Client, ClientError
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.statements import quoted_name

#: how often to ask
LOOK_S = 0.5


def wait_for_queries(client: Client, console: Console, but: Collection[str] = ()) -> None:
    """Wait until each running query has read all records that its topics have now, upstream queries first.

    What a query has written counts as the input of those after it. Paused queries are left out, and those
    with the ids ``but``.

    Raises:
        ClientError: a query has failed.
    """
    persistent = [query for query in _queries(client) if query.get("id") not in but]
    try:
        for sink in dict.fromkeys(sink for query in persistent for sink in query["sinks"]):
            ends: dict[tuple[Any, ...], int] | None = None
            #: when the first look was, and what was left then
            first: tuple[float, int] | None = None
            while True:
                places = dict(_places(client, sink))
                if ends is None:
                    ends = {place: end for place, (_, end) in places.items()}
                remaining = sum(
                    max(end - places[place][0], 0) for place, end in ends.items() if place in places
                )
                if not remaining:
                    break
                now = time.monotonic()
                first = first or (now, remaining)
                done, took_s = first[1] - remaining, now - first[0]
                rest = (
                    f", {done / took_s:,.0f}/s, {remaining / done * took_s:,.0f} s" if done and took_s else ""
                )
                console.status(f"waiting for {sink}: {remaining:,} records left{rest}")
                time.sleep(LOOK_S)
    finally:
        console.clear_status()


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


def _queries(client: Client) -> list[dict[str, Any]]:
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


def _places(client: Client, sink: str) -> Iterator[tuple[tuple[Any, ...], tuple[int, int]]]:
    """Yield for each partition how far the queries that write ``sink`` have read it, and its end.

    Raises:
        ClientError: one has failed.
    """
    (answer,) = client.run(f"DESCRIBE {quoted_name(sink)} EXTENDED;")
    description: Mapping[str, Any] = answer["sourceDescription"]
    states = {query["id"]: query["state"] for query in description["writeQueries"]}
    failed = next((name for name, state in states.items() if state == "ERROR"), None)
    if failed is not None:
        raise ClientError(f"The query {failed} has failed. EXPLAIN {failed}; says why.")
    for group in description["queryOffsetSummaries"]:
        if states.get(group["groupId"]) in (None, "PAUSED"):  # None: it reads the sink
            continue
        for topic in group["topicSummaries"]:
            for place in topic["offsets"]:
                key = (group["groupId"], topic["kafkaTopic"], place["partition"])
                yield key, (place["consumerOffset"], place["logEndOffset"])
