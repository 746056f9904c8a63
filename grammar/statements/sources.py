"""CREATE, ALTER and DROP of streams and tables (reference §2.1 to §2.3, §2.9)."""

from __future__ import annotations

from grammar.nodes import Arg, ColumnDefinition, NamedStatement, Property, QueryNode


class CreateSource(NamedStatement):
    """CREATE [OR REPLACE] [SOURCE] STREAM|TABLE name [(columns)] [WITH (properties)].

    ``kind`` is STREAM or TABLE; ``source``: the SOURCE keyword was there.
    """

    kind = Arg[str](required=True)
    or_replace = Arg[bool](default=False)
    source = Arg[bool](default=False)
    if_not_exists = Arg[bool](default=False)
    columns = Arg[list[ColumnDefinition]](default=list)
    properties = Arg[list[Property]](default=list)


class CreateAsSelect(NamedStatement):
    """CREATE [OR REPLACE] STREAM|TABLE [IF NOT EXISTS] name [WITH (properties)] AS query."""

    kind = Arg[str](required=True)
    or_replace = Arg[bool](default=False)
    if_not_exists = Arg[bool](default=False)
    properties = Arg[list[Property]](default=list)
    query = Arg[QueryNode](required=True)


class AlterSource(NamedStatement):
    """ALTER STREAM|TABLE name ADD [COLUMN] column type, …."""

    kind = Arg[str](required=True)
    columns = Arg[list[ColumnDefinition]](required=True)


class DropSource(NamedStatement):
    """DROP STREAM|TABLE [IF EXISTS] name [DELETE TOPIC]."""

    kind = Arg[str](required=True)
    if_exists = Arg[bool](default=False)
    delete_topic = Arg[bool](default=False)
