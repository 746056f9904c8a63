"""Records in JSON_SR: what Connect's converter writes, and what its schema does not describe."""

from __future__ import annotations

from ksql_spark.formats import json_serde
from ksql_spark.types import INTEGER
from tests.formats.json_schemas import CONNECT, MISFITS, bound, framed
from tests.formats.records.record import BAD, Record, plain, record

JSON_SR = [
    *(
        Record(f"JSON_SR {text} of {schema}", serde, framed(text), (row or b"").decode())
        for schema, text, value, _ in CONNECT
        for serde, _ in [bound(schema)]
        for row in [json_serde(serde.columns).encode([value])]
    ),
    *(record(f"JSON_SR {text} of {schema}", bound(schema)[0], framed(text), BAD) for schema, text in MISFITS),
    plain("without a frame", "JSON_SR", '{"A": 1}', {"A": INTEGER}, BAD),
]
