"""FILTER and OVER in the texts of aggregates."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from ksql_spark.functions import registry
from ksql_spark.functions.lowering import lower
from ksql_spark.functions.spec import Kind, Spec, expression
from ksql_spark.spark.aggregate_calls import extended
from ksql_spark.types import Array

AGGREGATES = [spec for spec in registry.all_specs() if spec.kind is Kind.AGGREGATE]


def _texts(spec: Spec) -> list[str]:
    """The texts of the aggregate, with and without DISTINCT, for the types of its examples' arguments."""
    texts = []
    for example in spec.examples:
        names, types = [], []
        for i, value in enumerate(example.args):
            bound = expression(value)
            if isinstance(value, list):  # a column, anything else is a constant
                assert isinstance(bound.type, Array)
                names.append(f"`a{i}`")
                types.append(bound.type.element)
            else:
                names.append(lower(bound))
                types.append(bound.type)
        lowerings = (spec.spark, spec.spark_distinct)
        texts += [lowering(names, types) for lowering in lowerings if lowering is not None]
    return texts


@pytest.mark.parametrize("spec", AGGREGATES, ids=lambda spec: spec.name)
def test_each_of_sparks_aggregates_gets_the_clause(spec: Spec) -> None:
    for text in _texts(spec):
        tree = sqlglot.parse_one(extended(text, " FILTER (WHERE f)"), read="spark")
        without = [one for one in tree.find_all(exp.AggFunc) if not one.find_ancestor(exp.Filter)]
        assert not without, f"{text}: aggregates without FILTER"
        assert list(tree.find_all(exp.Filter)), f"{text}: no aggregate has FILTER"
