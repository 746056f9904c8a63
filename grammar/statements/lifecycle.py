"""TERMINATE, PAUSE and RESUME of queries (reference §2.9)."""

from __future__ import annotations

from sqlglot import exp

from grammar.nodes import Arg, Statement


class QueryControl(Statement):
    """What TERMINATE, PAUSE and RESUME share: one query id, or ALL."""

    this = Arg[exp.Identifier | None]()

    @property
    def query_id(self) -> str | None:
        """The query's id (folded unless quoted), or None for ALL."""
        identifier = self.args.get("this")
        return None if identifier is None else str(identifier.this)


class Terminate(QueryControl):
    """TERMINATE id | ALL."""


class Pause(QueryControl):
    """PAUSE id | ALL."""


class Resume(QueryControl):
    """RESUME id | ALL."""
