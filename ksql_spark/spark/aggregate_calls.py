"""Arguments and FILTER of aggregate calls as columns, in streams (AggregateFilters.java) and batches."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ksql_spark.expressions import Expression, Literal
from ksql_spark.functions import registry
from ksql_spark.functions.aggregates.collected import ordered
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
    *,
    once_with: int | None = None,
) -> list[str]:
    """Texts of an aggregate's arguments; those that are not constants are columns, which are added.

    A call with FILTER has a column ``__filter_<number>``, and always a column as its first argument, by which
    AggregateFilters.java knows whose FILTER that is. With ``once_with``, it is
    ``__distinct_<number>_<once_with>``, and the operator lets each value of the first argument pass once
    (DistinctValues.java).

    Args:
        call: the aggregate.
        number: its number in the step.
        lowered: the text of an expression over rows; takes what it is, for the processing log.
        setting: the value of a property.
        types: the columns, to which these are added.
        columns: their texts.
        once_with: of a call with DISTINCT, in an operator that keeps the values of each group: the number of
            the first call that keeps values of the same argument.
    """
    texts = []
    takes_once = once_with is not None
    condition = Literal(True, BOOLEAN) if takes_once and call.condition is None else call.condition
    has_filter = condition is not None
    expressions = call.arguments or ((Literal(1, INTEGER),) if has_filter else ())
    for j, argument in enumerate(expressions):
        if isinstance(argument, Literal) and (j > 0 or not has_filter):
            texts.append(lower(argument))  # constants (k of TOPK, flags) stay in the call
            continue
        types[f"__arg_{number}_{j}"] = argument.type
        text = lowered(argument, f"An argument of {call.function}")
        columns.append(named(ordered(text, argument.type) if takes_once else text, f"__arg_{number}_{j}"))
        texts.append(quoted(f"__arg_{number}_{j}"))
    if condition is not None:
        column = f"__distinct_{number}_{once_with}" if takes_once else f"__filter_{number}"
        types[column] = BOOLEAN
        columns.append(named(lowered(condition, f"FILTER of {call.function}"), column))
    return [*texts, *(str(setting(name)) for name in registry.require(call.function).settings)]


#: Spark's aggregates in the texts of specs
_AGGREGATES = frozenset(
    (
        "avg", "bool_and", "bool_or", "collect_list", "collect_set", "corr", "count", "first",
        "hll_sketch_agg", "last", "max", "max_by", "median", "min", "min_by", "percentile",
        "percentile_approx", "percentile_disc", "stddev_pop", "stddev_samp", "sum", "var_pop", "var_samp",
    )
)  # fmt: skip
_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|[A-Za-z_]\w*(?:\.`(?:[^`]|``)*`)?\(|`(?:[^`]|``)*`|[()]")
_ORDER = " WITHIN GROUP ("


def extended(text: str, clauses: str) -> str:
    """``text`` of an aggregate, where each of Spark's or our aggregates has ``clauses``: FILTER, OVER."""
    pieces: list[str] = []
    end = 0
    #: for each open parenthesis where the aggregate begins that ends with it, if one does
    opened: list[int | None] = []
    within: int | None = None
    for token in _TOKEN.finditer(text):
        word = token.group()
        if word == "(" and within is not None:
            opened.append(within)
            within = None
        elif word.endswith("(") and not word.startswith("'"):
            is_call = word[:-1] in _AGGREGATES or word.startswith("ksql.`")
            opened.append(token.start() if is_call else None)
        elif word == ")" and (start := opened.pop()) is not None:
            if text.startswith(_ORDER, token.end()):
                within = start
                continue
            pieces += (text[end:start], "(", text[start : token.end()], clauses, ")")
            end = token.end()
    return "".join([*pieces, text[end:]])
