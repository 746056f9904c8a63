"""Columns that come from a schema registry (reference §5.6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ksql_spark import analyzer, grammar
from ksql_spark.errors import KsqlError
from ksql_spark.formats.sampling import Sample
from ksql_spark.grammar.statements.sources import CreateAsSelect, CreateSource
from ksql_spark.metastore.serdes import record_spec
from ksql_spark.metastore.sources import DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.schema_registry import JSON, PROTOBUF
from tests.analyzer.registry import FakeRegistry


def record(**fields: Any) -> dict[str, Any]:
    listed = [{"name": n, "type": t} for n, t in fields.items()]
    return {"type": "record", "name": "n.R", "fields": listed}


@pytest.fixture
def registry() -> FakeRegistry:
    found = FakeRegistry()
    value = record(a="int", b={"type": "array", "items": record(c="string") | {"name": "C"}})
    value["fields"][1]["default"] = []
    found.add("t-value", value)
    found.add("t-key", "long")
    found.add("j-value", {"type": "object", "properties": {"x": {"type": "integer"}}}, JSON)
    found.add("p-value", 'syntax = "proto3"; message P { int32 x = 1; }', PROTOBUF)
    found.add("two-key", 'syntax = "proto3"; message P { int32 x = 1; int32 y = 2; }', PROTOBUF)
    found.add(
        "many-value", 'syntax = "proto3"; message P { int32 x = 1; } message Q { bool y = 1; }', PROTOBUF
    )
    found.add("bare-value", "int")
    found.add("odd-value", record(a=["null", "n.R"]))
    return found


def inferred(text: str, registry: FakeRegistry | None, **config: Any) -> CreateSource:
    statement = grammar.parse_one(text)
    assert isinstance(statement, CreateSource)
    return analyzer.infer_columns(statement, config, registry)


def create(text: str, registry: FakeRegistry | None, **config: Any) -> DataSource:
    return analyzer.bind_create_source(inferred(text, registry, **config), MetaStore(), config)


def refused(text: str, registry: FakeRegistry | None) -> KsqlError:
    with pytest.raises(KsqlError) as caught:
        create(text, registry)
    return caught.value


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO');",
            "`A` INTEGER, `B` ARRAY<STRUCT<`C` STRING>>",
        ),
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC='t', FORMAT='AVRO');",
            "`ROWKEY` BIGINT KEY, `A` INTEGER, `B` ARRAY<STRUCT<`C` STRING>>",
        ),
        ("CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', FORMAT='AVRO');",
         "`ROWKEY` BIGINT KEY, `V` INTEGER"),
        (
            "CREATE STREAM s (`k` INT KEY) WITH (KAFKA_TOPIC='j', VALUE_FORMAT='JSON_SR');",
            "`k` INTEGER KEY, `X` BIGINT",
        ),
        ("CREATE TABLE s (k INT PRIMARY KEY) WITH (KAFKA_TOPIC='p', VALUE_FORMAT='PROTOBUF');",
         "`K` INTEGER KEY, `X` INTEGER"),
        ("CREATE TABLE s "
         "WITH (KAFKA_TOPIC='t', KEY_FORMAT='AVRO', VALUE_FORMAT='PROTOBUF', VALUE_SCHEMA_ID=4);",
         "`ROWKEY` BIGINT KEY, `x` INTEGER"),
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC='any', VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=1);",
            "`a` INTEGER, `b` ARRAY<STRUCT<`c` STRING>>",
        ),
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC='bare', VALUE_FORMAT='AVRO', WRAP_SINGLE_VALUE=false);",
            "`ROWVAL` INTEGER",
        ),
        (
            "CREATE STREAM s (h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS) "
            "WITH (KAFKA_TOPIC='bare', VALUE_FORMAT='AVRO', WRAP_SINGLE_VALUE=false);",
            "`ROWVAL` INTEGER, `H` ARRAY<STRUCT<`KEY` STRING, `VALUE` BYTES>> HEADERS",
        ),
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC='many', VALUE_FORMAT='PROTOBUF', VALUE_SCHEMA_FULL_NAME='Q');",
            "`Y` BOOLEAN",
        ),
    ],
)  # fmt: skip
def test_columns(registry: FakeRegistry, text: str, columns: str) -> None:
    assert str(create(text, registry).schema) == columns


def test_default_formats_infer_too(registry: FakeRegistry) -> None:
    config = {"ksql.persistence.default.format.value": "AVRO", "ksql.persistence.default.format.key": "AVRO"}
    found = create("CREATE STREAM s WITH (KAFKA_TOPIC='t');", registry, **config)
    assert str(found.schema).startswith("`ROWKEY` BIGINT KEY, `A` INTEGER")


def test_what_is_written_out_asks_the_registry_no_more(registry: FakeRegistry) -> None:
    written = inferred(
        "CREATE SOURCE TABLE `s_t` WITH (KAFKA_TOPIC='t', FORMAT='AVRO', VALUE_SCHEMA_ID=1, PARTITIONS=2);",
        registry,
    )
    assert written.source_text == (
        "CREATE SOURCE TABLE `s_t` "
        "(`ROWKEY` BIGINT PRIMARY KEY, `a` INTEGER, `b` ARRAY<STRUCT<`c` STRING>>) "
        "WITH (KAFKA_TOPIC = 't', FORMAT = 'AVRO', VALUE_SCHEMA_ID = 1, PARTITIONS = 2, "
        "VALUE_SCHEMA_FULL_NAME = 'n.R')"
    )
    again = grammar.parse_one(written.source_text)
    assert isinstance(again, CreateSource)
    found = analyzer.bind_create_source(again, MetaStore(), {})
    assert found.value_format.schema_id == 1 and found.value_format.full_name == "n.R"
    assert found.schema == analyzer.bind_create_source(written, MetaStore(), {}).schema


def test_statements_with_all_their_columns_do_not_ask(registry: FakeRegistry) -> None:
    statement = grammar.parse_one("CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO');")
    assert isinstance(statement, CreateSource)
    assert analyzer.infer_columns(statement, {}, registry) is statement
    assert registry.asked == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC='none', VALUE_FORMAT='AVRO');",
            "Schema for message values on topic 'none' does not exist in the Schema Registry.\n"
            "Subject: none-value.",
        ),
        (
            "CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='none', FORMAT='AVRO');",
            "Schema for message keys on topic 'none' does not exist",
        ),
        ("CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=77);", "Schema Id: 77"),
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC='j', VALUE_FORMAT='AVRO');",
            "Value schema is not in the expected format. You may want to set VALUE_FORMAT to 'JSON_SR'.",
        ),
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC='odd', VALUE_FORMAT='AVRO');",
            "Unable to verify if the value schema for topic: odd is compatible with ksqlDB.\n"
            "Reason: the record n.R is part of itself",
        ),
        ("CREATE STREAM s WITH (KAFKA_TOPIC='bare', VALUE_FORMAT='AVRO');", "'WRAP_SINGLE_VALUE=false'"),
        (
            "CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='two', FORMAT='PROTOBUF');",
            "The key schema for topic: two contains multiple columns",
        ),
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC='many', VALUE_FORMAT='PROTOBUF');",
            "Value schema has multiple schema definitions.\n\n- P\n- Q\n\n"
            "Please specify a schema full name in the WITH clause using VALUE_SCHEMA_FULL_NAME",
        ),
        (
            "CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=1);",
            "Table elements and VALUE_SCHEMA_ID cannot both exist for create statement.",
        ),
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', VALUE_SCHEMA_ID=1);",
            "VALUE_FORMAT should support schema inference when VALUE_SCHEMA_ID is provided. "
            "Current format is JSON.",
        ),
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC='p', VALUE_FORMAT='PROTOBUF', WRAP_SINGLE_VALUE=false);",
            "Format 'PROTOBUF' does not support 'WRAP_SINGLE_VALUE' set to 'false'.",
        ),
        ("CREATE TABLE s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO');", "Tables require a PRIMARY KEY."),
        ("CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='DELIMITED');", "No columns supplied."),
        ("CREATE STREAM s WITH (VALUE_FORMAT='AVRO');", 'Missing required property "KAFKA_TOPIC"'),
    ],
)
def test_refusals(registry: FakeRegistry, text: str, message: str) -> None:
    error = refused(text, registry)
    assert message in error.message and error.code // 100 == 400
    assert error.position is not None


@pytest.mark.parametrize(
    "text",
    [
        "CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO');",
        "CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', FORMAT='JSON_SR');",
        "CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='PROTOBUF', VALUE_SCHEMA_ID=4);",
    ],
)
def test_without_a_registry(text: str) -> None:
    error = refused(text, None)
    assert error.code == 42801 and "ksql.schema.registry.url" in error.message


# ---- CREATE … AS SELECT -------------------------------------------------------------------------------


def create_as(text: str, registry: FakeRegistry | None) -> DataSource:
    store = MetaStore()
    store.add(
        create("CREATE STREAM s (`k` INT KEY, `a` INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='AVRO');", None)
    )
    statement = grammar.parse_one(text)
    assert isinstance(statement, CreateAsSelect)
    return analyzer.bind_persistent(statement, store, {}, registry).sink


@pytest.mark.parametrize(
    ("format_", "schema", "message"),
    [
        (
            "AVRO",
            {"type": "record", "name": "R", "fields": [{"name": n, "type": "int"} for n in "ax"]},
            "x: the schema gives it no default, and allows no NULL.",
        ),
        (
            "JSON",
            {"properties": {"a": {"type": "integer", "connect.type": "int32"}, "x": {"type": "string"}},
             "required": ["x"]},
            "x: the schema requires it, gives it no default, and allows no NULL.",
        ),
        (
            "JSON",
            {"properties": {"a": {"type": "integer", "connect.type": "int32"}}, "required": 3},
            "it is not well-formed",
        ),
    ],
)  # fmt: skip
def test_a_sink_with_an_id_has_all_that_its_schema_requires(format_: str, schema: Any, message: str) -> None:
    registry = FakeRegistry()
    id_ = registry.add("x", schema, format_)
    name = "JSON_SR" if format_ == "JSON" else format_
    with pytest.raises(KsqlError, match=message):
        create_as(
            f"CREATE STREAM o WITH (VALUE_FORMAT='{name}', VALUE_SCHEMA_ID={id_}) AS SELECT * FROM s;",
            registry,
        )


def test_a_sink_with_an_id_has_the_first_columns_of_its_schema(registry: FakeRegistry) -> None:
    sink = create_as("CREATE STREAM o WITH (VALUE_SCHEMA_ID=1) AS SELECT * FROM s;", registry)
    assert (sink.value_format.schema_id, sink.value_format.full_name) == (1, "n.R")
    assert str(sink.schema) == "`k` INTEGER KEY, `a` INTEGER"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "CREATE STREAM o WITH (VALUE_SCHEMA_ID=1) AS SELECT `k`, `a`, `a` AS `b` FROM s;",
            "The following value columns are changed, missing or reordered: [`b` INTEGER]. "
            "Schema from schema registry is [`a` INTEGER, `b` ARRAY<STRUCT<`c` STRING>>]",
        ),
        (
            "CREATE STREAM o WITH (KEY_FORMAT='AVRO', KEY_SCHEMA_ID=2) AS SELECT * FROM s;",
            "The following key columns are changed, missing or reordered: [`k` INTEGER KEY]. "
            "Schema from schema registry is [`ROWKEY` BIGINT KEY]",
        ),
        (
            "CREATE STREAM o WITH (KEY_SCHEMA_ID=2) AS SELECT * FROM s;",
            "KEY_FORMAT should support schema inference",
        ),
        ("CREATE STREAM o WITH (VALUE_SCHEMA_ID=3) AS SELECT * FROM s;", "not in the expected format"),
        ("CREATE STREAM o WITH (VALUE_SCHEMA_ID=99) AS SELECT * FROM s;", "Schema Id: 99"),
    ],
)
def test_sinks_that_do_not_fit(registry: FakeRegistry, text: str, message: str) -> None:
    with pytest.raises(KsqlError) as caught:
        create_as(text, registry)
    assert message in caught.value.message


def test_an_id_needs_a_registry() -> None:
    with pytest.raises(KsqlError) as caught:
        create_as("CREATE STREAM o WITH (VALUE_SCHEMA_ID=1) AS SELECT * FROM s;", None)
    assert caught.value.code == 42801


# ---- INFER = 'sample' -----------------------------------------------------------------------------------


def sampled(
    text: str, records: Sequence[Sample], registry: FakeRegistry | None = None, **config: Any
) -> CreateSource:
    statement = grammar.parse_one(text)
    assert isinstance(statement, CreateSource)
    return analyzer.infer_columns(statement, config, registry, lambda topic: records)


def of_values(*values: bytes, key: bytes | None = None) -> list[Sample]:
    return [Sample(key, value) for value in values]


@pytest.mark.parametrize(
    ("properties", "records", "columns", "written"),
    [
        (
            "VALUE_FORMAT = 'JSON'",
            of_values(b'{"id": 1, "at": {"x": 1.5}}', b'{"id": null, "tags": ["a"], "rowtime": 1}', key=b"k"),
            "`ROWKEY` STRING KEY, `ID` BIGINT, `AT` STRUCT<`X` DOUBLE>, `TAGS` ARRAY<STRING>",
            "VALUE_FORMAT = 'JSON', KEY_FORMAT = 'KAFKA'",
        ),
        (
            "PARTITIONS = 1",
            [Sample(b'{"a": 1, "b": "x"}', b'{"a": 1, "B": 2, "c": 1e3}'), Sample(None, None)],
            "`A` BIGINT KEY, `B` STRING KEY, `C` DOUBLE",
            "PARTITIONS = 1, KEY_FORMAT = 'JSON', VALUE_FORMAT = 'JSON'",
        ),
        (
            "KEY_FORMAT = 'JSON', VALUE_FORMAT = 'DELIMITED', VALUE_DELIMITER = ';'",
            [Sample(b'{"a": {"m": {}}}', b"1;x"), Sample(b'{"a": null}', b"2;007")],
            "`ROWKEY` STRUCT<`A` STRUCT<`M` STRING>> KEY, `COL1` BIGINT, `COL2` STRING",
            "KEY_FORMAT = 'JSON', VALUE_FORMAT = 'DELIMITED', VALUE_DELIMITER = ';'",
        ),
        (
            "VALUE_FORMAT = 'JSON', WRAP_SINGLE_VALUE = false",
            of_values(b"[1]", b"null", b"no json"),
            "`ROWVAL` ARRAY<BIGINT>",
            "VALUE_FORMAT = 'JSON', WRAP_SINGLE_VALUE = FALSE",
        ),
        (
            "PARTITIONS = 1",
            of_values(b"\0\0\0\5", key=b"\0\0\0\0\0\0\0\1"),
            "`ROWKEY` BIGINT KEY, `ROWVAL` INTEGER",
            "PARTITIONS = 1, KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'KAFKA'",
        ),
    ],
)
def test_columns_and_formats_of_samples(
    properties: str, records: list[Sample], columns: str, written: str
) -> None:
    text = f"CREATE STREAM s WITH (KAFKA_TOPIC = 't', {properties}, INFER = 'sample');"
    statement = sampled(text, records)
    source = analyzer.bind_create_source(statement, MetaStore(), {})
    assert ", ".join(map(str, source.schema.columns)) == columns
    assert grammar.render(statement).endswith(f"WITH (KAFKA_TOPIC = 't', {written})")


def test_samples_name_their_schema(registry: FakeRegistry) -> None:
    old, new = registry.add("x", record(a="int")), registry.add("x", record(a="int", b="string"))
    records = [
        Sample(None, b"\0" + new.to_bytes(4, "big") + b"\2\2x"),
        Sample(None, b"\0" + old.to_bytes(4, "big") + b"\2"),
        Sample(None, b"\0\0\0\0\x63junk"),
    ]
    text = "CREATE STREAM s WITH (KAFKA_TOPIC = 'any', INFER = 'SAMPLE');"
    for columns in ("`A` INTEGER, `B` STRING",):
        assert f"({columns})" in grammar.render(sampled(text, records, registry))
    assert "VALUE_FORMAT = 'AVRO'" in grammar.render(sampled(text, records, registry))
    header = (("__value_schema_id", b"\1" + registry.guid(new).bytes),)
    by_guid = grammar.render(sampled(text, [Sample(None, b"\2\2x", header)], registry))
    assert "(`A` INTEGER, `B` STRING)" in by_guid and "'AVRO'" in by_guid
    proto = 'syntax = "proto3"; message P { int32 x = 1; } message Q { bool y = 1; }'
    schema_id = registry.add("p", proto, PROTOBUF)
    second = [Sample(None, b"\0" + schema_id.to_bytes(4, "big") + b"\2\2\x08\1")]
    assert "(`Y` BOOLEAN)" in grammar.render(sampled(text, second, registry))


@pytest.mark.parametrize(
    ("text", "records", "reason"),
    [
        ("CREATE STREAM s WITH (KAFKA_TOPIC = 't', INFER = 'guess');", [], "Expected 'sample'"),
        ("CREATE STREAM s WITH (KAFKA_TOPIC = 't', INFER = 'sample');", [], "no records with a value"),
        (
            "CREATE TABLE s WITH (KAFKA_TOPIC = 't', INFER = 'sample');",
            of_values(b"{}"),
            "no records with a key",
        ),
        (
            "CREATE STREAM s (k INT KEY, v INT) WITH (KAFKA_TOPIC = 't', INFER = 'sample');",
            of_values(b"{}"),
            "do not list all columns",
        ),
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', INFER = 'sample');",
            of_values(b"1"),
            "not JSON objects",
        ),
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', INFER = 'sample');",
            of_values(b"{"),
            "None of 1 values in topic 't' is JSON",
        ),
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'PROTOBUF_NOSR', INFER = 'sample');",
            of_values(b"\x08\1"),
            "do not describe their columns",
        ),
        (
            "CREATE STREAM s WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'AVRO', INFER = 'sample');",
            of_values(b"\x08\1"),
            "names a schema",
        ),
    ],
)
def test_samples_that_give_no_columns(
    text: str, records: list[Sample], reason: str, registry: FakeRegistry
) -> None:
    with pytest.raises(KsqlError, match=reason):
        sampled(text, records, registry)


# ---- subjects -------------------------------------------------------------------------------------------


def test_strategies_name_the_subject(registry: FakeRegistry) -> None:
    registry.add("n.R", record(a="int"))
    registry.add("t-n.R", record(b="int"))
    text = "CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', VALUE_SCHEMA_FULL_NAME='n.R');"
    name = "ksql.schema.registry.value.subject.name.strategy"
    by_record = create(text, registry, **{name: "RecordNameStrategy"})
    assert [c.name for c in by_record.schema.value] == ["A"]
    assert record_spec(by_record).value.subject == "n.R"
    java = "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy"
    by_both = create(text, registry, **{name: java})
    assert [c.name for c in by_both.schema.value] == ["B"]
    assert record_spec(by_both).value.subject == "t-n.R"
    assert record_spec(create(text, registry)).value.subject == "t-value"
    listed = create(
        "CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO');",
        registry,
        **{name: "RecordNameStrategy"},
    )
    own = "io.confluent.ksql.avro_schemas.KsqlDataSourceSchema"
    assert record_spec(listed).value.subject == own


def test_strategies_that_do_not_help(registry: FakeRegistry) -> None:
    name = "ksql.schema.registry.value.subject.name.strategy"
    text = "CREATE STREAM s WITH (KAFKA_TOPIC='none', VALUE_FORMAT='AVRO');"
    with pytest.raises(KsqlError, match="VALUE_SCHEMA_FULL_NAME says which record's schema is meant"):
        create(text, registry, **{name: "RecordNameStrategy"})
    with pytest.raises(KsqlError, match="Expected one of TopicNameStrategy"):
        create(text, registry, **{name: "MyStrategy"})


def test_columns_of_an_envelope(registry: FakeRegistry) -> None:
    row = record(id="int", name=["null", "string"])
    envelope = {
        "type": "record",
        "name": "Envelope",
        "fields": [
            {"name": "before", "type": ["null", row], "default": None},
            {"name": "after", "type": ["null", "n.R"], "default": None},
            {"name": "op", "type": "string"},
        ],
    }
    registry.add("e-value", envelope)
    registry.add("e-key", record(id="int"))
    text = "CREATE TABLE s {} WITH (KAFKA_TOPIC='e', VALUE_FORMAT='AVRO', ENVELOPE='debezium');"
    assert str(create(text.format(""), registry).schema) == "`ID` INTEGER KEY, `NAME` STRING"
    assert str(create(text.format("(`id` INT PRIMARY KEY)"), registry).schema).startswith("`id` INTEGER KEY")
    registry.add("e-value", record(a="int"))
    assert "it has no after" in refused(text.format(""), registry).message
    text = "CREATE TABLE s WITH (KAFKA_TOPIC='e', VALUE_FORMAT='JSON', INFER='sample', ENVELOPE='debezium');"
    assert "'INFER' is not for sources with an ENVELOPE" in refused(text, registry).message
