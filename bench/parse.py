"""How long it takes to parse a CREATE STREAM AS SELECT of about 40 lines, and 1,000 statements.

    python bench/parse.py

Targets: well below 20 ms for the first, far below 10 s for the others (these limits include binding).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from ksql_spark import grammar

CSAS = """
CREATE OR REPLACE STREAM enriched_rides
  WITH (KAFKA_TOPIC = 'enriched_rides', VALUE_FORMAT = 'JSON', PARTITIONS = 6, REPLICAS = 1) AS
SELECT
  r.ride_id AS ride_id,
  r.vendor_id AS vendor_id,
  UCASE(TRIM(v.name)) AS vendor_name,
  p.borough AS pickup_borough,
  p.zone AS pickup_zone,
  d.borough AS dropoff_borough,
  d.zone AS dropoff_zone,
  CAST(r.passenger_count AS INT) AS passengers,
  r.trip_distance * 1.609 AS distance_km,
  r.fare_amount + r.tip_amount + r.tolls_amount AS total,
  ROUND(r.tip_amount / r.fare_amount * 100, 2) AS tip_percent,
  CASE
    WHEN r.fare_amount >= 100 THEN 'very high'
    WHEN r.fare_amount >= 40 THEN 'high'
    WHEN r.fare_amount BETWEEN 10 AND 40 THEN 'usual'
    ELSE 'low'
  END AS fare_class,
  r.driver->name->last AS driver_name,
  r.driver->ratings[1] AS last_rating,
  REDUCE(r.driver->ratings, 0, (s, x) => s + x) AS rating_sum,
  TRANSFORM(r.stops, x => x->zone_id) AS stops,
  r.tags['channel'] AS channel,
  STRUCT(pickup := r.pickup_at, dropoff := r.dropoff_at) AS times,
  ARRAY[r.pickup_zone_id, r.dropoff_zone_id] AS zones,
  MAP('pickup' := p.zone, 'dropoff' := d.zone) AS zone_names,
  FORMAT_TIMESTAMP(r.pickup_at, 'yyyy-MM-dd''T''HH:mm:ss') AS pickup_text,
  TIMESTAMPADD(MINUTES, 5, r.dropoff_at) AS due,
  COALESCE(r.payment_type, 'unknown') AS payment
FROM rides AS r
  LEFT JOIN vendors v ON r.vendor_id = v.vendor_id
  LEFT JOIN zones p ON r.pickup_zone_id = p.zone_id
  LEFT JOIN zones_again d ON r.dropoff_zone_id = d.zone_id
WHERE r.trip_distance > 0 AND r.fare_amount IS NOT NULL
  AND r.payment_type NOT IN ('void', 'dispute')
  AND (r.passenger_count < 7 OR r.vendor_id LIKE 'bus%')
PARTITION BY r.ride_id
EMIT CHANGES;
"""

KINDS = [
    "CREATE STREAM s{n} (id STRING KEY, a INT, b ARRAY<STRING>) "
    "WITH (kafka_topic='t{n}', value_format='JSON');",
    "CREATE STREAM c{n} AS SELECT id, a + {n} AS a, UCASE(b[1]) AS b FROM s{n} WHERE a > {n} EMIT CHANGES;",
    "CREATE TABLE t{n} AS SELECT id, COUNT(*) AS n, SUM(a) AS total FROM s{n} "
    "WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY id EMIT CHANGES;",
    "INSERT INTO s{n} (id, a, b) VALUES ('{n}', {n}, ARRAY['x', 'y']);",
    "DESCRIBE s{n} EXTENDED;",
]


def median_ms(work: Callable[[], object], rounds: int) -> float:
    """The median time of ``work`` in milliseconds."""
    work()
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def main() -> None:
    [node] = grammar.parse(CSAS)
    many = "\n".join(KINDS[n % len(KINDS)].format(n=n) for n in range(1000))
    lines = len(CSAS.strip().splitlines())
    for what, work, rounds in (
        (f"split a {lines}-line CSAS", lambda: grammar.split(CSAS), 50),
        (f"parse a {lines}-line CSAS", lambda: grammar.parse(CSAS), 50),
        (f"render a {lines}-line CSAS", lambda: grammar.render(node), 50),
        ("parse 1,000 statements", lambda: grammar.parse(many), 5),
    ):
        print(f"{what:28}{median_ms(work, rounds):10.2f} ms")


if __name__ == "__main__":
    main()
