"""Common to all bodies: camel-case names on the wire, members that may be absent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self, TypeVar

import pydantic
from pydantic.alias_generators import to_camel

from ksql_spark.masking import masked

T = TypeVar("T")

#: marks such members in JSON schemas until ``wire.schemas`` has processed it
OMITTED = "x-omitted"
#: a member that is absent from the JSON if it is None; any other None is null
Omitted = Annotated[
    T | None, pydantic.Field(exclude_if=lambda value: value is None, json_schema_extra={OMITTED: True})
]


class Body:
    """A JSON object of the REST API. Its classes are frozen dataclasses; ``wire`` makes JSON of them."""

    __pydantic_config__: ClassVar[pydantic.ConfigDict] = pydantic.ConfigDict(alias_generator=to_camel)


@dataclass(frozen=True)
class KsqlWarning(Body):
    """Something that the user should know, although the statement was executed."""

    message: str


@dataclass(frozen=True, kw_only=True)
class Entity(Body):
    """The answer to a statement (reference §7.3).

    Each class names its ``@type``: ``class StreamsList(Entity, type="streams")``.

    Args:
        statement_text: the statement, which ends with its ``;`` as in ksqlDB; secrets in it are hidden.
        warnings: the last member on the wire.
    """

    #: the value of ``@type`` on the wire
    wire_type: ClassVar[str]

    statement_text: str
    warnings: tuple[KsqlWarning, ...] = ()

    def __init_subclass__(cls, *, type: str) -> None:
        cls.wire_type = type

    def __post_init__(self) -> None:
        object.__setattr__(self, "statement_text", masked(f"{self.statement_text.removesuffix(';')};"))

    def warned(self, *messages: str) -> Self:
        """The same entity with more warnings."""
        if not messages:
            return self
        return replace(self, warnings=(*self.warnings, *map(KsqlWarning, messages)))
