"""Reads the table AVRO_VENDORS, which a query writes as Avro, and prints its changes.

python consumer.py --bootstrap-servers HOST:PORT --schema-registry URL
"""

from __future__ import annotations

import argparse
import sys
import uuid

from confluent_kafka import Consumer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

TOPIC = "AVRO_VENDORS"


def main() -> int:
    """Print changes until there were --count, or until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Print the changes of AVRO_VENDORS.")
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--schema-registry", required=True)
    parser.add_argument("--count", type=int, help="stop after so many (default: go on)")
    options = parser.parse_args()

    registry = SchemaRegistryClient({"url": options.schema_registry})
    deserialize = AvroDeserializer(registry)
    context = SerializationContext(TOPIC, MessageField.VALUE)
    settings = {
        "bootstrap.servers": options.bootstrap_servers,
        "group.id": f"consumer-{uuid.uuid4().hex[:8]}",
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(settings)
    consumer.subscribe([TOPIC])
    left = options.count
    try:
        while left is None or left > 0:
            message = consumer.poll(1.0)
            if message is None or message.error() or message.value() is None:
                continue
            value = deserialize(message.value(), context)
            # the key has the format KAFKA: a STRING is its bytes
            key = (message.key() or b"").decode()
            print(f"{key}: {value['TRIPS']} trips, {value['REVENUE']:.2f}", flush=True)
            left = None if left is None else left - 1
    finally:
        consumer.close()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(0)
