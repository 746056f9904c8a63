"""``--wait``: waits until queries have processed what is there when a script ends.

DESCRIBE EXTENDED says how far the queries that write a stream or table have read, as of their last
checkpoint.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from ksql_spark.shell.client import Client, ClientError
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.statements import quoted_name

#: how often to ask
LOOK_S = 0.5


def wait_for_queries(client: Client, console: Console) -> None:
    """Wait until each running query has read all records that its topics have now, upstream queries first.

    What a query has written counts as the input of those after it. Paused queries are left out.

    Raises:
        ClientError: a query has failed.
    """
    (answer,) = client.run("SHOW QUERIES;")
    persistent = [query for query in answer["queries"] if query["queryType"] == "PERSISTENT"]
    try:
        for sink in dict.fromkeys(sink for query in persistent for sink in query["sinks"]):
            ends: dict[tuple[Any, ...], int] | None = None
            #: when the first look was, and what was left then
            first: tuple[float, int] | None = None
            while True:
                places = dict(_places(client, sink))
                if ends is None:
                    ends = {place: end for place, (_, end) in places.items()}
                left = sum(max(end - places[place][0], 0) for place, end in ends.items() if place in places)
                if not left:
                    break
                now = time.monotonic()
                first = first or (now, left)
                done, took_s = first[1] - left, now - first[0]
                rest = f", {done / took_s:,.0f}/s, {left / done * took_s:,.0f} s" if done and took_s else ""
                console.status(f"waiting for {sink}: {left:,} records left{rest}")
                time.sleep(LOOK_S)
    finally:
        console.clear_status()


def _places(client: Client, sink: str) -> Iterator[tuple[tuple[Any, ...], tuple[int, int]]]:
    """How far the queries that write ``sink`` have read each partition, and where that ends.

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
