"""CREATE TYPE and DROP TYPE (reference §2.9)."""

from __future__ import annotations

from grammar.nodes import Arg, NamedStatement, TypeNode


class CreateType(NamedStatement):
    """CREATE TYPE [IF NOT EXISTS] name AS type."""

    if_not_exists = Arg[bool](default=False)
    data_type = Arg[TypeNode](required=True)


class DropType(NamedStatement):
    """DROP TYPE [IF EXISTS] name."""

    if_exists = Arg[bool](default=False)
