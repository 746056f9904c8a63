"""Names of streams and tables: without database and schema."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dbt.adapters.base import BaseRelation
from dbt.adapters.contracts.relation import Policy

from ksql_spark.client.tables import identifier
from ksql_spark.grammar import RESERVED


def in_sql(name: str) -> str:
    """A name as SQL has it: quoted only where that is needed."""
    is_plain = re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) and name.upper() not in RESERVED
    return name if is_plain else identifier(name)


def stored(name: str) -> str:
    """A name as the server keeps it."""
    return identifier(name)[1:-1].replace("``", "`")


@dataclass(frozen=True, eq=False, repr=False)
class KsqlRelation(BaseRelation):
    """A stream, which dbt takes for a view, or a table."""

    quote_character: str = "`"
    include_policy: Policy = field(default_factory=lambda: Policy(database=False, schema=False))
    quote_policy: Policy = field(default_factory=lambda: Policy(False, False, False))

    def render(self) -> str:
        """The name in SQL."""
        return in_sql(self.identifier) if self.identifier else ""
