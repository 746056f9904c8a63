"""The properties of WITH, as the analyzer checks them and the shell completes them (reference §2.1)."""

from __future__ import annotations

from dataclasses import dataclass

CREATE, CREATE_AS, INSERT, SINK = "CREATE", "CREATE AS", "INSERT", "CREATE SINK"
_BOTH = frozenset({CREATE, CREATE_AS})
#: usual delimiters; other characters are allowed too
DELIMITERS = ("SPACE", "TAB", ",", "|", ";")


@dataclass(frozen=True)
class Rule:
    """One property: the type of its value, the statements that allow it, its smallest and greatest value.

    ``choices``: its usual values.
    """

    type: str
    where: frozenset[str] = _BOTH
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()


#: names that other products have, in upper case -> what to write instead
INSTEAD = {
    "BOOTSTRAP.SERVERS": "The server knows its brokers: remove it",
    "CONNECTOR": "Write KAFKA_TOPIC = 'topic', or SOURCE for a file or a table of a database",
    "PROPERTIES.BOOTSTRAP.SERVERS": "The server knows its brokers: remove it",
    "PROPERTIES.GROUP.ID": "Queries know how far they have read without a group: remove it",
    "SCAN.STARTUP.MODE": "A query says where it begins: START = 'earliest' in WITH of its CREATE … AS SELECT",
}
#: name -> rule
PROPERTIES: dict[str, Rule] = {
    # a folder; of a sink whether it writes one
    "ARCHIVE": Rule("string or boolean", frozenset({CREATE, SINK})),
    "COMMIT_INTERVAL": Rule("string", frozenset({SINK})),
    "ENVELOPE": Rule("string", frozenset({CREATE}), choices=("debezium", "maxwell")),
    "EVOLVE": Rule("string", frozenset({CREATE_AS}), choices=("backfill", "from-now", "in-place")),
    "FORMAT": Rule("string"),
    "HEADERS": Rule("string", frozenset({CREATE_AS})),
    "HISTORY": Rule("string", frozenset({CREATE, CREATE_AS}), choices=("keep",)),
    "INFER": Rule("string", frozenset({CREATE}), choices=("sample",)),
    "KAFKA_TOPIC": Rule("string"),
    "KEY_DELIMITER": Rule("string", choices=DELIMITERS),
    "KEY_FORMAT": Rule("string"),
    "KEY_PROTOBUF_NULLABLE_REPRESENTATION": Rule("string", choices=("OPTIONAL", "WRAPPER")),
    "KEY_SCHEMA_FULL_NAME": Rule("string"),
    "KEY_SCHEMA_ID": Rule("integer"),
    "LAKE": Rule("string", frozenset({CREATE})),
    "LATENESS": Rule("string"),
    "MAX_AHEAD": Rule("string"),
    "ORDER": Rule("string", frozenset({CREATE_AS, INSERT}), choices=("arrival", "event-time")),
    # each partition costs the broker files and memory, so a larger number could bring it down
    "PARTITIONS": Rule("integer", least=1, most=10_000),
    "PARTITION_BY": Rule("string", frozenset({SINK})),
    "PATH": Rule("string", frozenset({SINK})),
    "QUERY_ID": Rule("string", frozenset({INSERT})),
    "REFRESH": Rule("string", frozenset({CREATE})),
    "REPLICAS": Rule("integer", least=-1, most=10_000),
    "REPLICATED": Rule("boolean"),
    "RETENTION_MS": Rule("integer", least=-(2**63), most=2**63 - 1),
    "SOURCE": Rule("string", frozenset({CREATE})),
    "SOURCED_BY_CONNECTOR": Rule("string", frozenset({CREATE})),
    "START": Rule("string or integer", frozenset({CREATE_AS, INSERT}), choices=("earliest", "latest")),
    "SWAP": Rule("string", frozenset({CREATE_AS}), choices=("auto", "manual")),
    "TABLE": Rule("string", frozenset({CREATE, SINK})),
    "TIMESTAMP": Rule("string"),
    "TIMESTAMP_FORMAT": Rule("string"),
    "TOPIC_PATTERN": Rule("string", frozenset({CREATE})),
    "TTL": Rule("string", frozenset({CREATE_AS})),
    "TYPE": Rule("string", frozenset({SINK}), choices=("delta", "iceberg", "jdbc", "parquet")),
    "URL": Rule("string", frozenset({SINK})),
    "VALUE_AVRO_SCHEMA_FULL_NAME": Rule("string"),
    "VALUE_DELIMITER": Rule("string", choices=DELIMITERS),
    "VALUE_FORMAT": Rule("string"),
    "VALUE_PROTOBUF_NULLABLE_REPRESENTATION": Rule("string", choices=("OPTIONAL", "WRAPPER")),
    "VALUE_SCHEMA_FULL_NAME": Rule("string"),
    "VALUE_SCHEMA_ID": Rule("integer"),
    "VERIFY": Rule("string", frozenset({CREATE_AS}), choices=("rows", "keys", "values")),
    "WINDOW_OFFSET": Rule("string", frozenset({CREATE})),
    "WINDOW_SIZE": Rule("string", frozenset({CREATE})),
    "WINDOW_TIME_ZONE": Rule("string", frozenset({CREATE})),
    "WINDOW_TYPE": Rule(
        "string", frozenset({CREATE}), choices=("TUMBLING", "HOPPING", "SESSION", "CUMULATIVE", "SLIDING")
    ),
    "WRAP_SINGLE_VALUE": Rule("boolean"),
}
