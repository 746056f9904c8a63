"""Statements in, queries on Spark, rows out. The server imports this package, not its modules."""

from ksql_spark.engine.cluster import Cluster
from ksql_spark.engine.engine import Engine
from ksql_spark.engine.metrics import Figure
from ksql_spark.engine.request import Request
from ksql_spark.runtime.inserts import Acknowledged, RowInserter
from ksql_spark.runtime.reading.lookups import LookUp, NotHereError
from ksql_spark.runtime.reading.protobuf_rows import ProtobufRows
from ksql_spark.runtime.reading.results import QueryStream, RawJson, ResultColumn, Row, Rows

__all__ = [
    "Acknowledged",
    "Cluster",
    "Engine",
    "Figure",
    "LookUp",
    "NotHereError",
    "ProtobufRows",
    "QueryStream",
    "RawJson",
    "Request",
    "ResultColumn",
    "Row",
    "RowInserter",
    "Rows",
]
