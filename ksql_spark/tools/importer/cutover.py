"""``ksql-spark import --cut-over``: the results of a shadow take the places of those of the other server.

For each result the other server's queries are paused, our query goes on in their topic, and theirs are
terminated. A table's topic gets what differs, so it converges. A stream without state begins at the other
server's positions, so each record is answered once. What cannot be exact is refused. Each step leaves what
the next run needs to go on: the other server's queries stay, paused, until ours have taken over.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from ksql_spark import grammar
from ksql_spark.grammar.statements.inserts import InsertSelect
from ksql_spark.grammar.statements.sources import CreateAsSelect
from ksql_spark.grammar.with_clause import remove_way, set_properties
from ksql_spark.shell.client import Client, ServerError, Settings
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.statements import parsed, quoted_name, quoted_text
from ksql_spark.tools.importer import shadow
from ksql_spark.tools.importer.items import Item, read
from ksql_spark.tools.importer.shadow import Place, Places, Result

#: how often to look whether something has happened
_LOOK_S = 0.5
#: a paused query of ksqlDB commits what it has done within this interval: its name, and ksqlDB's default
_COMMIT_INTERVAL, _COMMIT_INTERVAL_MS = "commit.interval.ms", 2000
#: a name for statements that are only explained, or gone at once
_PROBE = "SHADOW_OF_OTHER_SERVER"


class Refused(Exception):
    """Raised with the reason why a result is not taken over."""


def cut_over(
    source: Client,
    target: Client,
    there: Sequence[Item],
    here: Sequence[Item],
    *,
    force: bool,
    console: Console,
) -> list[str]:
    """Take over all results that are in the shadow; returns the names of the others.

    Args:
        source: the other server.
        target: ours.
        there: what the other server has.
        here: what ours has.
        force: take over results that differ, too.
        console: gets a line for each step.

    Raises:
        ClientError: a server does not answer. Running it again goes on.
    """
    failed = []
    mine = shadow.results(target)
    for name, other in sorted(shadow.results(source).items()):
        one = _CutOver(source, target, console, other, mine.get(name), there, here, force)
        try:
            one.run()
        except (Refused, ServerError) as problem:
            failed.append(name)
            console.line(f"{'refused':<8} {one.what}: {' '.join(str(problem).split())}")
    return failed


@dataclass(frozen=True)
class _CutOver:
    """The cut-over of one result.

    Args:
        other: the result on the other server.
        mine: the one here, or None.
    """

    source: Client
    target: Client
    console: Console
    other: Result
    mine: Result | None
    there: Sequence[Item]
    here: Sequence[Item]
    force: bool

    @property
    def name(self) -> str:
        return str(self.other.described["name"])

    @property
    def what(self) -> str:
        return f"{self.other.kind} {self.name}"

    def run(self) -> None:
        """Take it over, or go on where an earlier run has ended.

        Raises:
            Refused: it is not taken over. The other server's queries run as before, or stay paused if ours
                have begun to take over.
            ServerError: a server refused a statement.
        """
        writers = self._writers()
        is_paused = bool(writers) and all(map(_is_paused, writers))
        if self.mine is not None and self.mine.topic == self.other.topic:
            if writers and not is_paused:
                ids = ", ".join(str(query["id"]) for query in writers)
                raise Refused(
                    f"both servers write topic {self.other.topic}: TERMINATE {ids}; on one of them."
                )
            self._finish(writers)
            return
        if not writers:
            raise Refused("no query writes it on the other server, so where it ended is not known.")
        is_begun = self.mine is None and self.other.kind == "STREAM" and is_paused
        if self.mine is None and not is_begun:
            raise Refused("it does not exist here. ksql-spark import --shadow creates it.")
        self._check_sources()
        if self.mine is not None:
            self._check_readers()
            self._check_rows()
        if self.other.kind == "STREAM":
            self._check_stateless(writers)
        self._pause(writers)
        try:
            self._take()
        except (Refused, ServerError):
            if not is_begun:
                self._report("resumed", (self._run_on_source("RESUME", query) for query in writers))
            raise
        self._finish(writers)

    # ---- checks --------------------------------------------------------------------------------------

    def _check_sources(self) -> None:
        """Refuse what reads other topics here: positions there mean nothing in them."""
        topics = {item.name: item.topic for item in self.here}
        for item in self._items():
            for need in sorted(item.needs - {self.name}):
                there = next((each.topic for each in self.there if each.name == need), None)
                if topics.get(need) != there:
                    raise Refused(
                        f"it reads {need}, whose topic here is {topics.get(need)}: cut that over first."
                    )

    def _check_readers(self) -> None:
        assert self.mine is not None
        readers = [str(query["id"]) for query in self.mine.described.get("readQueries") or ()]
        if readers:
            raise Refused(
                f"{', '.join(readers)} read it here, in topic {self.mine.topic}. DROP what they write, with "
                "DELETE TOPIC, cut this over, and import --shadow again."
            )

    def _check_rows(self) -> None:
        comparison = shadow.compared(self.source, self.target, self.other)
        if comparison.state in ("differs", "unknown") and not self.force:
            raise Refused(f"{comparison.state}: {comparison}. --force takes it over as it is.")

    def _check_stateless(self, writers: Sequence[Mapping[str, Any]]) -> None:
        """Refuse queries whose results at the other server's positions depend on what was before them."""
        for item, query_id in self._matched(writers):
            tree = _tree(item)
            set_properties(tree, START=self._start(query_id))
            if isinstance(tree, CreateAsSelect):
                tree.set("this", exp.to_identifier(_PROBE))
                set_properties(tree, KAFKA_TOPIC=_PROBE)
            elif self.mine is None:
                continue  # its stream is yet to be created
            try:
                self.target.run(f"EXPLAIN {grammar.render(tree)};", Settings(dict(item.properties)))
            except ServerError as error:
                raise Refused(f"{query_id} cannot be taken over exactly: {error.message}") from None

    # ---- steps ---------------------------------------------------------------------------------------

    def _pause(self, writers: Sequence[Mapping[str, Any]]) -> None:
        """Stop the other server's queries, and wait until their positions are final."""
        for query in writers:
            if not _is_paused(query):
                self._report("paused", [self._run_on_source("PAUSE", query)])
        settle_s = self._settle_s()
        since, before = time.monotonic(), None
        while True:
            now = shadow.places(shadow.describe(self.source, self.name))
            done = {query: _next(topics) for query, topics in now.items()}
            if done != before or not all(map(_is_paused, self._writers())):
                since, before = time.monotonic(), done
            elif time.monotonic() - since >= settle_s:
                break
            self.console.status(f"{self.what}: waiting until the other server has committed its positions")
            time.sleep(_LOOK_S)
        self.console.clear_status()

    def _settle_s(self) -> float:
        """Return how long positions of a paused query must stay the same to be final, seconds."""
        if "ksql-spark" in str(self.source.info().get("version")):
            return 0.0  # PAUSE ends the batch
        properties = (each for answer in self.source.run("SHOW PROPERTIES;") for each in answer["properties"])
        intervals = (each["value"] for each in properties if str(each["name"]).endswith(_COMMIT_INTERVAL))
        return 2 * float(next(intervals, None) or _COMMIT_INTERVAL_MS) / 1000

    def _take(self) -> None:
        if self.other.kind == "TABLE":
            self._wait_until_caught_up()
            (item,) = self._items()
            tree = _tree(item)
            tree.set("or_replace", True)
            set_properties(tree, KAFKA_TOPIC=self.other.topic, EVOLVE="in-place")
            self._run_here(f"{grammar.render(tree)};", item)
            return
        writers = self._matched(self._writers())
        (created,) = ((item, query_id) for item, query_id in writers if item.kind == "STREAM")
        text = f"{self._statement(*created)};"
        if self.mine is not None:
            ids = [str(query["id"]) for query in self.mine.described["writeQueries"]]
            ends = "".join(f"TERMINATE {quoted_name(query_id)};" for query_id in ids)
            # in one request, so that nothing is dropped if the new one is refused
            text = f"{ends} DROP STREAM {quoted_name(self.name)} DELETE TOPIC; {text}"
        self._run_here(text, created[0])

    def _run_here(self, text: str, item: Item) -> None:
        """Run statements here, and wait until they have been carried out: the result has its topic.

        Raises:
            Refused, ServerError: they have failed.
        """
        answer = self.target.run(text, Settings(dict(item.properties)))
        statuses = [each.get("commandStatus") or {} for each in answer]
        failures = [str(status.get("message")) for status in statuses if status.get("status") == "ERROR"]
        while True:
            result = shadow.results(self.target).get(self.name)
            if result is not None and result.topic == self.other.topic:
                self.console.clear_status()
                return
            if failures:
                raise Refused(failures[-1])
            self.console.status(f"{self.what}: waiting until the server has carried out the statement")
            time.sleep(_LOOK_S)

    def _wait_until_caught_up(self) -> None:
        """Wait until our query has read what the other server's has, so that no row steps back."""
        (reached,) = shadow.places(shadow.describe(self.source, self.name)).values()
        while True:
            described = shadow.describe(self.target, self.name)
            states = [str(query.get("state")) for query in described["writeQueries"]]
            if states != ["RUNNING"]:
                raise Refused(f"its query here is in state {', '.join(states) or 'TERMINATED'}.")
            (mine,) = shadow.places(described).values()
            records_behind = sum(
                max(0, there.next - mine[topic][partition].next)
                for topic, partitions in reached.items()
                for partition, there in partitions.items()
                if topic in mine and partition in mine[topic]
            )
            if not records_behind:
                self.console.clear_status()
                return
            self.console.status(f"{self.what}: {records_behind:,} records behind the other server")
            time.sleep(_LOOK_S)

    def _finish(self, writers: Sequence[Mapping[str, Any]]) -> None:
        """End the other server's queries, once ours write the topic."""
        if self.other.kind == "TABLE":
            self._wait_until_moved()
        identities = {item.identity for item in self._fresh() if item.kind == "QUERY"}
        for item, query_id in self._matched(writers):
            if item.kind == "QUERY" and item.identity not in identities:
                self.target.run(f"{self._statement(item, query_id)};", Settings(dict(item.properties)))
        described = shadow.describe(self.target, self.name)
        ids = ", ".join(str(query["id"]) for query in described["writeQueries"])
        if writers:
            self._clean_up()
        self._report("taken", [f"{ids} writes topic {self.other.topic}"])
        self._report("ended", (self._run_on_source("TERMINATE", query) for query in writers))

    def _wait_until_moved(self) -> None:
        while True:
            try:
                (evolution,) = self.target.run(f"DESCRIBE EVOLUTION {quoted_name(self.name)};")
            except ServerError:  # it was there from the beginning
                return
            if evolution["state"] == "failed":
                raise Refused(
                    f"{evolution['queryId']} has not taken over yet: {evolution['reason']}. Run it again."
                )
            if evolution["state"] != "swapping":
                self.console.clear_status()
                return
            self.console.status(f"{self.what}: writing what differs to topic {self.other.topic}")
            time.sleep(_LOOK_S)

    def _clean_up(self) -> None:
        """Delete the topic that the shadow wrote."""
        topic = f"{shadow.PREFIX}{self.other.topic}"
        listed = (each["name"] for answer in self.target.run("LIST TOPICS;") for each in answer["topics"])
        if topic in listed:
            declared = f"(a STRING) WITH (KAFKA_TOPIC = {quoted_text(topic)}, VALUE_FORMAT = 'KAFKA')"
            self.target.run(f"CREATE STREAM {_PROBE} {declared}; DROP STREAM {_PROBE} DELETE TOPIC;")

    # ---- statements ----------------------------------------------------------------------------------

    def _statement(self, item: Item, query_id: str) -> str:
        tree = _tree(item)
        if isinstance(tree, CreateAsSelect):
            set_properties(tree, KAFKA_TOPIC=self.other.topic)
        set_properties(tree, START=self._start(query_id))
        return grammar.render(tree)

    def _start(self, query_id: str) -> str:
        """Return the position of a query of the other server, as text for START.

        Raises:
            Refused: it is not known.
        """
        topics = shadow.places(shadow.describe(self.source, self.name)).get(query_id) or {}
        if not topics:
            raise Refused(f"the other server tells no positions of {query_id}.")
        offsets_by_topic = _next(topics)
        for topic, partition, place in self._partitions_read():
            if (
                topic in offsets_by_topic and partition not in offsets_by_topic[topic]
            ):  # a group has no position where it read nothing
                if place.first < place.end:
                    raise Refused(f"{query_id} has no position in partition {partition} of topic {topic}.")
                offsets_by_topic[topic][partition] = place.end
        return "; ".join(
            f"{topic} {','.join(f'{n}:{offset}' for n, offset in sorted(offsets.items()))}"
            for topic, offsets in offsets_by_topic.items()
        )

    def _partitions_read(self) -> Iterator[tuple[str, int, Place]]:
        """The partitions that are read here."""
        if self.mine is None:
            return
        for topics in shadow.places(shadow.describe(self.target, self.name)).values():
            for topic, partitions in topics.items():
                yield from ((topic, n, place) for n, place in partitions.items())

    def _items(self) -> list[Item]:
        """The statements of the other server that write it. The statement that creates it comes first."""
        own = [item for item in self.there if item.name == self.name and item.kind == self.other.kind]
        return own + [item for item in self.there if shadow.target_of(item.text) == self.name]

    def _fresh(self) -> Sequence[Item]:
        return read(self.target)

    def _matched(self, writers: Sequence[Mapping[str, Any]]) -> list[tuple[Item, str]]:
        """Each statement with the id of its query there."""
        inserts = {item.name: item for item in self._items() if item.kind == "QUERY"}
        (own,) = (item for item in self._items() if item.kind != "QUERY")
        return [(inserts.get(str(query["id"]), own), str(query["id"])) for query in writers]

    def _writers(self) -> list[Mapping[str, Any]]:
        """The queries that write it on the other server."""
        answer = self.source.run("SHOW QUERIES EXTENDED;")
        queries = (query for each in answer for query in each.get("queryDescriptions") or ())
        return [query for query in queries if self.name in (query.get("sinks") or ())]

    def _run_on_source(self, verb: str, query: Mapping[str, Any]) -> str:
        """Have a query of the other server paused, resumed or terminated; return the line to report.

        If that server refuses it, the user is asked to do it, and PAUSE is waited for.
        """
        query_id = str(query["id"])
        statement = f"{verb} {quoted_name(query_id)};"
        try:
            self.source.run(statement)
        except ServerError as error:
            reason = " ".join(error.message.split())
            self._report("asked", [f"run {statement} on the other server, which refuses it: {reason}"])
            while verb != "RESUME" and not self._is_over(verb, query_id):
                self.console.status(f"{self.what}: waiting for {statement}")
                time.sleep(_LOOK_S)
        return f"{query_id} on the other server"

    def _is_over(self, verb: str, query_id: str) -> bool:
        query = next((each for each in self._writers() if each["id"] == query_id), None)
        return query is None or (verb == "PAUSE" and _is_paused(query))

    def _report(self, state: str, texts: Iterable[str]) -> None:
        for text in texts:
            self.console.line(f"{state:<8} {self.what}: {text}")


def _tree(item: Item) -> CreateAsSelect | InsertSelect:
    tree = next(iter(parsed(item.text)))
    assert isinstance(tree, CreateAsSelect | InsertSelect)
    remove_way(tree)
    return tree


def _is_paused(query: Mapping[str, Any]) -> bool:
    """Whether a query of SHOW QUERIES EXTENDED is paused, on all servers."""
    states = {str(state) for state in (query.get("ksqlHostQueryStatus") or {}).values()}
    return (states or {str(query.get("state"))}) == {"PAUSED"}


def _next(topics: Places) -> dict[str, dict[int, int]]:
    return {topic: {n: place.next for n, place in places.items()} for topic, places in topics.items()}


__all__ = ["cut_over"]
