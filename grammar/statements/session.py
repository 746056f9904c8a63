"""SET, UNSET, DEFINE, UNDEFINE and ALTER SYSTEM (reference §1.3, §2.13)."""

from __future__ import annotations

from sqlglot import exp

from ksql_spark.grammar.generator import KsqlGenerator
from ksql_spark.grammar.nodes import Arg, NamedStatement, Statement
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule


class PropertyStatement(Statement):
    """Common to SET, UNSET and ALTER SYSTEM: a property's name, a string literal."""

    this = Arg[exp.Literal](required=True)

    @property
    def property_name(self) -> str:
        """The property's name."""
        return str(self.args["this"].this)


class PropertyAssignment(PropertyStatement):
    """A property's name and its new value."""

    literal = Arg[exp.Literal](required=True)

    @property
    def value(self) -> str:
        """The value's text."""
        return str(self.literal.this)


class SetProperty(PropertyAssignment):
    """SET 'name' = 'value'."""


class UnsetProperty(PropertyStatement):
    """UNSET 'name'."""


class AlterSystem(PropertyAssignment):
    """ALTER SYSTEM 'name' = 'value'."""


class DefineVariable(NamedStatement):
    """DEFINE name = 'value'; ``name`` is folded to upper case, names are case-insensitive."""

    literal = Arg[exp.Literal](required=True)

    @property
    def value(self) -> str:
        """The value's text."""
        return str(self.literal.this)


class UndefineVariable(NamedStatement):
    """UNDEFINE name."""


def _set(parser: KsqlParser) -> SetProperty:
    start = parser.at
    parser.expect_word("SET")
    return parser.build(SetProperty, start, **_assignment(parser))


def _unset(parser: KsqlParser) -> UnsetProperty:
    start = parser.at
    parser.expect_word("UNSET")
    return parser.build(UnsetProperty, start, this=parser.string())


def _alter_system(parser: KsqlParser) -> AlterSystem:
    start = parser.at
    parser.expect_word("ALTER", "SYSTEM")
    return parser.build(AlterSystem, start, **_assignment(parser))


def _assignment(parser: KsqlParser) -> dict[str, exp.Literal]:
    name = parser.string()
    parser.equals()
    return {"this": name, "literal": parser.string()}


def _define(parser: KsqlParser) -> DefineVariable:
    start = parser.at
    parser.expect_word("DEFINE")
    name = parser.plain_name()
    parser.equals()
    return parser.build(DefineVariable, start, this=name, literal=parser.string())


def _undefine(parser: KsqlParser) -> UndefineVariable:
    start = parser.at
    parser.expect_word("UNDEFINE")
    return parser.build(UndefineVariable, start, this=parser.plain_name())


def _render_set(self: KsqlGenerator, node: SetProperty) -> str:
    return f"SET {self.sql(node.this)} = {self.sql(node.literal)}"


def _render_unset(self: KsqlGenerator, node: UnsetProperty) -> str:
    return f"UNSET {self.sql(node.this)}"


def _render_alter_system(self: KsqlGenerator, node: AlterSystem) -> str:
    return f"ALTER SYSTEM {self.sql(node.this)} = {self.sql(node.literal)}"


def _render_define(self: KsqlGenerator, node: DefineVariable) -> str:
    return f"DEFINE {self.sql(node.this)} = {self.sql(node.literal)}"


def _render_undefine(self: KsqlGenerator, node: UndefineVariable) -> str:
    return f"UNDEFINE {self.sql(node.this)}"


RULES = (
    StatementRule(SetProperty, ("SET",), _set, _render_set),
    StatementRule(UnsetProperty, ("UNSET",), _unset, _render_unset),
    StatementRule(AlterSystem, ("ALTER SYSTEM",), _alter_system, _render_alter_system),
    StatementRule(DefineVariable, ("DEFINE",), _define, _render_define),
    StatementRule(UndefineVariable, ("UNDEFINE",), _undefine, _render_undefine),
)
