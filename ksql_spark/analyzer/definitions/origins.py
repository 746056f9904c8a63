"""Binds LAKE in CREATE STREAM and CREATE TABLE: the table outside Kafka that they follow (beyond ksqlDB)."""

from __future__ import annotations

from ksql_spark.analyzer.base.failures import failure, invalid, within_statement
from ksql_spark.analyzer.definitions.properties import Properties
from ksql_spark.analyzer.definitions.sinks import check_catalog
from ksql_spark.errors import nearest
from ksql_spark.grammar.statements.sources import CreateSource
from ksql_spark.grammar.with_properties import CREATE
from ksql_spark.metastore.origins import CSV, JSON, Origin
from ksql_spark.metastore.sinks import DATABASE_URL, DELTA, ICEBERG, JDBC, PARQUET, folded
from ksql_spark.metastore.sources import TABLE, DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.types import Array, Decimal, Map, Primitive, SqlType, Struct, contains_variant

_FORMATS = (CSV, DELTA, ICEBERG, JDBC, JSON, PARQUET)
#: ends of files' names -> what is in them
_ENDINGS = {"csv": CSV, "json": JSON, "jsonl": JSON, "ndjson": JSON, "parquet": PARQUET}
#: properties that say something about records that others write
_OF_RECORDS = ("ENVELOPE", "INFER", "WINDOW_OFFSET", "WINDOW_SIZE", "WINDOW_TIME_ZONE", "WINDOW_TYPE")
#: properties only of streams: a table's rows have no time, and stay
_OF_STREAMS = ("RETENTION_MS", "TIMESTAMP")


def bind_origin(statement: CreateSource, source: DataSource, metastore: MetaStore) -> Origin | None:
    """Bind the external table that the stream or table created by ``statement`` follows; None without one.

    Args:
        statement: CREATE STREAM or TABLE … WITH (…).
        source: the stream or table, from bind_create_source.
        metastore: has the other streams and tables.

    Raises:
        KsqlError: with the position of the property that breaks a rule.
    """
    with within_statement(statement):
        properties = Properties(statement.properties, CREATE)
        if "LAKE" in properties:
            return _bind(statement, properties, source, metastore)
        for name in ("REFRESH", "TABLE"):
            if name in properties:
                raise failure(
                    "PROPERTY_IN_WITH",
                    properties.node(name),
                    name=name,
                    reason="it needs the property SOURCE or LAKE",
                )
        return None


def _bind(
    statement: CreateSource, properties: Properties, source: DataSource, metastore: MetaStore
) -> Origin:
    path, word = properties.get("LAKE"), _word(properties)
    if not path.strip():
        raise invalid(f"{word} must not be empty.", properties.node("LAKE"))
    kind = source.kind.lower()
    for name in (*_OF_RECORDS, *(_OF_STREAMS if source.kind == TABLE else ())):
        if name in properties:
            raise invalid(f"'{name}' is not for {kind}s with {word}.", properties.node(name))
    if statement.source or statement.or_replace:
        what = "SOURCE" if statement.source else "OR REPLACE"
        hint = f"DROP {source.kind} first."
        raise invalid(f"{what} is not for {kind}s with {word}.", properties.node("LAKE"), hint=hint)
    if source.constraints and source.kind == TABLE:
        raise invalid(
            f"A table with {word} cannot have constraints: its rows are those of the lake.", statement
        )
    if source.schema.headers:
        raise invalid("A lake table has no headers.", statement, hint="Leave the column with HEADERS out.")
    others = [other.name for other in metastore.sources() if other.topic == source.topic]
    others = [name for name in others if name != source.name]
    if others:
        raise invalid(
            f"The topic {source.topic} is that of {others[0]}. "
            f"A {kind} with {word} needs a topic of its own, because its rows are those of the lake.",
            properties.node("KAFKA_TOPIC") or statement,
            hint="Give it another KAFKA_TOPIC.",
        )
    format_ = _format(properties, statement)
    check_catalog(properties, "LAKE", path, format_)
    if format_ == JDBC and source.kind != TABLE:
        reason = "a database does not say which rows are new. A stream needs files, delta or iceberg"
        raise failure("PROPERTY_IN_WITH", properties.lake_format, name="FORMAT", reason=reason)
    if format_ == JDBC and not DATABASE_URL.match(path):
        raise failure(
            "PROPERTY_IN_WITH", properties.node("LAKE"), name=word,
            reason="it is no URL of PostgreSQL or SQLite",
            hint="For instance: 'postgresql://user:password@host:5432/database'.",
        )  # fmt: skip
    table = properties.get("TABLE")
    if table is not None and format_ != JDBC:
        raise failure(
            "PROPERTY_IN_WITH", properties.node("TABLE"), name="TABLE", reason=f"only '{JDBC}' has it"
        )
    if format_ == JDBC and table is None:
        table = folded(source.name)
    for column in source.schema.columns:
        if contains_variant(column.type):
            raise invalid(
                f"A lake table has no VARIANT: {column}.", statement,
                hint="Declare a STRING, and PARSE_JSON(text) in queries.",
            )  # fmt: skip
        if not _can_have(format_, column.type):
            reason = f"{format_} cannot have the column {column.name}, which is {column.type}."
            raise invalid(reason, statement)
    refresh = properties.get("REFRESH")
    refresh_ms = 60_000 if refresh is None else properties.duration("REFRESH", refresh)
    if refresh_ms <= 0:
        raise failure(
            "PROPERTY_IN_WITH", properties.node("REFRESH"), name="REFRESH", reason="it must be positive"
        )
    return Origin(path, format_, table, refresh_ms)


def _format(properties: Properties, statement: CreateSource) -> str:
    node = properties.lake_format
    if node is None and (format_ := _format_of(properties.get("LAKE"))) is not None:
        return format_
    if node is None:
        raise invalid(
            f"{_word(properties)} needs the property FORMAT, which says what is there.", statement,
            hint=f"FORMAT = '{PARQUET}', for instance; VALUE_FORMAT is that of the topic.",
        )  # fmt: skip
    format_ = str(node.value).lower()
    if format_ not in _FORMATS:
        near = nearest(format_, _FORMATS)
        raise failure(
            "PROPERTY_IN_WITH", node, name="FORMAT", reason=f"'{format_}' is none of {', '.join(_FORMATS)}",
            hint=f"Did you mean '{near}'?" if near else "VALUE_FORMAT is the format of the topic.",
        )  # fmt: skip
    return format_


def _format_of(path: str) -> str | None:
    """The format that the end of a path or the beginning of a URL tells, or None if neither does."""
    if DATABASE_URL.match(path):
        return JDBC
    return _ENDINGS.get(path.rpartition(".")[2].lower())


def _word(properties: Properties) -> str:
    """LAKE or SOURCE, as the statement has it."""
    node = properties.node("LAKE")
    return "LAKE" if node is None else node.name.upper()


def _can_have(format_: str, type_: SqlType) -> bool:
    if format_ == CSV:
        return isinstance(type_, (Primitive, Decimal))
    if format_ != JSON:
        return True
    match type_:
        case Map():
            return False
        case Array(element):
            return _can_have(format_, element)
        case Struct(fields):
            return all(_can_have(format_, field.type) for field in fields)
    return True
