"""Taxi rides of New York and the zones they go between, with the columns of the city's public data set."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import NamedTuple

from ksql_spark.datagen.schema import Clock, Event, Schema, int_key, json_bytes

EWR, JFK, LAGUARDIA = 1, 132, 138
CREDIT, CASH, NO_CHARGE, DISPUTE = 1, 2, 3, 4
STANDARD_RATE, JFK_RATE, NEWARK_RATE = 1, 2, 3


class Zone(NamedTuple):
    """One row of the city's table of taxi zones."""

    location_id: int
    borough: str
    name: str
    service_zone: str


@cache
def zones() -> tuple[Zone, ...]:
    """All 263 zones, sorted by id."""
    with Path(__file__).with_name("zones.csv").open(newline="", encoding="utf-8") as file:
        return tuple(Zone(int(row[0]), *row[1:]) for row in list(csv.reader(file))[1:])


def zone_events(random: Random, clock: Clock) -> Iterator[Event]:
    """Yield one event for each zone."""
    for number, zone in enumerate(zones()):
        value = {
            "LocationID": zone.location_id,
            "Borough": zone.borough,
            "Zone": zone.name,
            "service_zone": zone.service_zone,
        }
        yield Event(int_key(zone.location_id), json_bytes(value), clock(number))


#: weights of zones as the start and the end of a ride, by service zone
_PICKUP_WEIGHTS = {"Yellow Zone": 30, "Airports": 90, "Boro Zone": 1, "EWR": 0}
_GREEN_PICKUP_WEIGHTS = {"Yellow Zone": 8, "Airports": 10, "Boro Zone": 6, "EWR": 0}
_DROPOFF_WEIGHTS = {"Yellow Zone": 26, "Airports": 40, "Boro Zone": 2, "EWR": 6}


def ride_events(random: Random, clock: Clock) -> Iterator[Event]:
    """Rides of yellow taxis in order of pickup; the fare depends on distance, time and zones."""
    for timestamp_ms, ride in _rides(random, clock, _PICKUP_WEIGHTS):
        yield Event(None, json_bytes(ride), timestamp_ms)


def green_ride_events(random: Random, clock: Clock) -> Iterator[Event]:
    """Rides of green taxis, which serve the outer boroughs; their columns of times have another prefix."""
    for timestamp_ms, ride in _rides(random, clock, _GREEN_PICKUP_WEIGHTS):
        renamed = {name.replace("tpep_", "lpep_"): value for name, value in ride.items()}
        street_hail, dispatched = 1, 2
        trip = {"trip_type": random.choices((street_hail, dispatched), (98, 2))[0], "ehail_fee": None}
        yield Event(None, json_bytes(renamed | trip), timestamp_ms)


def _rides(
    random: Random, clock: Clock, pickups: Mapping[str, int]
) -> Iterator[tuple[int, dict[str, int | float | str]]]:
    """Rides with their times, without end."""
    ids = [zone.location_id for zone in zones()]
    pickup_weights = list(accumulate(pickups[zone.service_zone] for zone in zones()))
    dropoff_weights = list(accumulate(_DROPOFF_WEIGHTS[zone.service_zone] for zone in zones()))
    number = 0
    while True:
        (pickup,) = random.choices(ids, cum_weights=pickup_weights)
        (dropoff,) = random.choices(ids, cum_weights=dropoff_weights)
        timestamp_ms = clock(number)
        yield timestamp_ms, _ride(random, pickup, dropoff, timestamp_ms)
        number += 1


def _ride(random: Random, pickup: int, dropoff: int, pickup_ms: int) -> dict[str, int | float | str]:
    """One ride; amounts in dollars, the distance in miles, the times in epoch milliseconds."""
    begin, end = zones()[pickup - 1], zones()[dropoff - 1]
    hour = datetime.fromtimestamp(pickup_ms / 1000, UTC).hour
    miles = _distance(random, begin, end)
    # streets are slow in town and by day; long rides use highways
    miles_per_hour = min(40.0, (9 if 8 <= hour < 20 else 13) + miles) * random.uniform(0.8, 1.25)
    minutes = max(1.0, miles / miles_per_hour * 60)
    rate_code = _rate_code(begin, end)
    fare = {
        JFK_RATE: 70.0,
        NEWARK_RATE: 23 + 3.5 * miles,
        STANDARD_RATE: 3 + 3.5 * miles + 0.35 * minutes * random.uniform(0.3, 0.8),
    }[rate_code]
    amounts = {
        "fare_amount": fare,
        "extra": _extra(hour, rate_code),
        "mta_tax": 0.0 if rate_code == NEWARK_RATE else 0.5,
        "tolls_amount": _tolls(random, begin, end),
        "improvement_surcharge": 1.0,
        "congestion_surcharge": 2.5 if "Yellow Zone" in (begin.service_zone, end.service_zone) else 0.0,
    }
    amounts = {name: round(amount, 2) for name, amount in amounts.items()}
    (payment,) = random.choices((CREDIT, CASH, NO_CHARGE, DISPUTE), (790, 195, 8, 7))
    tip = 0.0
    if payment == CREDIT and random.random() < 0.95:
        tip = round(sum(amounts.values()) * random.choice((0.15, 0.18, 0.2, 0.2, 0.25, 0.3)), 2)
    return {
        "VendorID": random.choices((1, 2), (28, 72))[0],
        "tpep_pickup_datetime": pickup_ms,
        "tpep_dropoff_datetime": pickup_ms + round(minutes * 60) * 1000,
        "passenger_count": random.choices((1, 2, 3, 4, 5, 6), (74, 15, 4, 2, 3, 2))[0],
        "trip_distance": miles,
        "RatecodeID": rate_code,
        "store_and_fwd_flag": "Y" if random.random() < 0.006 else "N",
        "PULocationID": pickup,
        "DOLocationID": dropoff,
        "payment_type": payment,
        "fare_amount": amounts["fare_amount"],
        "extra": amounts["extra"],
        "mta_tax": amounts["mta_tax"],
        "tip_amount": tip,
        "tolls_amount": amounts["tolls_amount"],
        "improvement_surcharge": amounts["improvement_surcharge"],
        "total_amount": round(sum(amounts.values()) + tip, 2),
        "congestion_surcharge": amounts["congestion_surcharge"],
    }


def _distance(random: Random, begin: Zone, end: Zone) -> float:
    """Miles: short within a borough, long to and from the airports."""
    if EWR in (begin.location_id, end.location_id):
        middle = 17.0
    elif JFK in (begin.location_id, end.location_id):
        middle = 17.0 if "Manhattan" in (begin.borough, end.borough) else 11.0
    elif LAGUARDIA in (begin.location_id, end.location_id):
        middle = 9.5
    elif begin.borough == end.borough:
        middle = 1.8
    else:
        middle = 5.5
    spread = 0.15 if "Airports" in (begin.service_zone, end.service_zone) else 0.55
    return round(max(0.2, middle * random.lognormvariate(0, spread)), 2)


def _rate_code(begin: Zone, end: Zone) -> int:
    """The flat rate between Manhattan and JFK, Newark's rate, or the metered rate."""
    if EWR in (begin.location_id, end.location_id):
        return NEWARK_RATE
    if JFK in (begin.location_id, end.location_id) and "Manhattan" in (begin.borough, end.borough):
        return JFK_RATE
    return STANDARD_RATE


def _extra(hour: int, rate_code: int) -> float:
    if 16 <= hour < 20:
        return 5.0 if rate_code == JFK_RATE else 2.5
    return 1.0 if hour >= 20 or hour < 6 else 0.0


def _tolls(random: Random, begin: Zone, end: Zone) -> float:
    far = {EWR: 13.75, JFK: 6.94, LAGUARDIA: 6.94}
    toll = far.get(begin.location_id) or far.get(end.location_id)
    likely = 0.6 if toll else 0.02
    return (toll or 6.94) if random.random() < likely else 0.0


RIDES = Schema(
    name="rides",
    description="taxi rides in New York (the columns of the yellow-taxi data set)",
    statement="""CREATE STREAM rides (
  VendorID INT, tpep_pickup_datetime BIGINT, tpep_dropoff_datetime BIGINT, passenger_count INT,
  trip_distance DOUBLE, RatecodeID INT, store_and_fwd_flag STRING, PULocationID INT, DOLocationID INT,
  payment_type INT, fare_amount DOUBLE, extra DOUBLE, mta_tax DOUBLE, tip_amount DOUBLE,
  tolls_amount DOUBLE, improvement_surcharge DOUBLE, total_amount DOUBLE, congestion_surcharge DOUBLE
) WITH (
  KAFKA_TOPIC = '{topic}', PARTITIONS = {partitions}, VALUE_FORMAT = 'JSON',
  TIMESTAMP = 'tpep_pickup_datetime'
);""",
    events=ride_events,
)

GREEN_RIDES = Schema(
    name="green_rides",
    description="green-taxi rides in New York (the columns of the green-taxi data set)",
    statement="""CREATE STREAM green_rides (
  VendorID INT, lpep_pickup_datetime BIGINT, lpep_dropoff_datetime BIGINT, passenger_count INT,
  trip_distance DOUBLE, RatecodeID INT, store_and_fwd_flag STRING, PULocationID INT, DOLocationID INT,
  payment_type INT, fare_amount DOUBLE, extra DOUBLE, mta_tax DOUBLE, tip_amount DOUBLE,
  tolls_amount DOUBLE, improvement_surcharge DOUBLE, total_amount DOUBLE, congestion_surcharge DOUBLE,
  trip_type INT, ehail_fee DOUBLE
) WITH (
  KAFKA_TOPIC = '{topic}', PARTITIONS = {partitions}, VALUE_FORMAT = 'JSON',
  TIMESTAMP = 'lpep_pickup_datetime'
);""",
    events=green_ride_events,
)

ZONES = Schema(
    name="zones",
    description="the 263 taxi zones of New York (a table)",
    statement="""CREATE TABLE zones (
  LocationID INT PRIMARY KEY, Borough STRING, Zone STRING, service_zone STRING
) WITH (KAFKA_TOPIC = '{topic}', PARTITIONS = {partitions}, VALUE_FORMAT = 'JSON');""",
    events=zone_events,
    rate=None,
    topic_config={"cleanup.policy": "compact"},
)
