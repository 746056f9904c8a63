"""ASSERT in all forms (reference §2.14). VALUES, NULL VALUES, STREAM and TABLE are for the test tool."""

from __future__ import annotations

from sqlglot import exp

from grammar.nodes import Arg, ColumnDefinition, NamedStatement, Property, Statement, TimeSpan


class AssertTopic(Statement):
    """ASSERT [NOT EXISTS] TOPIC topic [WITH (properties)] [TIMEOUT n u]; ``absent``: NOT EXISTS."""

    this = Arg[exp.Literal](required=True)
    absent = Arg[bool](default=False)
    properties = Arg[list[Property]](default=list)
    timeout = Arg[TimeSpan | None]()

    @property
    def topic(self) -> str:
        """The topic's name, its case kept."""
        return str(self.args["this"].this)


class AssertSchema(Statement):
    """ASSERT [NOT EXISTS] SCHEMA [SUBJECT s] [ID n] [TIMEOUT n u]."""

    absent = Arg[bool](default=False)
    subject_literal = Arg[exp.Literal | None]()
    schema_id = Arg[int | None]()
    timeout = Arg[TimeSpan | None]()

    @property
    def subject(self) -> str | None:
        """The subject's name, its case kept."""
        return None if self.subject_literal is None else str(self.subject_literal.this)


class AssertValues(NamedStatement):
    """ASSERT VALUES name [(columns)] VALUES (values)."""

    columns = Arg[list[exp.Identifier]](default=list)
    values = Arg[list[exp.Expr]](default=list)


class AssertTombstone(NamedStatement):
    """ASSERT NULL VALUES name [(columns)] KEY (values)."""

    columns = Arg[list[exp.Identifier]](default=list)
    values = Arg[list[exp.Expr]](default=list)


class AssertSource(NamedStatement):
    """ASSERT STREAM|TABLE name [(columns)] [WITH (properties)]."""

    kind = Arg[str](required=True)
    columns = Arg[list[ColumnDefinition]](default=list)
    properties = Arg[list[Property]](default=list)
