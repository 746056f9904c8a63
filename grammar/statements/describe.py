"""DESCRIBE and EXPLAIN (reference §2.11)."""

from __future__ import annotations

from sqlglot import exp

from grammar.nodes import Arg, NamedStatement, Statement


class DescribeSource(NamedStatement):
    """DESCRIBE name [EXTENDED]."""

    extended = Arg[bool](default=False)


class DescribeSources(Statement):
    """DESCRIBE STREAMS|TABLES [EXTENDED]; ``what`` is STREAMS or TABLES."""

    what = Arg[str](required=True)
    extended = Arg[bool](default=False)


class DescribeFunction(NamedStatement):
    """DESCRIBE FUNCTION name."""


class DescribeConnector(NamedStatement):
    """DESCRIBE CONNECTOR name."""


class Explain(Statement):
    """EXPLAIN queryId | statement: exactly one of the two is set."""

    this = Arg[exp.Identifier | None]()
    statement = Arg["Statement | None"]()

    @property
    def query_id(self) -> str | None:
        """The query's id, if one was given."""
        identifier = self.args.get("this")
        return None if identifier is None else str(identifier.this)
