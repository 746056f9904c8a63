"""Writes taxi rides as Avro, with confluent-kafka's serializer and a schema registry.

python producer.py --bootstrap-servers HOST:PORT --schema-registry URL --version 2 --count 50
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import time

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

TOPIC = "avro_rides"
FIELDS = [
    {"name": "vendor", "type": "string"},
    {"name": "distance", "type": "double"},
    {"name": "total", "type": "double"},
]
#: what version 2 adds; the default makes it compatible: rides of version 1 have no tip
TIP = {"name": "tip", "type": "double", "default": 0.0}


def schema(version: int) -> str:
    """The schema of a ride, version 1 or 2."""
    fields = [*FIELDS, TIP] if version == 2 else FIELDS
    return json.dumps({"type": "record", "name": "Ride", "namespace": "nyc", "fields": fields})


def ride(rng: random.Random, version: int) -> dict[str, str | float]:
    """A ride; amounts in dollars, the distance in miles."""
    miles = round(rng.uniform(0.5, 12), 2)
    total = round(5 + 3.5 * miles, 2)
    values: dict[str, str | float] = {
        "vendor": rng.choice(("Curb", "Helix")),
        "distance": miles,
        "total": total,
    }
    return values | {"tip": round(total * 0.2, 2)} if version == 2 else values


def make_topic(servers: str) -> None:
    """Create the topic unless it is there."""
    # the client has to live until the answer is there
    admin = AdminClient({"bootstrap.servers": servers})
    (made,) = admin.create_topics([NewTopic(TOPIC, 1)]).values()
    try:
        made.result()
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


def main() -> int:
    """Write rides until there are --count, or until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Write taxi rides as Avro.")
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--schema-registry", required=True)
    parser.add_argument("--version", type=int, choices=(1, 2), default=1)
    parser.add_argument("--count", type=int, help="stop after so many (default: go on)")
    parser.add_argument(
        "--rate", type=float, default=0, help="rides per second (default: as fast as possible)"
    )
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()

    failures: list[str] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(str(error))

    make_topic(options.bootstrap_servers)
    registry = SchemaRegistryClient({"url": options.schema_registry})
    # registers the schema with the subject avro_rides-value, if it is not there yet
    serialize = AvroSerializer(registry, schema(options.version))
    context = SerializationContext(TOPIC, MessageField.VALUE)
    producer = Producer({"bootstrap.servers": options.bootstrap_servers})
    rng = random.Random(options.seed)
    numbers = itertools.count() if options.count is None else range(options.count)
    for _ in numbers:
        producer.produce(TOPIC, value=serialize(ride(rng, options.version), context), on_delivery=delivered)
        producer.poll(0)
        if failures:
            break
        if options.rate:
            time.sleep(1 / options.rate)
    producer.flush()
    if failures:
        print(f"{len(failures)} rides could not be written: {failures[0]}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(0)
