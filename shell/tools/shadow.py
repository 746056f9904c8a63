"""``ksql-spark import --shadow``: another server's queries also run here, into topics of their own, and
``--compare`` tells what their results differ in.

Both servers read the same topics. Nothing that the other server writes is written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from ksql_spark import grammar
from ksql_spark.grammar import nodes
from ksql_spark.grammar.statements.inserts import InsertSelect
from ksql_spark.grammar.statements.sources import CreateAsSelect
from ksql_spark.shell.client import Client, ClientError, Settings
from ksql_spark.shell.statements import parsed, quoted_name, quoted_text, type_text

#: before the name of a result's topic
PREFIX = "shadow_"
#: the source over the other server's topic, while it is compared
_THERE = "SHADOW_OF_OTHER_SERVER"
#: how many differing rows are shown
_SAMPLES = 3
_BOUNDS = ("WINDOWSTART", "WINDOWEND")
_SCANS = {"ksql.query.pull.table.scan.enabled": True}
#: properties without which its records cannot be read
_FORMATS = ("KEY_DELIMITER", "VALUE_DELIMITER", "WRAP_SINGLE_VALUE")
_COUNT = "SHADOW_COUNT"


def shadowed(text: str, topic: str | None) -> str | None:
    """A CREATE … AS SELECT that writes a topic of its own; None: the statement is another one.

    Args:
        text: the statement.
        topic: the one that the other server writes.
    """
    tree = _tree(text)
    if not isinstance(tree, CreateAsSelect):
        return None
    kept = [p for p in tree.properties if p.name.upper() != "KAFKA_TOPIC"]
    literal = exp.Literal.string(f"{PREFIX}{topic}")
    own = nodes.Property(this=exp.to_identifier("KAFKA_TOPIC", quoted=False), literal=literal)
    tree.set("properties", [*kept, own])
    return grammar.render(tree)


def target_of(text: str) -> str | None:
    """What an INSERT INTO … SELECT writes; None: the statement is another one."""
    tree = _tree(text)
    return tree.this.name if isinstance(tree, InsertSelect) else None


def _tree(text: str) -> grammar.Statement | None:
    return next(iter(parsed(text)), None)


@dataclass(frozen=True)
class Comparison:
    """What the two versions of a stream or table differ in.

    Args:
        kind: STREAM or TABLE.
        name: its name on both servers.
        rows: how many it has there, and here.
        only_there, only_here: how many rows one of them has alone; a table's row that differs is in both.
        samples: some of these rows, each with where it is.
        reason: why it was not compared; "" if it was.
    """

    kind: str
    name: str
    rows: tuple[int, int] = (0, 0)
    only_there: int = 0
    only_here: int = 0
    samples: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    reason: str = ""

    @property
    def is_equal(self) -> bool:
        """Whether both have the same rows."""
        return not (self.reason or self.only_there or self.only_here)


def compare(source: Client, target: Client) -> Iterator[Comparison]:
    """Compare all results that both servers have, each in a topic of its own.

    Raises:
        ClientError: a server does not answer.
    """
    there, here = _results(source), _results(target)
    for name, other in sorted(there.items()):
        mine = here.get(name)
        found = Comparison(other.kind, name)
        if mine is None:
            yield replace(found, reason="it does not exist here")
        elif mine.topic == other.topic:
            yield replace(found, reason=f"both servers use the topic {other.topic}")
        else:
            yield _compared(found, other, target)


@dataclass(frozen=True)
class _Result:
    """A stream or table that a query writes, as a server describes it."""

    kind: str
    described: Mapping[str, Any]
    tree: CreateAsSelect

    @property
    def topic(self) -> str:
        return str(self.described["topic"])

    @property
    def columns(self) -> list[Mapping[str, Any]]:
        return [*self.described["fields"]]

    def declared(self) -> str | None:
        """The statement that declares a source over its topic; None: nobody knows its windows' size."""
        properties = {
            "KAFKA_TOPIC": self.topic,
            "KEY_FORMAT": self.described.get("keyFormat") or "KAFKA",
            "VALUE_FORMAT": self.described.get("valueFormat") or "JSON",
        }
        for given in self.tree.properties:
            if given.name.upper() in _FORMATS:
                properties[given.name.upper()] = given.value
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
        given_texts = (f"{name} = {_value(value)}" for name, value in properties.items())
        return f"CREATE SOURCE {self.kind} {_THERE} ({', '.join(columns)}) WITH ({', '.join(given_texts)});"


def _results(client: Client) -> dict[str, _Result]:
    """By name."""
    found = {}
    for kind in ("STREAM", "TABLE"):
        for entity in client.run(f"LIST {kind}S EXTENDED;"):
            for described in entity.get("sourceDescriptions") or []:
                tree = _tree(str(described.get("statement") or ""))
                if isinstance(tree, CreateAsSelect):
                    found[str(described["name"])] = _Result(kind, described, tree)
    return found


def _compared(found: Comparison, other: _Result, target: Client) -> Comparison:
    declared = other.declared()
    if declared is None:
        return replace(found, reason="the size of its windows is not in its statement")
    compared = [c["name"] for c in other.columns if "MAP<" not in type_text(c["schema"])]
    if windows := other.described.get("windowType"):
        # the ends of other windows follow from their starts
        compared += _BOUNDS if windows in ("SESSION", "CUMULATIVE") else _BOUNDS[:1]

    def rows(text: str) -> list[list[Any]]:
        return [*target.rows(text, Settings(_SCANS))]

    try:
        target.run(f"DROP {found.kind} IF EXISTS {_THERE};")  # of a comparison that was killed
        target.run(declared)
        try:
            counts = tuple(rows(f"SELECT COUNT(*) FROM {name};")[0][0] for name in (_THERE, _q(found.name)))
            differing = _differing(found.name, compared)
            sums = (f"SUM(CASE WHEN {_COUNT} {sign} 0 THEN ABS({_COUNT}) ELSE 0 END)" for sign in "<>")
            (only,) = rows(f"SELECT {', '.join(sums)} FROM ({differing});")
            samples = rows(f"{differing} LIMIT {_SAMPLES};") if any(only) else []
        finally:
            target.run(f"DROP {found.kind} {_THERE};")
    except ClientError as error:
        return replace(found, reason=" ".join(str(error).split()))
    return replace(
        found,
        rows=(int(counts[0]), int(counts[1])),
        only_there=int(only[0] or 0),
        only_here=int(only[1] or 0),
        samples=tuple(
            ("here" if row[-1] > 0 else "there", dict(zip(compared, row, strict=False))) for row in samples
        ),
    )


def _differing(name: str, columns: Sequence[str]) -> str:
    """The rows that one side has more often than the other, and how much more often this one has them."""
    names = ", ".join(map(_q, columns))
    sides = " UNION ALL ".join(
        f"SELECT {names}, {one} AS {_COUNT} FROM {source}" for source, one in ((_q(name), 1), (_THERE, -1))
    )
    return (
        f"SELECT {names}, SUM({_COUNT}) AS {_COUNT} FROM ({sides}) GROUP BY {names} HAVING SUM({_COUNT}) <> 0"
    )


def _q(name: str) -> str:
    return name if name in _BOUNDS else quoted_name(name)


def _value(value: Any) -> str:
    return str(value).upper() if isinstance(value, bool) else quoted_text(str(value))


__all__ = ["PREFIX", "Comparison", "compare", "shadowed", "target_of"]
