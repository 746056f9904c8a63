"""Arguments and FILTER of aggregate calls as columns, in streams and batches (AggregateFilters.java)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ksql_spark.expressions import Expression, Literal
from ksql_spark.functions import registry
from ksql_spark.functions.lowering import lower
from ksql_spark.plan.clauses import AggregateCall
from ksql_spark.spark.frames import named, quoted
from ksql_spark.types import BOOLEAN, INTEGER, SqlType


def arguments(
    call: AggregateCall,
    number: int,
    lowered: Callable[[Expression, str], str],
    setting: Callable[[str], Any],
    types: dict[str, SqlType],
    columns: list[str],
) -> list[str]:
    """Texts of an aggregate's arguments; those that are not constants are columns, which are added.

    A call with FILTER has a column ``__filter_<number>``, and always a column as its first argument, by which
    AggregateFilters.java knows whose FILTER that is.

    Args:
        call: the aggregate.
        number: its number in the step.
        lowered: the text of an expression over rows; takes what it is, for the processing log.
        setting: the value of a property.
        types: the columns, to which these are added.
        columns: their texts.
    """
    texts = []
    has_filter = call.condition is not None
    expressions = call.arguments or ((Literal(1, INTEGER),) if has_filter else ())
    for j, argument in enumerate(expressions):
        if isinstance(argument, Literal) and (j > 0 or not has_filter):
            texts.append(lower(argument))  # constants (k of TOPK, flags) stay in the call
            continue
        types[f"__arg_{number}_{j}"] = argument.type
        columns.append(named(lowered(argument, f"An argument of {call.function}"), f"__arg_{number}_{j}"))
        texts.append(quoted(f"__arg_{number}_{j}"))
    if call.condition is not None:
        types[f"__filter_{number}"] = BOOLEAN
        columns.append(named(lowered(call.condition, f"FILTER of {call.function}"), f"__filter_{number}"))
    return [*texts, *(str(setting(name)) for name in registry.require(call.function).settings)]
