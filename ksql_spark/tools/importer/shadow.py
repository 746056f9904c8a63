"""``ksql-spark import --shadow``: another server's queries also run here, into their own topics, and
``--compare`` tells what their results differ in.

Both servers read the same topics. Nothing that the other server writes is written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ksql_spark import grammar
from ksql_spark.client.values import type_text
from ksql_spark.grammar import nodes
from ksql_spark.grammar.statements.inserts import InsertSelect
from ksql_spark.grammar.statements.sources import CreateAsSelect
from ksql_spark.grammar.with_clause import set_properties
from ksql_spark.shell.client import Client, ClientError
from ksql_spark.shell.statements import parsed, quoted_name, quoted_text
from ksql_spark.tools.comparing import BOUNDS, Comparison, comparable, compared_rows, not_compared

#: before the name of a result's topic
PREFIX = "shadow_"
#: the source over the other server's topic, while it is compared
_THERE = "SHADOW_OF_OTHER_SERVER"
#: properties without which its records cannot be read
_FORMATS = ("KEY_DELIMITER", "VALUE_DELIMITER", "WRAP_SINGLE_VALUE")


def shadowed(text: str, topic: str | None) -> str | None:
    """A CREATE … AS SELECT that writes its own topic, or None if the statement is another.

    Args:
        text: the statement.
        topic: the one that the other server writes.
    """
    tree = _tree(text)
    if not isinstance(tree, CreateAsSelect):
        return None
    set_properties(tree, KAFKA_TOPIC=f"{PREFIX}{topic}")
    return grammar.render(tree)


def target_of(text: str) -> str | None:
    """Return the name that an INSERT INTO … SELECT writes; None for other statements."""
    tree = _tree(text)
    return tree.this.name if isinstance(tree, InsertSelect) else None


def _tree(text: str) -> grammar.Statement | None:
    return next(iter(parsed(text)), None)


def compare(source: Client, target: Client) -> Iterator[Comparison]:
    """Compare all results that both servers have, each in its own topic.

    Raises:
        ClientError: a server does not answer.
    """
    there, here = results(source), results(target)
    for name, other in sorted(there.items()):
        mine = here.get(name)
        if mine is None:
            yield Comparison(other.what, "it does not exist here")
        elif mine.topic == other.topic:
            yield Comparison(other.what, f"both servers use the topic {other.topic}")
        else:
            yield compared(source, target, other)


@dataclass(frozen=True)
class Place:
    """The position of a query in a partition: the next offset that it reads, and the partition's bounds."""

    next: int
    first: int
    end: int


#: topic -> partition -> where a query is
Places = Mapping[str, Mapping[int, Place]]


def places(described: Mapping[str, Any]) -> dict[str, Places]:
    """Return the positions of the queries that write a stream or table, by query id.

    Args:
        described: it, as DESCRIBE EXTENDED describes it. Groups of consumers are called by the query's id
            here, and in ksqlDB by its application's, which ends with the query's.
    """
    return {
        str(query["id"]): {
            str(topic["kafkaTopic"]): {
                int(p["partition"]): Place(
                    int(p["consumerOffset"]), int(p["logStartOffset"]), int(p["logEndOffset"])
                )
                for p in topic["offsets"]
            }
            for summary in described.get("queryOffsetSummaries") or []
            if summary["groupId"] == query["id"] or summary["groupId"].endswith(f"query_{query['id']}")
            for topic in summary["topicSummaries"]
        }
        for query in described.get("writeQueries") or []
    }


def describe(client: Client, name: str) -> dict[str, Any]:
    """Return the answer to DESCRIBE EXTENDED. Raises ClientError."""
    (answer,) = client.run(f"DESCRIBE {quoted_name(name)} EXTENDED;")
    described: dict[str, Any] = answer["sourceDescription"]
    return described


def _has_more_to_read(client: Client, name: str) -> bool:
    return any(
        place.next < place.end
        for topics in places(describe(client, name)).values()
        for partitions in topics.values()
        for place in partitions.values()
    )


@dataclass(frozen=True)
class Result:
    """A stream or table that a query writes, as a server describes it."""

    kind: str
    described: Mapping[str, Any]
    tree: CreateAsSelect

    @property
    def name(self) -> str:
        """The name of the stream or table."""
        return str(self.described["name"])

    @property
    def what(self) -> str:
        """The kind and name of the stream or table."""
        return f"{self.kind} {self.name}"

    @property
    def topic(self) -> str:
        """The topic of the stream or table."""
        return str(self.described["topic"])

    @property
    def columns(self) -> list[Mapping[str, Any]]:
        """The columns of the stream or table, as DESCRIBE has them."""
        return [*self.described["fields"]]

    def declared(self) -> str | None:
        """The statement that declares a source over its topic, or None if its windows' size is unknown."""
        properties = {
            "KAFKA_TOPIC": self.topic,
            "KEY_FORMAT": self.described.get("keyFormat") or "KAFKA",
            "VALUE_FORMAT": self.described.get("valueFormat") or "JSON",
        }
        for property_ in self.tree.properties:
            if property_.name.upper() in _FORMATS:
                properties[property_.name.upper()] = property_.value
        if windows := self.described.get("windowType"):
            properties["WINDOW_TYPE"] = windows
            select = self.tree.find(nodes.Select)
            window = select.window if select is not None else None
            if windows != "SESSION":
                if window is None:
                    return None
                properties["WINDOW_SIZE"] = f"{window.size.amount} {window.size.unit}"
        key = "PRIMARY KEY" if self.kind == "TABLE" else "KEY"
        columns = (
            f"{quoted_name(c['name'])} {type_text(c['schema'])}{f' {key}' if c.get('type') == 'KEY' else ''}"
            for c in self.columns
        )
        settings = (f"{name} = {_value(value)}" for name, value in properties.items())
        return f"CREATE SOURCE {self.kind} {_THERE} ({', '.join(columns)}) WITH ({', '.join(settings)});"


def results(client: Client) -> dict[str, Result]:
    """Return the streams and tables that a server's queries write, by name. Raises ClientError."""
    by_name = {}
    for kind in ("STREAM", "TABLE"):
        for entity in client.run(f"LIST {kind}S EXTENDED;"):
            for described in entity.get("sourceDescriptions") or []:
                tree = _tree(str(described.get("statement") or ""))
                if isinstance(tree, CreateAsSelect):
                    by_name[str(described["name"])] = Result(kind, described, tree)
    return by_name


def compared(source: Client, target: Client, other: Result) -> Comparison:
    """Compare a result of the other server with the one here.

    Raises:
        ClientError: a server does not answer.
    """
    declared = other.declared()
    if declared is None:
        return Comparison(other.what, "the size of its windows is not in its statement")
    columns = [*comparable(other.columns)]
    if windows := other.described.get("windowType"):
        # the ends of other windows follow from their starts
        columns += BOUNDS if windows in ("SESSION", "CUMULATIVE") else BOUNDS[:1]
    try:
        target.run(f"DROP {other.kind} IF EXISTS {_THERE};")  # of a comparison that was killed
        target.run(declared)
        try:
            comparison = compared_rows(target, other.what, other.name, _THERE, columns)
        finally:
            target.run(f"DROP {other.kind} {_THERE};")
        is_behind = not comparison.is_equal and any(
            _has_more_to_read(client, other.name) for client in (target, source)
        )
    except ClientError as error:
        return not_compared(other.what, error)
    return replace(comparison, is_behind=is_behind)


def _value(value: Any) -> str:
    return str(value).upper() if isinstance(value, bool) else quoted_text(str(value))


__all__ = [
    "PREFIX", "Place", "Places", "Result", "compare", "compared", "describe", "places",
    "results", "shadowed", "target_of",
]  # fmt: skip
