"""How fast a query reads a backlog from an archive, beside the same backlog in a topic.

    python bench/archive.py [--records 2000000] [--keys 10000] [--partitions 4] [--rounds 3]
        [--live 0] [--only-archive]

Two topics get the same JSON records. Those of one go to an archive, and are then removed from the topic. New
queries that count and add by key read the other topic and the archive in turns. Each is timed from the first
row in its topic to the last, one for each record. The first round warms up. Each result is compared with the
records that were sent. --live sends so many more records to both topics, which stay there; --only-archive
leaves the other topic out.

Target: three times the rate from the topic, unless the aggregation is the limit.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from evolve import run, written_s

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.producer import RecordProducer

COLUMNS = "(k STRING KEY, n BIGINT, note STRING)"
QUERY = (
    "CREATE TABLE {name} WITH (KAFKA_TOPIC = '{name}') AS SELECT k, COUNT(*) AS c, SUM(n) AS s FROM {source} "
    "GROUP BY k EMIT CHANGES;"
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--live", type=int, default=0)
    parser.add_argument("--only-archive", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(Config({"ksql.spark.data.dir": str(Path(folder) / "data")}))
        engine.start()
        try:
            _prepare(engine, given, Path(folder) / "archive")
            _compare(engine, given)
        finally:
            engine.stop()


def _prepare(engine: Engine, given: argparse.Namespace, archive: Path) -> None:
    common = f"KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', PARTITIONS = {given.partitions}"
    names = ("kept",) if given.only_archive else ("live", "kept")
    for name in names:
        run(engine, f"CREATE STREAM {name} {COLUMNS} WITH (KAFKA_TOPIC = '{name}', {common});")
    producer = RecordProducer(engine.services.admin.servers)

    def send(numbers: range) -> None:
        for number in numbers:
            value = f'{{"N":{number % 1000},"NOTE":"a note about {number}"}}'.encode()
            for name in names:
                producer.send_async(name, b"k%d" % (number % given.keys), value, 1_767_225_600_000 + number)
        while producer.flush():
            pass

    send(range(given.records))
    run(
        engine,
        f"CREATE SINK archived FROM kept WITH (TYPE = 'parquet', PATH = '{archive}', ARCHIVE = true);",
    )
    began = time.monotonic()
    while (status := engine.services.sink_status("ARCHIVED")).rows < given.records:
        if status.reason:
            raise SystemExit(status.reason)
        time.sleep(0.1)
    print(f"archived: {given.records / (time.monotonic() - began):,.0f} records/s")
    ends = engine.services.admin.end_offsets("kept")
    places = [TopicPartition("kept", partition, end) for (_, partition), end in ends.items()]
    admin = AdminClient({"bootstrap.servers": engine.services.admin.servers})
    for done in admin.delete_records(places).values():
        done.result()
    with_past = f"KAFKA_TOPIC = 'kept', ARCHIVE = '{archive}', {common}"
    run(engine, f"CREATE STREAM past {COLUMNS} WITH ({with_past});")
    run(engine, "DROP SINK archived;")
    send(range(given.records, given.records + given.live))


def _compare(engine: Engine, given: argparse.Namespace) -> None:
    rates: dict[str, list[float]] = {"past": []} if given.only_archive else {"live": [], "past": []}
    records = given.records + given.live
    for number in range(given.rounds + 1):
        for source, found in rates.items():
            name = f"of_{source}_{number}"
            run(engine, QUERY.format(name=name, source=source))
            rate = records / written_s(engine, name, records)
            _check(engine, name, records, given.keys)
            run(engine, f"DROP TABLE {name} DELETE TOPIC;")
            print(f"round {number}, {source}: {rate:,.0f} records/s", flush=True)
            if number:
                found.append(rate)
    if given.rounds and not given.only_archive:
        topic, archive = (statistics.median(found) for found in rates.values())
        print(
            f"topic: {topic:,.0f} records/s, archive: {archive:,.0f} records/s: {archive / topic:.2f} times"
        )


def _check(engine: Engine, name: str, records: int, keys: int) -> None:
    """Check that the table counts and adds each record once."""
    wanted = {f"k{n}": [0, 0] for n in range(min(keys, records))}
    for number in range(records):
        row = wanted[f"k{number % keys}"]
        row[0] += 1
        row[1] += number % 1000
    while True:
        try:
            stream = engine.query(Request(f"SELECT k, c, s FROM {name};"))
            break
        except KsqlError as behind:  # the view reads a record for each update
            print(behind.message, flush=True)
    found: dict[str, list[int]] = {}
    while (batch := stream.read(1.0)) is not None:
        found |= {row.values[0]: list(row.values[1:]) for row in batch}
    stream.close()
    if found != wanted:
        wrong = [(key, found.get(key), row) for key, row in wanted.items() if found.get(key) != row]
        raise SystemExit(f"{name}: {len(wrong)} of {len(wanted)} keys are wrong, such as {wrong[:3]}")
    print(f"{name}: {sum(count for count, _ in found.values()):,} records, each counted once")


if __name__ == "__main__":
    main()
