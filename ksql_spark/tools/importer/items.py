"""What a server has: types, streams, tables and queries, with the statements that create them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ksql_spark import grammar
from ksql_spark.client.values import type_text
from ksql_spark.grammar.nodes import AliasedSource
from ksql_spark.grammar.statements.inserts import InsertSelect
from ksql_spark.grammar.statements.sources import CreateAsSelect, CreateSource
from ksql_spark.shell.client import Client
from ksql_spark.shell.statements import parsed, quoted_name

#: properties that ksqlDB stores with a statement but accepts from nobody
_STORED_ONLY = ("CLEANUP_POLICY",)
#: objects that each server creates for itself
_OWN = ("KSQL_PROCESSING_LOG",)
_MASKED = re.compile(r"^(\[hidden\]|\*+)$")


@dataclass(frozen=True)
class Item:
    """A stream, table, query or type that the import must create.

    Attributes:
        kind: TYPE, STREAM, TABLE or QUERY.
        name: its name, or a query's id on the other server.
        text: the statement that creates it here.
        identity: what makes two items the same: the fields of a source, the text of a query.
        needs: names of streams and tables that must exist first.
        properties: the other server's settings for it.
        topic: of a source.
        makes_topic: whether its statement creates a missing topic.
    """

    kind: str
    name: str
    text: str
    identity: Any
    needs: frozenset[str] = frozenset()
    properties: Mapping[str, Any] = field(default_factory=dict)
    topic: str | None = None
    makes_topic: bool = False


def read(client: Client) -> list[Item]:
    """Everything on a server. Raises ClientError."""
    items = [
        Item("TYPE", name, f"CREATE TYPE {quoted_name(name)} AS {type_text(schema)}", schema)
        for name, schema in answer(client, "LIST TYPES;", "types", {}).items()
    ]
    queries = answer(client, "SHOW QUERIES EXTENDED;", "queryDescriptions", [])
    writers = {sink: query for query in queries for sink in query.get("sinks") or []}
    for kind in ("STREAM", "TABLE"):
        for described in answer(client, f"LIST {kind}S EXTENDED;", "sourceDescriptions", []):
            if described["name"] not in _OWN:
                items.append(_source(kind, described, writers.get(described["name"], {})))
    for query in queries:
        text = str(query.get("statementText") or "")
        is_insert = [piece.verb for piece in grammar.split(text)] == ["INSERT"]
        if query.get("queryType", "PERSISTENT") == "PERSISTENT" and is_insert:
            items.append(_insert(query, text))
    makers = {item.topic: item.name for item in items if item.makes_topic}
    return [
        replace(item, needs=item.needs | {makers[item.topic]})
        if item.topic in makers and not item.makes_topic
        else item
        for item in items
    ]


def answer(client: Client, statement: str, member: str, default: Any) -> Any:
    """The member of a statement's answer; ``default`` if it has none. Raises ClientError."""
    return next((entity[member] for entity in client.run(statement) if entity.get(member)), default)


def _source(kind: str, described: Mapping[str, Any], writer: Mapping[str, Any]) -> Item:
    made_by = str(described.get("statement") or "")
    trees = parsed(made_by)
    tree = next(iter(trees), None)
    name, fields = str(described["name"]), described.get("fields") or []
    identity = [kind, [[one.get("name"), one.get("schema"), one.get("type")] for one in fields]]
    if not isinstance(tree, CreateAsSelect | CreateSource):
        return Item(kind, name, made_by.rstrip().removesuffix(";"), identity)
    tree.set("or_replace", False)
    tree.set("if_not_exists", False)
    remaining = [p for p in tree.args.get("properties") or [] if p.name.upper() not in _STORED_ONLY]
    tree.set("properties", remaining)
    properties = writer.get("overriddenProperties") or {} if isinstance(tree, CreateAsSelect) else {}
    return Item(
        kind,
        name,
        ";\n".join(map(grammar.render, trees)),  # ALTER adds columns
        identity,
        frozenset(_read_by(tree)),
        _usable(properties),
        str(described.get("topic")),
        isinstance(tree, CreateAsSelect) or any(p.name.upper() == "PARTITIONS" for p in remaining),
    )


def _insert(query: Mapping[str, Any], text: str) -> Item:
    tree = next(iter(parsed(text)), None)
    if not isinstance(tree, InsertSelect):
        return Item("QUERY", str(query["id"]), text, text)
    tree.set("properties", [])
    rendered = grammar.render(tree)
    needs = frozenset({tree.this.name, *_read_by(tree)})
    properties = _usable(query.get("overriddenProperties") or {})
    return Item("QUERY", str(query["id"]), rendered, rendered, needs, properties)


def _read_by(tree: grammar.Statement) -> Iterator[str]:
    """The names of the sources that a query reads."""
    return (source.name for source in tree.find_all(AliasedSource))


def _usable(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Unmasked properties, under the names that SET accepts."""
    shown = {name: value for name, value in properties.items() if not _MASKED.match(str(value))}
    return {name.removeprefix("ksql.streams."): value for name, value in shown.items()}


def in_order(items: Sequence[Item]) -> list[Item]:
    """The items, each after the items that it needs; else by kind, number of the query and name."""
    sources = {item.name for item in items if item.kind in ("STREAM", "TABLE")}
    ranks = {"TYPE": 0, "STREAM": 1, "TABLE": 1, "QUERY": 2}
    pending = sorted(items, key=lambda item: (ranks[item.kind], _number(item), item.name))
    ordered: list[Item] = []
    done: set[str] = set()
    while pending:
        # a source that needs a missing one, or itself, comes last and fails with a reason
        ready = next((i for i in pending if not ((i.needs & sources) - done - {i.name})), pending[0])
        pending.remove(ready)
        ordered.append(ready)
        if ready.kind in ("STREAM", "TABLE"):
            done.add(ready.name)
    return ordered


def _number(item: Item) -> int:
    match = re.search(r"_(\d+)$", item.name) if item.kind == "QUERY" else None
    return int(match[1]) if match else 0
