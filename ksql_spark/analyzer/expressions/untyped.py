"""Literals without a type: a text that takes the type of what it is compared with, as in PostgreSQL.

That is what ``ksql.sql.literals`` = untyped means (reference §3.3): texts are read in PostgreSQL's forms.
"""

from __future__ import annotations

import base64
import math
import re
from decimal import Decimal as PythonDecimal

from ksql_spark.analyzer.base.failures import Placed, failure
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Cast, Expression, Literal
from ksql_spark.functions.signatures import boolean_of, number_type
from ksql_spark.instants import read_date, read_time, read_timestamp
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Decimal,
    SqlType,
    is_numeric,
)

_WHOLE = re.compile(r"\s*[+-]?\d{1,19}\s*")
_HEX = re.compile(r"\\x((?:[0-9a-fA-F]{2})*)")
_BOOLEANS = {"1": True, "on": True, "0": False, "of": False, "off": False}
_TIMES = {DATE: read_date, TIME: read_time, TIMESTAMP: read_timestamp}


def typed_text(node: Expression, type_: SqlType, place: Placed | None) -> Expression:
    """``node``; a text literal as one of ``type_``, if that is scalar and no STRING.

    Raises:
        KsqlError: LITERAL_SYNTAX for a text that is no value of the type.
    """
    if not isinstance(node, Literal) or node.type != STRING or not isinstance(node.value, str):
        return node
    text = node.value
    if type_ in _TIMES:
        # what is none, the conversion of the text refuses
        return Literal(_TIMES[type_](text) or text, STRING)
    if type_ == BYTES:
        digits = _HEX.fullmatch(text)
        try:  # hexadecimal, or base 64 as elsewhere
            raw = base64.b64decode(text, validate=True) if digits is None else bytes.fromhex(digits[1])
        except ValueError:
            raise _no_value(text, type_, place) from None
        return Cast(Literal(base64.b64encode(raw).decode(), STRING), BYTES)
    typed = node
    if type_ == BOOLEAN:
        typed = Literal(_BOOLEANS.get(text.strip().lower(), boolean_of(text)), BOOLEAN)
    elif is_numeric(type_):
        typed = _number(text, type_)
    if typed.value is None:
        raise _no_value(text, type_, place)
    return typed


def _no_value(text: str, type_: SqlType, place: Placed | None) -> KsqlError:
    return failure("LITERAL_SYNTAX", place, problem="", type=type_, value=text)


def _number(text: str, type_: SqlType) -> Literal:
    """The number in a text; its value is None if it is none."""
    narrowest = number_type(text)
    if type_ in (INTEGER, BIGINT):
        is_whole = _WHOLE.fullmatch(text) is not None and narrowest in (INTEGER, BIGINT)
        return Literal(int(text) if is_whole else None, narrowest or type_)
    if narrowest is None or narrowest == DOUBLE or type_ == DOUBLE:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        return Literal(number if math.isfinite(number) else None, DOUBLE)
    value = PythonDecimal(text.strip())
    return Literal(PythonDecimal(f"{value:f}") if isinstance(narrowest, Decimal) else int(value), narrowest)
