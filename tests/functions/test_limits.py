"""What functions build is limited: a result that would be larger is NULL, and is not built before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ksql_spark.expressions import Call, Cast, ColumnRef, Expression, Lambda, LambdaRef, Literal
from ksql_spark.functions import registry
from ksql_spark.functions.casts import cast_grows
from ksql_spark.functions.failures import Failures
from ksql_spark.functions.lowering import lower, lower_reporting
from ksql_spark.functions.spec import MAX_BYTES, MAX_ELEMENTS, Kind, OnNull, Typed, expression, struct
from ksql_spark.spark.processing_log import ProcessingLog, QueryLog
from ksql_spark.types import (
    BIGINT,
    BYTES,
    DATE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    VARIANT,
    Array,
    Field,
    Function,
    Map,
    SqlType,
    Struct,
)

from .binding import bind, call, canonical

pytestmark = pytest.mark.spark

ELEMENTS, BYTES_ = 6, 12
BIG = 2_000_000_000
#: how many calls go into one projection
BATCH = 40


@pytest.fixture(scope="module")
def session(local_spark: Any) -> Iterator[Any]:
    """A session whose functions may build 6 elements and 12 bytes."""
    own = local_spark.newSession()
    own.conf.set("spark.sql.catalog.ksql.max.elements", str(ELEMENTS))
    own.conf.set("spark.sql.catalog.ksql.max.bytes", str(BYTES_))
    own.conf.set(
        "spark.sql.optimizer.excludedRules",
        ",".join(
            f"org.apache.spark.sql.catalyst.optimizer.{rule}"
            for rule in ("ConstantFolding", "ConvertToLocalRelation")
        ),
    )
    yield own


def ref(name: str, type_: SqlType = STRING) -> LambdaRef:
    return LambdaRef(name, type_)


def function(body: Expression, **parameters: SqlType) -> Lambda:
    return Lambda(tuple(parameters), body, Function(tuple(parameters.values()), body.type))


def _repeated(text: Expression) -> Lambda:
    return function(Call("CONCAT", (text, ref("x")), STRING), x=STRING)


TEXT = ColumnRef("T", STRING)
APPENDED = function(
    Call("ARRAY_CONCAT", (ref("s", Array(STRING)), ref("s", Array(STRING))), Array(STRING)),
    s=Array(STRING),
    x=INTEGER,
)
SERIES = function(
    Call("GENERATE_SERIES", (Literal(1, INTEGER), ref("x", INTEGER)), Array(INTEGER)), x=INTEGER
)
QUOTE = function(Call("TO_JSON_STRING", (ref("x"),), STRING), x=STRING)
DAY, TIME_ = Typed("2020-02-29", DATE), Typed("16:43:40", TIME)
MOMENT = Typed("2020-02-29T12:00:00.500", TIMESTAMP)
KEY, VALUE = function(ref("k"), k=STRING, v=STRING), function(TEXT, k=STRING, v=STRING)

#: function -> (arguments whose result is just within the limits, what it is, arguments of too large a result)
CASES: dict[str, list[tuple[list[Any], Any, list[Any]]]] = {
    "+": [(["abcdef", "abcdef"], "abcdefabcdef", ["abcdef", "abcdefg"])],
    "||": [
        (["abcdef", "abcdef"], "abcdefabcdef", ["abcdef", "abcdefg"]),
        ([b"abcdef", b"abcdef"], b"abcdefabcdef", [b"abcdef", b"abcdefg"]),
    ],
    "PG_CONCAT": [(["abcdef", "abcdef"], "abcdefabcdef", ["abcdef", "abcdefg"])],
    "CONCAT": [
        (["abcdef", Typed(None, STRING), "abcdef"], "abcdefabcdef", ["äöü", "äöü", Typed(None, STRING), "a"]),
        ([b"abcdef", b"abcdef"], b"abcdefabcdef", [b"abcdef", b"abcdefg"]),
    ],
    "CONCAT_WS": [
        (["--", "abcde", "", "abc"], "abcde----abc", ["--", "abcde", "", "abcd"]),
        ([b"--", b"abcde", b"", b"abc"], b"abcde----abc", [b"--", b"abcde", b"", b"abcd"]),
    ],
    "LPAD": [
        (["abc", 12, "xy"], "xyxyxyxyxabc", ["abc", 13, "xy"]),
        (["ab", 7, "ä"], "äääääab", ["ab", 8, "ä"]),
        ([b"ab", 12, b"x"], b"xxxxxxxxxxab", [b"ab", BIG, b"x"]),
        (["abcdefghijklmnop", 14, "x"], "abcdefghijklmn", ["a", BIG, "x"]),
    ],
    "RPAD": [
        (["abc", 12, "xy"], "abcxyxyxyxyx", ["abc", BIG, "xy"]),
        ([b"ab", 12, b"x"], b"abxxxxxxxxxx", [b"ab", 13, b"x"]),
    ],
    "REPLACE": [(["a.b.", ".", "12345"], "a12345b12345", ["a.b.", ".", "123456"])],
    "REGEXP_REPLACE": [
        (["a.b.", "[.]", "12345"], "a12345b12345", ["a.b.", "[.]", "123456"]),
        (["abcdef", "(.+)", "$1$1"], "abcdefabcdef", ["abcdefg", "(.+)", "$1$1"]),
    ],
    "REGEXP_EXTRACT_ALL": [
        ([".", "abcdef"], list("abcdef"), [".", "abcdefg"]),
        (["(?=(.*))", "abc", 1], ["abc", "bc", "c", ""], ["(?=(.*))", "abcde", 1]),
    ],
    "REGEXP_SPLIT_TO_ARRAY": [
        (["a1b1c1d1e1f", "[0-9]"], list("abcdef"), ["a1b1c1d1e1f1", "[0-9]"]),
        (["abcdef", ""], list("abcdef"), ["abcdefg", ""]),
    ],
    "SPLIT": [
        (["a,b,c,d,e,f", ","], list("abcdef"), ["a,b,c,d,e,f,", ","]),
        (["abcdef", ""], list("abcdef"), ["abcdefg", ""]),
        ([b"a,b", b","], [b"a", b"b"], [b"a,b,c,d,e,f,", b","]),
    ],
    "SPLIT_TO_MAP": [(["a=1;b=2", ";", "="], {"a": "1", "b": "2"}, ["a=1;b;c;d;e;f;g", ";", "="])],
    "JSON_ITEMS": [
        (["[1,2,3,4,5,6]"], list("123456"), ["[1,2,3,4,5,6,7]"]),
        (["[1e9]"], ["1000000000"], ["[1e6,1e6]"]),
    ],
    "ARRAY_JOIN": [
        ([["ab", "cd"], "12345678"], "ab12345678cd", [["ab", "cd"], "123456789"]),
        ([[1, 2, None], "-"], "1-2-null", [[1, 2, None], "----"]),
    ],
    "GENERATE_SERIES": [
        ([1, 6], [1, 2, 3, 4, 5, 6], [1, BIG]),
        ([-BIG, BIG, 800_000_000], [n * 100_000_000 for n in range(-20, 21, 8)], [-BIG, BIG]),
        (
            [Typed(6, BIGINT), Typed(1, BIGINT)],
            [6, 5, 4, 3, 2, 1],
            [Typed(-(2**63) + 1, BIGINT), Typed(2**63 - 1, BIGINT), 1],
        ),
    ],
    "REDUCE": [
        ([[1, 2], ["a"], APPENDED], ["a"] * 4, [[1] * 50, ["a"], APPENDED]),
    ],
    "TRANSFORM": [
        ([["a", "b"], _repeated(TEXT)], ["TTTTTa", "TTTTTb"], [["a", "b", "c"], _repeated(TEXT)]),
        ([[1, 2, 3], SERIES], [[1], [1, 2], [1, 2, 3]], [[1, 2, 4], SERIES]),
        ([["a", "b"], QUOTE], ['"a"', '"b"'], [["ab", "cd", "e", "f"], QUOTE]),
        (
            [{"a": "x", "b": "y"}, KEY, VALUE],
            {"a": "TTTTT", "b": "TTTTT"},
            [{"a": "x", "b": "y", "c": "z"}, KEY, VALUE],
        ),
    ],
    "TO_JSON_STRING": [
        (['abcdefg"'], '"abcdefg\\""', ["abcdefghijk"]),
        ([["a", "b"]], '["a","b"]', [["abc", "def", "g"]]),
    ],
    # numbers get all their digits
    "JSON_CONCAT": [
        (["[1,2]", "[3,4]"], "[1,2,3,4]", ["[1,2,3]", "[4,5,6]"]),
        (["[1e9]"], "[1000000000]", ["[1e999]"]),
    ],
    "EXTRACTJSONFIELD": [(["[1e9]", "$"], "[1000000000]", ["[1e999]", "$"])],
    ":": [(['{"a":1e9}', "$['a']"], "1000000000", ['{"a":1e12}', "$['a']"])],
    "JSON_RECORDS": [(['{"a":1e9}'], {"a": "1000000000"}, ['{"a":1e6,"b":1e6}'])],
    "ARRAY": [
        (["abcdef", "ghijkl"], ["abcdef", "ghijkl"], ["abcdef", "ghijklm"]),
        ([["a"], ["b"]], [["a"], ["b"]], [["a"], ["b", "c"], ["d"]]),
    ],
    "MAP": [(["a", "b", "c", "d"], {"a": "b", "c": "d"}, ["abc", "defg", "hij", "klm"])],
    "ARRAY_CONCAT": [
        ([[1, 2, 3], [4, 5, 6]], [1, 2, 3, 4, 5, 6], [[1, 2, 3], [4, 5, 6, 7]]),
        ([["abc"], ["def"]], ["abc", "def"], [["abcdef"], ["ghijklm"]]),
    ],
    "ARRAY_UNION": [([[1, 2, 3], [3, 5, 6]], [1, 2, 3, 5, 6], [[1, 2, 3], [4, 5, 6, 7]])],
    "AS_MAP": [([["a", "b"], ["c", "d"]], {"a": "c", "b": "d"}, [["abc", "def"], ["ghij", "klm"]])],
    "MAP_UNION": [
        ([{"a": "b"}, {"c": "d"}], {"a": "b", "c": "d"}, [{"abc": "def"}, {"ghi": "jklm"}]),
    ],
    "ENCODE": [(["abcdef", "utf8", "hex"], "616263646566", ["abcdefg", "utf8", "hex"])],
    "FROM_BYTES": [([b"abcdef", "hex"], "616263646566", [b"abcdefg", "hex"])],
    "URL_ENCODE_PARAM": [(["????"], "%3F%3F%3F%3F", ["?????"])],
    "FORMAT_DATE": [([DAY, "yyyy-MM-dd"], "2020-02-29", [DAY, "yyyy-MM-dd yyyy"])],
    "FORMAT_TIME": [([TIME_, "HH:mm:ss"], "16:43:40", [TIME_, "HH:mm:ss HH:mm"])],
    "FORMAT_TIMESTAMP": [([MOMENT, "yyyy-MM-dd"], "2020-02-29", [MOMENT, "yyyy-MM-dd yyyy"])],
    "DATETOSTRING": [([18321, "yyyy-MM-dd"], "2020-02-29", [18321, "yyyy-MM-dd yyyy"])],
    "TIMESTAMPTOSTRING": [
        ([Typed(0, BIGINT), "yyyy-MM-dd"], "1970-01-01", [Typed(0, BIGINT), "yyyy-MM-dd yyyy"])
    ],
    "CUBE_EXPLODE": [([["a"]], [[None], ["a"]], [["a", "b"]])],
}


def test_every_limited_function_has_a_case() -> None:
    assert set(CASES) == {s.name for s in registry.all_specs() if s.limits}
    assert {n for s in registry.all_specs() for n in s.limits or ()} == {MAX_ELEMENTS, MAX_BYTES}


def opaque(name: str, *args: Any) -> Call:
    """A call with arguments that are no constants, whose results may grow."""
    bound = call(name, *args)
    if not registry.require(name).grows:
        return bound
    hidden = (Call("COALESCE", (a,), a.type) if isinstance(a, Literal) else a for a in bound.arguments)
    return Call(name, tuple(hidden), bound.type)


def evaluated(session: Any, cases: dict[str, Any]) -> dict[str, tuple[Any, int]]:
    """The result of each call, and how many failures it has reported."""
    log = ProcessingLog("limits", "limits", {}, shows_rows=False)
    log.open(session)
    texts = []
    for case, bound in cases.items():
        report = QueryLog("limits", case, shows_rows=False).failed
        texts.append(
            lower_reporting(bound, lambda part, why, _, report=report: report("Step", str(part), why))
        )
    frame = session.range(1).selectExpr("'TTTTT' as T")
    row: list[Any] = []
    for start in range(0, len(texts), BATCH):
        columns = (f"{text} as c{i}" for i, text in enumerate(texts[start : start + BATCH]))
        row += frame.selectExpr(*columns).collect()[0]
    found = {}
    for (case, bound), raw in zip(cases.items(), row, strict=True):
        is_rows = isinstance(bound, Call) and registry.require(bound.function).kind is Kind.TABLE
        value = canonical(raw, Array(bound.type) if is_rows else bound.type)
        found[case] = value, log.counts(case).failed
    return found


def test_a_result_beyond_the_limits_is_a_failure(session: Any) -> None:
    calls: dict[str, Call] = {}
    wanted: dict[str, tuple[Any, int]] = {}
    for name, cases in CASES.items():
        for i, (within, result, beyond) in enumerate(cases):
            calls |= {f"{name} {i}": opaque(name, *within), f"{name} {i} beyond": opaque(name, *beyond)}
            wanted |= {f"{name} {i}": (result, 0), f"{name} {i} beyond": (None, 1)}
    assert evaluated(session, calls) == wanted


def test_null_arguments_are_no_failure(session: Any) -> None:
    calls: dict[str, Call] = {}
    for name, cases in CASES.items():
        if registry.require(name).on_null is OnNull.ERROR:
            continue
        for i, (within, _, _) in enumerate(cases):
            for j, argument in enumerate(within):
                if not isinstance(argument, Lambda) and not (name == ":" and j):  # its path is a constant
                    nothing = Typed(None, expression(argument).type)
                    calls[f"NULL in {name} {i} {j}"] = opaque(name, *within[:j], nothing, *within[j + 1 :])
    assert {case: failed for case, (_, failed) in evaluated(session, calls).items()} == dict.fromkeys(
        calls, 0
    )


def test_casts_to_text_are_limited(session: Any) -> None:
    rows: dict[str, tuple[list[Any], SqlType, Any]] = {
        "bytes": ([b"abcdef", b"abcdefghij"], VARIANT, '"YWJjZGVm"'),
        "array": ([["ab", "cd"], ["abcde", "fghij"]], STRING, "[ab, cd]"),
        "map": ([{"ab": "cd"}, {"abcdef": "ghijkl"}], STRING, "{ab=cd}"),
        "struct": ([struct(A="b"), struct(A="bcdef")], STRING, "Struct{A=b}"),
        "variant": (["ab", 'a"b"c"d"e"'], VARIANT, '"ab"'),
        "elements": ([[b"abc"], [b"abcdef", b"abc"]], Array(VARIANT), ['"YWJj"']),
    }
    calls: dict[str, Any] = {}
    wanted: dict[str, tuple[Any, int]] = {}
    for name, ((within, beyond), type_, result) in rows.items():
        for value, case, expected in ((within, name, (result, 0)), (beyond, f"{name} beyond", (None, 1))):
            bound = expression(value)
            calls[case] = Cast(Call("COALESCE", (bound,), bound.type), type_)
            wanted[case] = expected
    assert evaluated(session, calls) == wanted


def test_casts_that_cannot_grow_are_not_looked_at() -> None:
    pair, one = Struct((Field("A", INTEGER), Field("B", BYTES))), Struct((Field("A", STRING),))
    assert not cast_grows(pair, one) and not cast_grows(INTEGER, STRING) and not cast_grows(STRING, BYTES)


def test_each_level_of_nested_calls_is_limited(session: Any) -> None:
    nested: Expression = TEXT
    for _ in range(40):
        nested = Call("TO_JSON_STRING", (nested,), STRING)
    frame = session.range(1).selectExpr("'TTTTT' as T")
    (length,) = frame.selectExpr(f"octet_length({lower(nested)})").collect()[0]
    assert length <= BYTES_


def test_what_cannot_grow_is_not_looked_at() -> None:
    for bound in (
        call("ARRAY", 1, 2),
        call("TO_JSON_STRING", 1),
        call("FORMAT_DATE", DAY, "yyyy"),
        Call("MAP", (Literal("a", STRING), ColumnRef("N", INTEGER)), Map(STRING, INTEGER)),
    ):
        assert "ksql.limited" not in lower(bound)
        assert not Failures().can_fail(bound) or bound.function == "FORMAT_DATE"


def test_columns_are_limited_as_constants_are(session: Any) -> None:
    length = bind("ARRAY_LENGTH", [bind("GENERATE_SERIES", [Literal(1, BIGINT), ColumnRef("N", BIGINT)])])
    frame = session.range(3).selectExpr(
        "cast(element_at(array(5, 2000000000, 6), int(id) + 1) as bigint) as N"
    )
    assert [row[0] for row in frame.selectExpr(lower(length)).collect()] == [5, None, 6]


def test_only_lambdas_that_may_multiply_are_computed_twice() -> None:
    words = expression(["a", "b"])
    for body, times in (
        (Call("UCASE", (ref("x"),), STRING), 1),
        (Call("CONCAT", (ref("x"), Literal("!", STRING)), STRING), 1),
        (Call("CONCAT", (ref("x"), TEXT), STRING), 2),
        (Call("LEN", (TEXT,), INTEGER), 1),
    ):
        node = Call("TRANSFORM", (words, function(body, x=STRING)), Array(body.type))
        assert lower(node).count(lower(body)) == times


def test_states_of_a_fixed_size_are_not_looked_at() -> None:
    total = function(Call("+", (ref("s", INTEGER), ref("x", INTEGER)), INTEGER), s=INTEGER, x=INTEGER)
    assert "fits" not in lower(call("REDUCE", [1, 2], 0, total))
