"""Serialization formats: which columns they support, how they encode and decode (reference §5)."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.errors import KsqlError, nearest
from ksql_spark.formats.avro.format import AvroSerde
from ksql_spark.formats.base import BadRecord, Serde
from ksql_spark.formats.capabilities import CAPABILITIES
from ksql_spark.formats.delimited import DelimitedSerde
from ksql_spark.formats.envelopes import ENVELOPES, EnvelopeSerde
from ksql_spark.formats.framed import FramedSerde
from ksql_spark.formats.json.format import JsonSerde
from ksql_spark.formats.json.registered import JsonSrSerde
from ksql_spark.formats.kafka import KafkaSerde
from ksql_spark.formats.none import NoneSerde
from ksql_spark.formats.protobuf.format import ProtobufNoSrSerde, ProtobufSerde
from ksql_spark.formats.spec import RecordSpec, SerdeSpec
from ksql_spark.schema import Column
from ksql_spark.schema_registry import SchemaRegistry

#: every format whose records can be read and written, by name
FORMATS: dict[str, type[Serde]] = {
    f.name: f
    for f in (
        *(AvroSerde, DelimitedSerde, JsonSerde, JsonSrSerde, KafkaSerde),
        *(NoneSerde, ProtobufNoSrSerde, ProtobufSerde),
    )
}


def bind(spec: SerdeSpec, registry: SchemaRegistry | None = None) -> Serde:
    """The serde of ``spec``; for ``registry`` see Serde.

    Raises:
        KsqlError: FORMAT_UNKNOWN; INVALID_STATEMENT for an invalid delimiter.
    """
    create = FORMATS.get(spec.format)
    if create is None:
        near = nearest(spec.format, FORMATS)
        names = ", ".join(sorted(FORMATS))
        raise KsqlError(
            "FORMAT_UNKNOWN",
            name=spec.format,
            hint=f"{f'Did you mean {near}? ' if near else ''}The formats are {names}.",
        )
    if spec.delimiter is not None and "delimiter" not in CAPABILITIES[spec.format].properties:
        reason = f"{spec.format} does not support the following configs: [delimiter]"
        raise KsqlError("INVALID_STATEMENT", reason=reason)
    return create(spec, registry) if spec.envelope is None else EnvelopeSerde(spec, bind, registry)


def json_serde(columns: Sequence[Column]) -> Serde:
    """JSON objects of ``columns``, the form of rows between Spark and Python: JSON carries every type."""
    return bind(SerdeSpec(JsonSerde.name, tuple(columns)))


__all__ = [
    "CAPABILITIES",
    "ENVELOPES",
    "FORMATS",
    "BadRecord",
    "EnvelopeSerde",
    "FramedSerde",
    "RecordSpec",
    "Serde",
    "SerdeSpec",
    "bind",
    "json_serde",
]
