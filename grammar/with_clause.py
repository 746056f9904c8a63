"""Changes the WITH clause of a statement."""

from __future__ import annotations

from sqlglot import exp

from ksql_spark.grammar.nodes import Property, Statement

#: properties that say how a version came and where it began, and nothing of what it is
_WAY = ("EVOLVE", "START", "SWAP", "VERIFY")


def set_properties(tree: Statement, **values: str | None) -> None:
    """Set properties of WITH; None: remove one."""
    others = [p for p in tree.args["properties"] if p.name.upper() not in values]
    added = [
        Property(this=exp.to_identifier(name, quoted=False), literal=exp.Literal.string(value))
        for name, value in values.items()
        if value is not None
    ]
    tree.set("properties", [*others, *added])


def remove_way(tree: Statement) -> None:
    """Remove the properties about how a version came, which do not define it."""
    # of a table, HISTORY says how long its past is kept
    history = ("HISTORY",) if tree.args.get("kind") == "STREAM" else ()
    set_properties(tree, **dict.fromkeys((*_WAY, *history)))


__all__ = ["remove_way", "set_properties"]
