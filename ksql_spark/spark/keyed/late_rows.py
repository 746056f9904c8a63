"""What an operator reports of the records that it leaves out because they came too late (LateRows.java).

Places and columns of records are in the operator's input, and become text only where a record is late.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ksql_spark.plan.nodes import Node
from ksql_spark.plan.operations import record_topic
from ksql_spark.schema import ROWOFFSET, ROWPARTITION, Schema
from ksql_spark.spark.frames import Context, named, quoted
from ksql_spark.spark.keyed.operator import Late, Side, columns_ddl, key_ddl, unpacked
from ksql_spark.spark.processing_log import QueryLog
from ksql_spark.types import SqlType

_NO_PLACE = ("cast(NULL AS int) AS p", "cast(NULL AS bigint) AS o")


@dataclass(frozen=True)
class LateRows:
    """The records of an operator's sides, if the processing log keeps those that are late.

    Args:
        step: the end of the logger's name.
        log: of the query; None: late records are only counted.
        topics: of each side, the topic of its records, where that is known.
    """

    step: str
    log: QueryLog | None
    topics: tuple[str | None, ...]

    @classmethod
    def of(cls, context: Context, step: str, inputs: Sequence[Node], *, may_be_late: bool = True) -> LateRows:
        """Those of the operation over ``inputs``; ``may_be_late``: else nothing needs to be known of them."""
        keeps = may_be_late and context.log is not None and context.log.keeps_late_rows
        return cls(step, context.log if keeps else None, tuple(map(record_topic, inputs)))

    @property
    def shows_rows(self) -> bool:
        """Whether entries show the columns of records."""
        return self.log is not None and self.log.shows_rows

    def place(self, side: int) -> tuple[str, ...]:
        """Texts of the partition and the offset of a side's records; none if these are only counted."""
        if self.log is None:
            return ()
        return _NO_PLACE if self.topics[side] is None else (f"{ROWPARTITION} AS p", f"{ROWOFFSET} AS o")

    def columns(self, side: int) -> list[str]:
        """The hidden columns that ``place`` reads."""
        is_known = self.log is not None and self.topics[side] is not None
        return [ROWPARTITION, ROWOFFSET] if is_known else []

    def reported(self, key: Mapping[str, SqlType], values: Sequence[Mapping[str, str]]) -> Late | None:
        """The operator's argument; None: late records are only counted.

        Args:
            key: names and types of the key's columns.
            values: for each side, names and texts of what is shown of a record, over its bytes ``v``.
        """
        if self.log is None:
            return None
        shown = []
        if self.shows_rows:
            keys = {n: f"{unpacked('k', key_ddl(list(key.values())))}.c{i}" for i, n in enumerate(key)}
            shown.append(self._json(keys, "length(k) = 0", "key"))
            shown += [self._json(each, "v IS NULL", f"value_{i}") for i, each in enumerate(values)]
        setting = {"step": self.step, "topics": self.topics, "shown": shown}
        return Late(json.dumps(setting), _NO_PLACE)

    def _json(self, members: Mapping[str, str], is_missing: str, name: str) -> str:
        assert self.log is not None  # the caller has looked
        return named(f"if({is_missing}, NULL, {self.log.record(members) or repr('{}')})", name)


def values_of(side: Side, schema: Schema) -> dict[str, str]:
    """Names and texts of the columns ``schema`` of a side whose bytes have them under their own names."""
    return {c.name: f"{unpacked('v', side.ddl)}.{quoted(c.name)}" for c in schema.columns}


def nested_values(types: Mapping[str, SqlType], within: str, schema: Schema) -> dict[str, str]:
    """The same, where the bytes of a row are in the text ``within``; ``types``: those of all its columns."""
    row = unpacked(within, columns_ddl(types))
    return {c.name: f"{row}.{quoted(c.name)}" for c in schema.columns if c.name in types}
