"""SHOW and its synonym LIST (reference §2.10)."""

from __future__ import annotations

from grammar.nodes import Arg, Statement


class Show(Statement):
    """SHOW what.

    ``what`` is one of STREAMS, TABLES, TOPICS, QUERIES, PROPERTIES, FUNCTIONS, TYPES, VARIABLES,
    CONNECTORS, CONNECTOR PLUGINS. ``all`` for SHOW ALL TOPICS; ``scope`` is SOURCE or SINK for
    connectors, else None.
    """

    what = Arg[str](required=True)
    extended = Arg[bool](default=False)
    all = Arg[bool](default=False)
    scope = Arg[str | None]()
