"""Users of a web site and the pages they look at."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from ksql_spark.datagen.schema import Clock, Event, Schema, json_bytes

_GENDERS = ("MALE", "FEMALE", "OTHER")
#: range of registration times: 2017 and 2018, in epoch milliseconds
_REGISTERED_MS = (1_483_228_800_000, 1_546_300_799_999)


def page_view_events(random: Random, clock: Clock) -> Iterator[Event]:
    """Views of 99 pages by nine users; the key is the page."""
    number = 0
    while True:
        timestamp_ms = clock(number)
        page = f"Page_{random.randint(1, 99)}"
        value = {"viewtime": timestamp_ms, "userid": f"User_{random.randint(1, 9)}", "pageid": page}
        yield Event(page.encode(), json_bytes(value), timestamp_ms)
        number += 1


def user_events(random: Random, clock: Clock) -> Iterator[Event]:
    """Changes of the data of nine users; the key is the user."""
    number = 0
    while True:
        user = f"User_{random.randint(1, 9)}"
        value = {
            "registertime": random.randint(*_REGISTERED_MS),
            "userid": user,
            "regionid": f"Region_{random.randint(1, 9)}",
            "gender": random.choice(_GENDERS),
        }
        yield Event(user.encode(), json_bytes(value), clock(number))
        number += 1


PAGEVIEWS = Schema(
    name="pageviews",
    description="page views by users, keyed by page",
    statement="""CREATE STREAM pageviews (pageid STRING KEY, viewtime BIGINT, userid STRING)
WITH (
  KAFKA_TOPIC = '{topic}', PARTITIONS = {partitions}, VALUE_FORMAT = 'JSON', TIMESTAMP = 'viewtime'
);""",
    events=page_view_events,
)

USERS = Schema(
    name="users",
    description="users with changes of their data, keyed by user (a table)",
    statement="""CREATE TABLE users (
  userid STRING PRIMARY KEY, registertime BIGINT, regionid STRING, gender STRING
) WITH (KAFKA_TOPIC = '{topic}', PARTITIONS = {partitions}, VALUE_FORMAT = 'JSON');""",
    events=user_events,
    topic_config={"cleanup.policy": "compact"},
)
