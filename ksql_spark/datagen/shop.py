"""Orders of a shop."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from ksql_spark.datagen.schema import Clock, Event, Schema, int_key, json_bytes


def order_events(random: Random, clock: Clock) -> Iterator[Event]:
    """Orders with increasing ids, which are also the keys."""
    number = 0
    while True:
        timestamp_ms = clock(number)
        value = {
            "ordertime": timestamp_ms,
            "orderid": number,
            "itemid": f"Item_{random.randint(1, 999)}",
            "orderunits": round(random.uniform(0.1, 10.0), 2),
            "address": {
                "city": f"City_{random.randint(1, 99)}",
                "state": f"State_{random.randint(1, 99)}",
                "zipcode": random.randint(10000, 99999),
            },
        }
        yield Event(int_key(number), json_bytes(value), timestamp_ms)
        number += 1


ORDERS = Schema(
    name="orders",
    description="orders of items with a nested address, keyed by order",
    statement="""CREATE STREAM orders (
  orderid INT KEY, ordertime BIGINT, itemid STRING, orderunits DOUBLE,
  address STRUCT<city STRING, state STRING, zipcode BIGINT>
) WITH (
  KAFKA_TOPIC = '{topic}', PARTITIONS = {partitions}, VALUE_FORMAT = 'JSON', TIMESTAMP = 'ordertime'
);""",
    events=order_events,
)
