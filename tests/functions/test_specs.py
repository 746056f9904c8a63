"""Every function of the reference is there, and every spec says all that it has to."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.functions import registry
from ksql_spark.functions.lowering import lower
from ksql_spark.functions.spec import Category, Kind, Spec
from ksql_spark.functions.sql_words import INSTEAD
from ksql_spark.types import STRING

from .binding import call

#: reference §4, by section
REFERENCE = """
ABS CEIL FLOOR ROUND TRUNC SIGN SQRT EXP LN CBRT SIN COS TAN COT ASIN ACOS ATAN SINH COSH TANH DEGREES
RADIANS ATAN2 POWER LOG PI RANDOM GREATEST LEAST GENERATE_SERIES GEO_DISTANCE CHR CONCAT CONCAT_WS ELT
FIELD ENCODE TO_BYTES FROM_BYTES INITCAP INSTR LCASE UCASE TRIM LEN LPAD RPAD MASK MASK_LEFT MASK_RIGHT
MASK_KEEP_LEFT MASK_KEEP_RIGHT MD5 REPLACE REGEXP_EXTRACT REGEXP_EXTRACT_ALL REGEXP_REPLACE
REGEXP_SPLIT_TO_ARRAY SPLIT SPLIT_TO_MAP SUBSTRING UUID INT_FROM_BYTES BIGINT_FROM_BYTES
DOUBLE_FROM_BYTES EXTRACTJSONFIELD IS_JSON_STRING JSON_ARRAY_CONTAINS JSON_ARRAY_LENGTH JSON_CONCAT
JSON_KEYS JSON_RECORDS JSON_ITEMS TO_JSON_STRING ARRAY_CONCAT ARRAY_CONTAINS ARRAY_DISTINCT ARRAY_EXCEPT
ARRAY_INTERSECT ARRAY_UNION ARRAY_JOIN ARRAY_LENGTH ARRAY_MAX ARRAY_MIN ARRAY_REMOVE ARRAY_SORT SLICE
AS_MAP ENTRIES MAP_KEYS MAP_VALUES MAP_UNION TRANSFORM FILTER REDUCE COALESCE IFNULL NULLIF AS_VALUE
CONVERT_TZ DATEADD DATESUB TIMEADD TIMESUB TIMESTAMPADD TIMESTAMPSUB FORMAT_DATE FORMAT_TIME
FORMAT_TIMESTAMP PARSE_DATE PARSE_TIME PARSE_TIMESTAMP FROM_DAYS FROM_UNIXTIME UNIX_DATE UNIX_TIMESTAMP
DATETOSTRING STRINGTODATE TIMESTAMPTOSTRING STRINGTOTIMESTAMP URL_DECODE_PARAM URL_ENCODE_PARAM
URL_EXTRACT_FRAGMENT URL_EXTRACT_HOST URL_EXTRACT_PATH URL_EXTRACT_PROTOCOL URL_EXTRACT_QUERY
URL_EXTRACT_PORT URL_EXTRACT_PARAMETER COUNT SUM SUM_LIST AVG MIN MAX COLLECT_LIST COLLECT_SET
COUNT_DISTINCT EARLIEST_BY_OFFSET LATEST_BY_OFFSET HISTOGRAM TOPK TOPKDISTINCT STDDEV_SAMPLE STDDEV_SAMP
CORRELATION ATTR EXPLODE CUBE_EXPLODE
"""

#: no example can say what is random
WITHOUT_EXAMPLES = {"NOW", "RANDOM"}
ON_TABLES = {
    "BOOL_AND",
    "BOOL_OR",
    "COUNT",
    "SUM",
    "SUM_LIST",
    "AVG",
    "COLLECT_LIST",
    "HISTOGRAM",
    "STDDEV_SAMPLE",
    "STDDEV_SAMP",
    "CORRELATION",
    "ATTR",
}
CATEGORIES = {v for k, v in vars(Category).items() if k.isupper()}


def test_names_are_those_of_the_reference() -> None:
    beyond = [s.name for s in registry.all_specs() if s.is_ours]
    unknown = set(registry.names()) - {*REFERENCE.split(), *beyond}
    assert not unknown, f"ksqlDB lacks {unknown}: say is_ours=True in their specs"
    assert sorted([*REFERENCE.split(), *beyond]) == list(registry.names())


def test_aliases_are_the_functions_themselves() -> None:
    for alias, spec in registry.aliases().items():
        assert registry.find(alias.lower()) is spec
        assert alias in spec.aliases and alias in spec.beyond
    assert registry.resolve("upper", [STRING]).spec.name == "UCASE"


def test_a_user_function_goes_before_an_alias() -> None:
    own = replace(registry.require("LCASE"), name="UPPER", aliases=())
    with registry.with_functions(lambda: {"UPPER": own}):
        assert registry.find("upper") is own and "UPPER" not in registry.aliases()
    assert registry.require("upper").name == "UCASE"


@pytest.mark.parametrize("name", sorted(INSTEAD))
def test_words_of_sql_without_a_function_have_a_hint(name: str) -> None:
    with pytest.raises(KsqlError) as caught:
        registry.require(name)
    assert INSTEAD[name] in caught.value.message
    for function in re.findall(r"([A-Z_]+)\(", INSTEAD[name]):
        assert function == "AS" or function == "CAST" or registry.find(function)


@pytest.mark.parametrize("spec", registry.all_specs(), ids=lambda s: s.name)
def test_spec_is_complete(spec: Spec) -> None:
    assert spec.description.endswith(".") and "\n" not in spec.description, "description: one sentence"
    assert spec.category in CATEGORIES, "category: one of Category"
    assert spec.signatures, "signatures: at least one"
    assert spec.examples or spec.name in WITHOUT_EXAMPLES, "examples: at least one"
    assert spec.spark is not None or spec.gap, "spark: its Spark SQL text, or gap: what is missing"
    if spec.kind is Kind.SCALAR:
        named = {p.name for s in spec.signatures for p in s.parameters}
        assert named == set(spec.parameters), "parameters: describe those of the signatures"


#: result types of a fixed size, as signatures write them
FIXED = ["BOOLEAN", "INTERVAL", "INTEGER", "BIGINT", "DOUBLE", "DECIMAL", "DATE", "TIME", "TIMESTAMP"]


@pytest.mark.parametrize("spec", registry.all_specs(), ids=lambda s: s.name)
def test_spec_says_what_limits_its_result(spec: Spec) -> None:
    """Where the result may be far larger than the arguments, properties limit it (``Spec.limits``)."""
    results = {s.result_text.split("(")[0] for s in spec.signatures}
    if results <= {*FIXED}:
        assert spec.limits is None, f"{results} have a fixed size: leave out limits"
    assert spec.limits is not None or results <= {*FIXED}, (
        f"{results} may be large: say limits=BY_ARGUMENTS if the arguments limit them, else (MAX_BYTES,) or "
        "(MAX_ELEMENTS,), and look at the size before building them (test_limits.py checks that)"
    )
    for name in spec.limits or ():
        assert Config()[name] > 0


@pytest.mark.parametrize("spec", registry.all_specs(), ids=lambda s: s.name)
def test_examples_have_types_and_a_lowering(spec: Spec) -> None:
    if spec.kind is Kind.AGGREGATE:
        assert spec.undo == (spec.name in ON_TABLES)
        return
    for example in spec.examples:
        bound = call(spec.name, *example.args)
        assert lower(bound) == lower(bound)


def test_kinds() -> None:
    assert registry.scalar("ucase") and registry.scalar("+")
    assert registry.aggregate("count") and not registry.aggregate("ucase")
    assert registry.table_function("EXPLODE") and not registry.scalar("explode")
    assert registry.find("nope") is None
