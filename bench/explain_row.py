"""How long EXPLAIN ROW of an aggregate takes.

    python bench/explain_row.py [--records 1000000] [--keys 1000] [--rounds 5]

An engine with a broker of its own; a topic of 4 partitions with JSON records, and a table that counts them by
key. Printed for each round: the seconds of EXPLAIN ROW of one key, and of all of them. The table itself need
not have read them: EXPLAIN ROW reads the topic.
"""

from __future__ import annotations

import argparse
import tempfile
import time

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.entities.tracing import RowExplanation
from ksql_spark.kafka.producer import RecordProducer

STATEMENTS = """
CREATE STREAM events (who STRING KEY, n BIGINT)
  WITH (KAFKA_TOPIC = 'events', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE counted AS SELECT who, COUNT(*) AS c FROM events WHERE n >= 0 GROUP BY who;
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(Config({"ksql.spark.data.dir": folder}))
        engine.start(print)
        try:
            engine.execute(Request(STATEMENTS, {"auto.offset.reset": "earliest"}))
            engine.execute(Request("PAUSE ALL;"))
            producer = RecordProducer(engine.services.admin.servers, linger_ms=20)
            for n in range(given.records):
                producer.send_async("events", b"p%d" % (n % given.keys), b'{"N": %d}' % n)
            producer.flush()
            for _ in range(given.rounds):
                for condition in ("who = 'p1'", "who LIKE 'p%'"):
                    begun = time.perf_counter()
                    (told,) = engine.execute(Request(f"EXPLAIN ROW FROM counted WHERE {condition};"))
                    assert isinstance(told, RowExplanation)
                    passed = time.perf_counter() - begun
                    print(
                        f"{condition:14} {told.used:>9,} of {given.records:,} records: {passed:6.2f} s",
                        flush=True,
                    )
        finally:
            engine.stop()


if __name__ == "__main__":
    main()
