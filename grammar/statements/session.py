"""SET, UNSET, DEFINE, UNDEFINE and ALTER SYSTEM (reference §1.3, §2.13)."""

from __future__ import annotations

from sqlglot import exp

from grammar.nodes import Arg, NamedStatement, Statement


class PropertyStatement(Statement):
    """What SET, UNSET and ALTER SYSTEM share: a property's name, a string literal."""

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
