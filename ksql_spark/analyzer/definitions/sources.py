"""CREATE STREAM and CREATE TABLE over a topic (reference §2.1); replacing and extending them (§2.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ksql_spark import deadline, topic_patterns
from ksql_spark.analyzer.base import settings
from ksql_spark.analyzer.base.failures import failure, invalid, place, within_statement
from ksql_spark.analyzer.base.scope import BoundRelation, Scope
from ksql_spark.analyzer.base.serialization import check_columns, check_wrapping, require_format
from ksql_spark.analyzer.definitions.properties import Properties, with_naming
from ksql_spark.analyzer.definitions.replacing import evolve_hint
from ksql_spark.analyzer.expressions.binding import bind_check
from ksql_spark.analyzer.expressions.type_nodes import bind_type
from ksql_spark.expressions import Call, ColumnRef, columns_in, name_text, walk
from ksql_spark.formats import CAPABILITIES, ENVELOPES
from ksql_spark.functions.user import is_user_call
from ksql_spark.grammar import nodes, render
from ksql_spark.grammar.statements.sources import AlterSource, CreateSource, RefreshSchema
from ksql_spark.grammar.with_properties import CREATE
from ksql_spark.metastore.sources import TABLE, Constraint, DataSource, FormatSpec
from ksql_spark.metastore.store import MetaStore
from ksql_spark.schema import RESERVED_COLUMNS, Column, Role, Schema
from ksql_spark.types import BOOLEAN, BYTES, HEADERS, STRING

#: the alternative in SCHEMA_REGISTRY_MISSING
OR_LIST_COLUMNS = ", or list the columns in the statement"


def bind_create_source(
    statement: CreateSource, metastore: MetaStore, config: Mapping[str, Any]
) -> DataSource:
    """The stream or table that ``statement`` declares.

    The caller handles IF NOT EXISTS. Columns from a schema registry must have been written out: see
    infer_columns.

    Args:
        statement: CREATE [OR REPLACE] [SOURCE] STREAM | TABLE.
        metastore: for custom types, and for the source that is replaced.
        config: server and session properties.

    Raises:
        KsqlError: with the position of the column or property that breaks a rule.
    """
    with within_statement(statement):
        return _bind(statement, metastore, config)


def _bind(statement: CreateSource, metastore: MetaStore, config: Mapping[str, Any]) -> DataSource:
    check_source_name(statement, metastore)
    existing = metastore.find(statement.name)
    _check_replaceable(statement, existing)
    properties = Properties(statement.properties, CREATE)
    topic = _pattern(properties, statement) or properties.get("KAFKA_TOPIC")
    if topic is None and "LAKE" in properties:
        topic = f"{settings.text(config, 'ksql.output.topic.name.prefix') or ''}{statement.name}"
    if topic is None:
        raise invalid(
            "Missing required property \"KAFKA_TOPIC\" which has no default value.", statement,
            hint="Add WITH (KAFKA_TOPIC = '...').",
        )  # fmt: skip
    if not topic.strip():
        raise invalid("KAFKA_TOPIC must not be empty.", properties.node("KAFKA_TOPIC"))
    schema = _schema(statement, metastore, config)
    window = properties.windowing()
    key_format, value_format = _formats(statement, properties, schema, config)
    _check_inferred(statement, schema, key_format, value_format)
    if statement.kind == TABLE and not schema.key:
        raise invalid(
            "Tables require a PRIMARY KEY. Please define the PRIMARY KEY.", statement,
            hint="Write for instance: id INT PRIMARY KEY.",
        )  # fmt: skip
    if not statement.columns:
        raise invalid(
            "No columns supplied. The statement does not define any columns.", statement,
            hint="List the columns; or add INFER = 'sample' to WITH, which takes them from records of the "
            "topic; or use AVRO, JSON_SR or PROTOBUF, which take them from a schema registry.",
        )  # fmt: skip
    if window is not None and not schema.key:
        raise invalid("Windowed sources require a key column.", properties.node("WINDOW_TYPE"))
    retention = properties.get("RETENTION_MS")
    if retention is not None and statement.kind == TABLE and window is None:
        raise invalid(
            "Cannot define RETENTION_MS on an unwindowed table: its topic is compacted.",
            properties.node("RETENTION_MS"),
        )
    constraints = _constraints(statement, schema, metastore, config)
    source = DataSource(
        statement.name, statement.kind, schema, topic, key_format, value_format,
        partitions=properties.get("PARTITIONS"), replicas=properties.get("REPLICAS"), retention_ms=retention,
        timestamp=properties.timestamp(schema), window=window,
        read_only=bool(statement.source) or "LAKE" in properties,
        statement=statement.source_text, is_replicated=properties.replicated(statement.kind, window),
        constraints=constraints, lateness_ms=properties.lateness_ms(statement.kind),
        max_ahead_ms=properties.max_ahead_ms(statement.kind),
        history_ms=properties.history_ms(statement.kind),
        archive=_archive(properties, statement.kind),
    )  # fmt: skip
    if existing is not None:
        check_replacement(existing, source, statement)
    return source


#: properties only of streams over one topic
_OF_ONE_TOPIC = ("KAFKA_TOPIC", "PARTITIONS", "REPLICAS", "RETENTION_MS", "ARCHIVE", "INFER", "LAKE")


def _pattern(properties: Properties, statement: CreateSource) -> str | None:
    """The topic of a stream with TOPIC_PATTERN (beyond ksqlDB); None for one over one topic.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    pattern, node = properties.get("TOPIC_PATTERN"), properties.node("TOPIC_PATTERN")
    if pattern is None:
        return None
    if statement.kind == TABLE:
        raise invalid(
            "TOPIC_PATTERN is for streams: a row of a table is what one topic says of its key.", node,
            hint="CREATE a stream, and a table AS SELECT ... GROUP BY of it.",
        )  # fmt: skip
    if not statement.columns:
        raise invalid(
            "A stream with TOPIC_PATTERN needs its columns in the statement: each topic has its own schema.",
            statement,
        )
    for name in _OF_ONE_TOPIC:
        if name in properties:
            raise invalid(f"'{name}' is not for streams with TOPIC_PATTERN.", properties.node(name))
    problem = topic_patterns.problem(pattern) if pattern else "it is empty"
    if problem is not None:
        raise invalid(
            f"TOPIC_PATTERN is not a regular expression of topics: {problem}.", node,
            hint="For instance: 'orders\\..*' for orders.eu and orders.us.",
        )  # fmt: skip
    return topic_patterns.topic_of(pattern)


def _archive(properties: Properties, kind: str) -> str | None:
    """The folder that ARCHIVE names.

    Raises:
        KsqlError: it is none, or not for this statement.
    """
    folder, node = properties.get("ARCHIVE"), properties.node("ARCHIVE")
    if folder is None:
        return None
    if kind == TABLE:
        raise invalid("ARCHIVE is for streams: the topic of a table has no past.", node)
    if "LAKE" in properties:
        raise invalid("'ARCHIVE' is not for streams with LAKE: their topics keep all rows.", node)
    if not isinstance(folder, str) or not folder.strip():
        raise invalid(
            "ARCHIVE of a stream is the folder of an archive.", node, hint="ARCHIVE = '/lake/trips'"
        )
    if "://" in folder and not folder.startswith(("s3://", "s3a://")):
        raise invalid("ARCHIVE must be a folder of the server's file system, or one of S3.", node)
    return folder


def check_source_name(statement: nodes.NamedStatement, metastore: MetaStore) -> None:
    """Refuse names that streams and tables cannot have: those of views, and those that no part of a topic's
    name can be (§1.1).
    """
    if not statement.name or not all(c.isascii() and (c.isalnum() or c in "_-") for c in statement.name):
        raise invalid(
            f"Illegal argument at name `{statement.name}`. Source names may only contain alphanumeric "
            "values, '_' or '-'.",
            statement.this,
        )
    if statement.name in metastore.views():
        raise invalid(
            f"Cannot add {str(statement.args['kind']).lower()} '{statement.name}': A view with the same name "
            "already exists.",
            statement.this, hint=f"DROP VIEW {name_text(statement.name)}; removes it.",
        )  # fmt: skip


def _check_replaceable(statement: CreateSource, existing: DataSource | None) -> None:
    word = statement.kind.lower()
    if statement.or_replace and (statement.source or (existing is not None and existing.read_only)):
        raise invalid(
            f"Cannot add {word} '{statement.name}': CREATE OR REPLACE is not supported on source {word}s.",
            statement.this,
        )
    if not statement.or_replace:
        check_free(statement, existing)


def check_free(statement: nodes.NamedStatement, existing: DataSource | None) -> None:
    """Refuse a name that is in use."""
    if existing is None:
        return
    word, other = str(statement.args["kind"]).lower(), existing.kind.lower()
    is_replaceable = word == other and not existing.read_only
    replacing = "Use CREATE OR REPLACE, or " if is_replaceable else "Choose another name, or "
    raise invalid(
        f"Cannot add {word} '{statement.name}': A {other} with the same name already exists.", statement.this,
        hint=f"{replacing}DROP {existing.kind} {name_text(existing.name)}; first.",
    )  # fmt: skip


# ---- columns ------------------------------------------------------------------------------------------

_KEY_WORDS = {"STREAM": "KEY", "TABLE": "PRIMARY KEY"}


def _schema(statement: CreateSource, metastore: MetaStore, config: Mapping[str, Any]) -> Schema:
    columns: list[Column] = []
    names: set[str] = set()
    for definition in statement.columns:
        deadline.check()
        column = _column(definition, statement, metastore, config)
        if column.name in names:
            raise invalid(f"Duplicate column names: `{column.name}`", definition)
        if column.role in (Role.HEADERS, Role.TOPIC):
            _check_headers(column, columns, definition)
        columns.append(column)
        names.add(column.name)
    return Schema.of(columns)


def _column(
    definition: nodes.ColumnDefinition,
    statement: CreateSource,
    metastore: MetaStore,
    config: Mapping[str, Any],
) -> Column:
    name, constraint = definition.name, definition.constraint
    if name in RESERVED_COLUMNS:
        raise failure(
            "COLUMN_RESERVED", definition, name=f"'{name}'", what="You cannot use it as a name for a column."
        )
    type_ = bind_type(definition.data_type, metastore)
    if constraint is None:
        return Column(name, type_)
    if constraint in ("HEADERS", "HEADER"):
        if not settings.flag(config, "ksql.headers.columns.enabled"):
            raise invalid("Cannot create header columns: ksql.headers.columns.enabled is false.", definition)
        expected = HEADERS if constraint == "HEADERS" else BYTES
        if type_ != expected:
            label = "HEADERS" if constraint == "HEADERS" else f"HEADER('{definition.header_key}')"
            raise invalid(f"Invalid type for {label} column: expected {expected}, got {type_}.", definition)
        return Column(name, type_, Role.HEADERS, definition.header_key)
    if constraint == "TOPIC":
        if type_ != STRING:
            raise invalid(f"Invalid type for TOPIC column: expected {STRING}, got {type_}.", definition)
        return Column(name, type_, Role.TOPIC)
    word = _KEY_WORDS[statement.kind]
    if constraint != word:
        raise invalid(
            f"Column `{name}` is a '{constraint}' column: please use '{word}' for "
            f"{'streams' if statement.kind == 'STREAM' else 'tables'}.",
            definition,
        )
    return Column(name, type_, Role.KEY)


def _check_headers(column: Column, before: list[Column], node: nodes.ColumnDefinition) -> None:
    if column.role is Role.TOPIC:
        if any(c.role is Role.TOPIC for c in before):
            raise invalid("Schema already contains a TOPIC column.", node)
        return
    headers = [c for c in before if c.role is Role.HEADERS]
    if any(c.header_key is None for c in headers):
        raise invalid("Schema already contains a HEADERS column.", node)
    if column.header_key is not None and any(c.header_key == column.header_key for c in headers):
        raise invalid(f"Schema already contains a HEADER('{column.header_key}') column.", node)


def _constraints(
    statement: CreateSource, schema: Schema, metastore: MetaStore, config: Mapping[str, Any]
) -> tuple[Constraint, ...]:
    """NOT NULL and CHECK in the statement (beyond ksqlDB), bound to its columns."""
    constraints: list[Constraint] = []
    checks = [check for column in statement.columns for check in column.checks] + statement.checks
    for definition in statement.columns:
        if definition.not_null:
            column = schema.find(definition.name)
            assert column is not None
            reference = ColumnRef(column.name, column.type)
            text = f"{name_text(column.name)} NOT NULL"
            constraints.append(Constraint(text, Call("IS NOT NULL", (reference,), BOOLEAN)))
    scope = Scope(
        (BoundRelation(statement.name, schema, statement.kind),),
        types=metastore.types(),
        ansi=settings.is_ansi(config),
    )
    for check in checks:
        bound = bind_check(check.this, scope.at("CHECK"))
        if any(map(is_user_call, walk(bound))):
            raise invalid("A CHECK cannot call user functions.", check)
        if not columns_in(bound):
            raise invalid("A CHECK must name a column.", check)
        constraints.append(Constraint(render(check), bound))
    if constraints and statement.source and statement.kind == TABLE:
        node = next((c for c in statement.columns if c.not_null), checks[0] if checks else statement)
        raise invalid(
            "A SOURCE TABLE cannot have constraints, since pull queries read its topic as it is.", node,
            hint="CREATE TABLE ... without SOURCE, and CREATE TABLE ... AS SELECT to query it.",
        )  # fmt: skip
    return tuple(constraints)


# ---- formats ------------------------------------------------------------------------------------------


def _formats(
    statement: CreateSource, properties: Properties, schema: Schema, config: Mapping[str, Any]
) -> tuple[FormatSpec, FormatSpec]:
    _, key_node = properties.format_name("KEY")
    _, value_node = properties.format_name("VALUE")
    names = format_names(properties, statement, config)
    key_name, value_name = names["KEY"], names["VALUE"]
    envelope = properties.envelope(value_name)
    if not schema.key and key_node is None and not CAPABILITIES[key_name].registry:
        key_name = "NONE" if statement.columns else key_name
    key_format = with_naming(properties.format_spec("KEY", key_name), "KEY", config)
    value_format = with_naming(properties.format_spec("VALUE", value_name), "VALUE", config)
    if schema.key:
        check_columns(key_name, schema.key, is_key=True, node=statement)
    if value_name == "NONE":
        raise invalid("The 'NONE' format can only be used for keys.", value_node or statement)
    check_columns(value_name, schema.value, is_key=False, node=value_node or statement)
    if envelope is not None:
        if not schema.value:
            raise invalid("A source with an ENVELOPE needs a value column.", properties.node("ENVELOPE"))
        has_records = schema.key and key_name in ENVELOPES[envelope].formats
        key_format = replace(key_format, envelope=envelope if has_records else None)
        return key_format, replace(value_format, envelope=envelope)
    if schema.value:
        check_wrapping(
            value_name, len(schema.value), value_format.wrapped, properties.node("WRAP_SINGLE_VALUE")
        )
    return key_format, replace(
        value_format, wrapped=effective_wrapping(value_format, len(schema.value), config)
    )


def format_names(
    properties: Properties, statement: CreateSource, config: Mapping[str, Any]
) -> dict[str, str]:
    """The names of the KEY and VALUE formats: those of the statement, else the defaults.

    With an ENVELOPE, keys are in the format of values by default.

    Raises:
        KsqlError: an unknown format; no value format and no default for it.
    """
    key_name, _ = properties.format_name("KEY")
    value_name, _ = properties.format_name("VALUE")
    if value_name is None:
        default = settings.text(config, "ksql.persistence.default.format.value")
        if default is None and "LAKE" in properties:
            default = "JSON"
        if default is None:
            raise invalid(
                "Statement is missing the 'VALUE_FORMAT' property from the WITH clause. Either provide one "
                "or set a default via the 'ksql.persistence.default.format.value' config.",
                statement,
            )
        value_name = require_format(default, statement)
    if key_name is None and "ENVELOPE" in properties:
        key_name = value_name  # keys are records, too
    if key_name is None:
        default = settings.text(config, "ksql.persistence.default.format.key")
        key_name = require_format(default or "KAFKA", statement)
    return {"KEY": key_name, "VALUE": value_name}


def effective_wrapping(value_format: FormatSpec, columns: int, config: Mapping[str, Any]) -> bool | None:
    """WRAP_SINGLE_VALUE, else ksql.persistence.wrap.single.values if the format supports both ways."""
    if value_format.wrapped is not None or columns != 1:
        return value_format.wrapped
    default = settings.text(config, "ksql.persistence.wrap.single.values")
    capability = CAPABILITIES[value_format.name]
    if default is None or not (capability.wrapped and capability.unwrapped):
        return None
    return default.strip().lower() == "true"


def _check_inferred(statement: CreateSource, schema: Schema, key: FormatSpec, value: FormatSpec) -> None:
    """Refuse a side without columns whose format keeps schemas: columns must be inferred first."""
    for side, spec, columns in (("key", key, schema.key), ("value", value, schema.value)):
        if not columns and CAPABILITIES[spec.name].registry:
            raise failure(
                "SCHEMA_REGISTRY_MISSING", statement, what=f"Taking the {side} columns from a schema",
                alternative=OR_LIST_COLUMNS,
            )  # fmt: skip


# ---- OR REPLACE, ALTER --------------------------------------------------------------------------------


def check_replacement(old: DataSource, new: DataSource, statement: nodes.NamedStatement) -> None:
    """Refuse a CREATE OR REPLACE that does more than append value columns (reference §2.3)."""
    word = new.kind.lower()
    hint = (
        "CREATE OR REPLACE may only append value columns."
        if not new.is_sink
        else f"CREATE OR REPLACE ... AS SELECT may change WHERE, and append value columns. {evolve_hint(new)}"
    )

    def refuse(reason: str) -> Exception:
        text = f"Cannot add {word} '{new.name}': Cannot upgrade data source: {reason}"
        return invalid(text, statement.this, hint=hint)

    if old.kind != new.kind:
        raise refuse(
            f"DataSource '`{old.name}`' has type = {old.kind} which cannot be upgraded to type = {new.kind}."
        )
    for what, before, after in (
        ("topic", old.topic, new.topic),
        ("key format", old.key_format, new.key_format),
        ("value format", old.value_format, new.value_format),
        ("timestamp column", old.timestamp, new.timestamp),
        ("window", old.window, new.window),
        ("constraints", [c.text for c in old.constraints], [c.text for c in new.constraints]),
    ):
        if before != after:
            raise refuse(f"the {what} cannot change.")
    if old.schema.key != new.schema.key:
        raise refuse(f"key columns must stay the same: {', '.join(map(str, old.schema.key))}.")
    same_columns = new.schema.value[: len(old.schema.value)]
    changed = [c for c, now in zip(old.schema.value, same_columns, strict=False) if c != now]
    changed += old.schema.value[len(same_columns) :]
    if changed:
        raise refuse(
            f"The following columns are changed, missing or reordered: [{', '.join(map(str, changed))}]."
        )
    for column in new.schema.value:
        written = next((c.type for c in old.dropped if c.name == column.name), column.type)
        if not CAPABILITIES[old.value_format.name].reads(written, column.type):
            raise refuse(f"rows in its topic have {column.name} as {written}, not {column.type}.")


def with_past(new: DataSource, old: DataSource) -> DataSource:
    """``new``, with what the topic of ``old``, its earlier version, has of earlier ones."""
    names = {column.name for column in new.schema.value}
    dropped = (column for column in (*old.dropped, *old.schema.value) if column.name not in names)
    return replace(new, dropped=tuple(dropped), past_from_ms=old.past_from_ms)


def check_alterable(statement: AlterSource | RefreshSchema, metastore: MetaStore) -> DataSource:
    """The stream or table of an ALTER.

    Raises:
        KsqlError: SOURCE_UNKNOWN; INVALID_STATEMENT if the kind is wrong, the source is read-only or was
        created by a query.
    """
    source = metastore.require(statement.name, place(statement.this))
    word = source.kind.lower()
    if source.kind != statement.kind:
        raise invalid(
            f"Incompatible data source type is {source.kind}, but statement was ALTER {statement.kind}.",
            statement.this,
            hint=f"Write ALTER {source.kind} {name_text(source.name)}.",
        )
    if source.read_only:
        raise invalid(
            f"Cannot alter {word} '{source.name}': ALTER operations are not supported on source {word}s.",
            statement.this,
        )
    if source.is_sink:
        raise invalid(
            f"ALTER command is not supported for CREATE ... AS statements: {source.name}.",
            statement.this,
            hint=f"Use CREATE OR REPLACE {source.kind} {source.name} AS SELECT ...",
        )  # fmt: skip
    return source


def bind_alter_source(statement: AlterSource, metastore: MetaStore) -> DataSource:
    """The stream or table with the columns of ALTER … ADD COLUMN appended (reference §2.3).

    Raises:
        KsqlError: SOURCE_UNKNOWN; INVALID_STATEMENT if the kind is wrong, the source is read-only or was
        created by a query, or a column exists.
    """
    with within_statement(statement):
        source = check_alterable(statement, metastore)
        columns = list(source.schema.columns)
        for definition in statement.columns:
            if definition.constraint is not None:
                raise invalid("Only value columns can be added.", definition)
            if definition.name in RESERVED_COLUMNS:
                raise failure(
                    "COLUMN_RESERVED", definition, name=f"'{definition.name}'",
                    what="You cannot use it as a name for a column.",
                )  # fmt: skip
            if any(c.name == definition.name for c in columns):
                raise invalid(
                    f"Cannot add column `{definition.name}` to schema. "
                    "A column with the same name already exists.",
                    definition,
                )
            columns.append(Column(definition.name, bind_type(definition.data_type, metastore)))
        schema = Schema.of(columns)
        check_columns(source.value_format.name, schema.value, is_key=False, node=statement)
        return replace(source, schema=schema)
