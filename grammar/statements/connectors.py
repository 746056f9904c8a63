"""CREATE and DROP CONNECTOR (reference §2.13)."""

from __future__ import annotations

from grammar.nodes import Arg, NamedStatement, Property


class CreateConnector(NamedStatement):
    """CREATE SOURCE|SINK CONNECTOR [IF NOT EXISTS] name WITH (properties); ``kind`` SOURCE or SINK."""

    kind = Arg[str](required=True)
    if_not_exists = Arg[bool](default=False)
    properties = Arg[list[Property]](required=True)


class DropConnector(NamedStatement):
    """DROP CONNECTOR [IF EXISTS] name."""

    if_exists = Arg[bool](default=False)
