"""KAFKA: one column in the encoding of Kafka's own serializers (reference §5.2)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, ClassVar

from ksql_spark.formats.base import BadRecord, Serde
from ksql_spark.formats.utf8 import replaced
from ksql_spark.functions.spark_text import string
from ksql_spark.types import BIGINT, BYTES, DOUBLE, INTEGER, STRING, SqlType

#: fixed-size big-endian numbers
_PACKED = {INTEGER: struct.Struct(">i"), BIGINT: struct.Struct(">q"), DOUBLE: struct.Struct(">d")}


#: functions of KafkaCodec.java: Catalyst cannot convert bytes to numbers
_DECODERS: dict[SqlType, str] = {
    INTEGER: "ksql.kafka_int_decode",
    BIGINT: "ksql.kafka_bigint_decode",
    DOUBLE: "ksql.kafka_double_decode",
}


class KafkaSerde(Serde):
    """INTEGER, BIGINT, DOUBLE, STRING or BYTES, bare."""

    name: ClassVar[str] = "KAFKA"

    def encode(self, values: Sequence[Any]) -> bytes | None:
        """The bare value's bytes; None for NULL or no column."""
        if not self.columns or values[0] is None:
            return None
        value, type_ = values[0], self.columns[0].type
        if type_ == STRING:
            return str(value).encode()
        if type_ == BYTES:
            return bytes(value)
        try:
            return _PACKED[type_].pack(value)  # type: ignore[index]
        except struct.error as error:
            raise ValueError(f"{value!r} is not a valid {type_}: {error}") from None

    def decode(self, data: bytes) -> list[Any] | None:
        """The value in ``data``; numbers must have exactly their own size."""
        if not self.columns:
            return []
        type_ = self.columns[0].type
        if type_ == STRING:
            return [replaced(data)]
        if type_ == BYTES:
            return [data]
        packed = _PACKED[type_]  # type: ignore[index]
        if len(data) != packed.size:
            raise BadRecord(f"{type_} needs {packed.size} bytes, and there are {len(data)}")
        return list(packed.unpack(data))

    def decode_sql(self, data: str) -> str:
        """A struct of one field, NULL if the size is wrong."""
        if not self.columns:
            return "named_struct()"
        type_ = self.columns[0].type
        name = string(self.columns[0].name)
        if type_ == BYTES:
            return f"if({data} is null, NULL, named_struct({name}, {data}))"
        if type_ == STRING:
            return f"if({data} is null, NULL, named_struct({name}, ksql.kafka_string_decode({data})))"
        unpacked = f"named_struct({name}, {_DECODERS[type_]}({data}))"
        return f"if(octet_length({data}) = {_PACKED[type_].size}, {unpacked}, NULL)"  # type: ignore[index]

    def explain_sql(self, data: str) -> str:
        """Only a number's size can be wrong."""
        type_ = self.columns[0].type
        if type_ not in _PACKED:
            return super().explain_sql(data)
        size = _PACKED[type_].size
        return f"concat('{type_} needs {size} bytes, and there are ', octet_length({data}), '.')"

    def encode_sql(self, texts: Sequence[str]) -> str:
        """The bare value's bytes."""
        if not self.columns:
            return "cast(NULL as binary)"
        if self.columns[0].type == DOUBLE:
            return f"if({texts[0]} is null, NULL, ksql.kafka_double_encode({texts[0]}))"
        return f"cast({texts[0]} as binary)"
