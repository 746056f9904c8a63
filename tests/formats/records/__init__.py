"""The contract between the decoders of the JVM and those of Python: one table of records, which both read.

A new format has its records in a module of its own, and a line in RECORDS.
"""

from tests.formats.records.avro import AVRO
from tests.formats.records.delimited import DELIMITED
from tests.formats.records.json import JSON
from tests.formats.records.json_sr import JSON_SR
from tests.formats.records.kafka import KAFKA
from tests.formats.records.protobuf import PROTOBUF
from tests.formats.records.record import REGISTRY, Bad, Record
from tests.formats.records.texts import REPLACED, TEXTS
from tests.formats.records.times import TIMES

__all__ = ["RECORDS", "REGISTRY", "REPLACED", "Bad", "Record"]

RECORDS = [*AVRO, *DELIMITED, *JSON, *JSON_SR, *KAFKA, *PROTOBUF, *TEXTS, *TIMES]
