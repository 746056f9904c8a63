"""INSERT INTO … VALUES and INSERT INTO … SELECT (reference §2.2, §2.4)."""

from __future__ import annotations

from sqlglot import exp

from grammar.nodes import Arg, NamedStatement, Property, QueryNode


class InsertValues(NamedStatement):
    """INSERT INTO name [(columns)] VALUES (values); no column list reads as an empty list."""

    columns = Arg[list[exp.Identifier]](default=list)
    values = Arg[list[exp.Expr]](default=list)


class InsertSelect(NamedStatement):
    """INSERT INTO name [WITH (properties)] query."""

    properties = Arg[list[Property]](default=list)
    query = Arg[QueryNode](required=True)
