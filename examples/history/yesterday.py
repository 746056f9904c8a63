"""Writes the rides of yesterday, and removes them from the topic once the archive has them.

python yesterday.py --bootstrap-servers HOST:PORT --archive FOLDER
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow.dataset
from confluent_kafka import OFFSET_END, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from ksql_spark.datagen import SCHEMAS

TOPIC = "rides"
RIDES = 720
EVERY_MS = 120_000
WAIT_S = 100.0


def archived(folder: Path) -> int:
    """How many records an archive has."""
    return int(pyarrow.dataset.dataset(folder).count_rows()) if folder.exists() else 0


def main() -> int:
    """Write the rides, wait for the archive, remove them."""
    parser = argparse.ArgumentParser(
        description="Write the rides of yesterday, and remove them from the topic."
    )
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--archive", type=Path, required=True)
    # the tests tell every program where the schema registry is
    options, _ = parser.parse_known_args()

    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    start = int((today - timedelta(days=1)).timestamp() * 1000)
    rides = SCHEMAS[TOPIC].events(Random(), lambda number: start + number * EVERY_MS)
    producer = Producer({"bootstrap.servers": options.bootstrap_servers})
    for ride in itertools.islice(rides, RIDES):
        producer.produce(TOPIC, ride.value, ride.key, timestamp=ride.timestamp_ms)
    producer.flush()

    deadline = time.monotonic() + WAIT_S
    while archived(options.archive) < RIDES:
        if time.monotonic() > deadline:
            print(f"The archive has only {archived(options.archive)} of {RIDES} rides.", file=sys.stderr)
            return 1
        time.sleep(0.2)
    admin = AdminClient({"bootstrap.servers": options.bootstrap_servers})
    for removed in admin.delete_records([TopicPartition(TOPIC, 0, OFFSET_END)]).values():
        removed.result()
    return 0


if __name__ == "__main__":
    sys.exit(main())
