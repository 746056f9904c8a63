"""Names of streams and tables: without database and schema."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbt.adapters.base import BaseRelation
from dbt.adapters.contracts.relation import Policy


@dataclass(frozen=True, eq=False, repr=False)
class KsqlRelation(BaseRelation):
    """A stream, which dbt takes for a view, or a table."""

    quote_character: str = "`"
    include_policy: Policy = field(default_factory=lambda: Policy(database=False, schema=False))
    quote_policy: Policy = field(default_factory=lambda: Policy(False, False, False))
