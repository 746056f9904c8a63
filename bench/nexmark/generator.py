"""Nexmark's events: persons who sell, their auctions, and bids, the same for the same options.

Of 50 events in a row, 1 is a person, 3 are auctions and 46 are bids. Half of the bids go to a hot auction,
and three quarters of auctions and bids come from a hot seller or bidder; another one becomes hot for each
hundred. A bid may come before its auction, and an auction before its seller. Auctions end after a random
time, so that about a hundred are open at a time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PERSONS, AUCTIONS, BIDS = 1, 3, 46
EVENTS = PERSONS + AUCTIONS + BIDS
FIRST_ID = 1000
FIRST_CATEGORY, CATEGORIES = 10, 5
#: one of so many is not hot
COLD_AUCTIONS, COLD_SELLERS, COLD_BIDDERS, COLD_CHANNELS = 2, 4, 4, 2
#: another auction, seller or bidder is hot after so many
HOT_EVERY = 100
OPEN_AUCTIONS, ACTIVE_PERSONS = 100, 1000
#: how far ahead of the last auction or person an event may name one
LEAD = 10
BEGAN_MS = 1_767_225_600_000  # 2026-01-01

STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = (
    "Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent",
    "Cheyenne",
)  # fmt: skip
FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
CHANNELS = 10_000
#: letters of a column that makes records as long as Nexmark's: about 200, 500 and 100 bytes
FILLING = {"person": 40, "auction": 280, "bid": 30}
LETTERS = "abcdefghijklmnopqrstuvwxyz" * 30

#: the columns of each topic; the first is the key, and dateTime is the event time in ms
COLUMNS: dict[str, dict[str, str]] = {
    "person": {
        "id": "BIGINT", "name": "STRING", "emailAddress": "STRING", "creditCard": "STRING", "city": "STRING",
        "state": "STRING", "dateTime": "BIGINT", "extra": "STRING",
    },
    "auction": {
        "id": "BIGINT", "itemName": "STRING", "description": "STRING", "initialBid": "BIGINT",
        "reserve": "BIGINT", "dateTime": "BIGINT", "expires": "BIGINT", "seller": "BIGINT",
        "category": "BIGINT", "extra": "STRING",
    },
    "bid": {
        "auction": "BIGINT", "bidder": "BIGINT", "price": "BIGINT", "channel": "STRING", "url": "STRING",
        "dateTime": "BIGINT", "extra": "STRING",
    },
}  # fmt: skip


@dataclass(frozen=True)
class Options:
    """What is generated.

    Args:
        records: number of events.
        rate: events in a second of event time.
        disorder_ms: how much later than an event with a later time an event may come.
        seed: other events for another number.
    """

    records: int
    rate: float = 1000
    disorder_ms: int = 500
    seed: int = 1


def count_of(topic: str, records: int) -> int:
    """How many of the first ``records`` events are in ``topic``."""
    first, size = {"person": (0, PERSONS), "auction": (PERSONS, AUCTIONS), "bid": (PERSONS + AUCTIONS, BIDS)}[
        topic
    ]
    rounds, rest = divmod(records, EVENTS)
    return rounds * size + min(max(rest - first, 0), size)


def events(options: Options) -> Iterator[tuple[str, dict[str, Any]]]:
    """The topic and the row of each event, in the order in which they are written."""
    rng = random.Random(options.seed)
    for number in range(options.records):
        late_ms = int(rng.random() * (options.disorder_ms + 1))
        time_ms = BEGAN_MS + options.disorder_ms + int(number * 1000 / options.rate) - late_ms
        place = number % EVENTS
        persons = number // EVENTS + 1
        auctions = number // EVENTS * AUCTIONS + min(place, AUCTIONS)
        if place < PERSONS:
            yield "person", _person(rng, persons - 1, time_ms)
        elif place < PERSONS + AUCTIONS:
            yield "auction", _auction(rng, auctions - 1, persons, time_ms, options.rate)
        else:
            yield "bid", _bid(rng, auctions, persons, time_ms)


def _below(rng: random.Random, end: int) -> int:
    return int(rng.random() * end)  # three times as fast as randrange


def _price(rng: random.Random) -> int:
    """From 1.00 to a million, in cents; each number of digits is as frequent."""
    return round(10 ** (rng.random() * 6) * 100)


def _known_person(rng: random.Random, persons: int) -> int:
    active = min(persons, ACTIVE_PERSONS)
    return FIRST_ID + persons - active + _below(rng, active + LEAD)


def _hot(count: int) -> int:
    return FIRST_ID + (count - 1) // HOT_EVERY * HOT_EVERY


def _filling(rng: random.Random, topic: str) -> str:
    start = _below(rng, 26)
    return LETTERS[start : start + FILLING[topic] + _below(rng, FILLING[topic] // 2)]


def _person(rng: random.Random, number: int, time_ms: int) -> dict[str, Any]:
    first, last = rng.choice(FIRST_NAMES), rng.choice(LAST_NAMES)
    return {
        "id": FIRST_ID + number,
        "name": f"{first} {last}",
        "emailAddress": f"{first.lower()}.{last.lower()}{number}@mail.example",
        "creditCard": " ".join(f"{_below(rng, 10_000):04}" for _ in range(4)),
        "city": rng.choice(CITIES),
        "state": rng.choice(STATES),
        "dateTime": time_ms,
        "extra": _filling(rng, "person"),
    }


def _auction(rng: random.Random, number: int, persons: int, time_ms: int, rate: float) -> dict[str, Any]:
    is_cold = _below(rng, COLD_SELLERS) == 0
    initial = _price(rng)
    # so many auctions are opened while one is open; the mean is half of the maximum
    longest_ms = max(round(OPEN_AUCTIONS * EVENTS / AUCTIONS * 1000 / rate) * 2, 1)
    return {
        "id": FIRST_ID + number,
        "itemName": f"item {number % 977}",
        "description": f"an item that seller {persons} no longer needs",
        "initialBid": initial,
        "reserve": initial + _price(rng),
        "dateTime": time_ms,
        "expires": time_ms + 1 + _below(rng, longest_ms),
        "seller": _known_person(rng, persons) if is_cold else _hot(persons),
        "category": FIRST_CATEGORY + _below(rng, CATEGORIES),
        "extra": _filling(rng, "auction"),
    }


def _bid(rng: random.Random, auctions: int, persons: int, time_ms: int) -> dict[str, Any]:
    if _below(rng, COLD_AUCTIONS):
        auction = _hot(auctions)
    else:
        first = max(auctions - OPEN_AUCTIONS, 0)
        auction = FIRST_ID + first + _below(rng, auctions - first + LEAD)
    bidder = _hot(persons) + 1 if _below(rng, COLD_BIDDERS) else _known_person(rng, persons)
    parts = LETTERS[auction % 26 :][:5], LETTERS[bidder % 26 :][:5], str(_below(rng, 100))
    if _below(rng, COLD_CHANNELS):
        channel, more = HOT_CHANNELS[_below(rng, len(HOT_CHANNELS))], ""
    else:
        number = _below(rng, CHANNELS)
        # one of ten has no id
        channel, more = (
            f"channel-{number}",
            "" if number % 10 == 0 else f"&channel_id={number * 7919 % 1_000_003}",
        )
    return {
        "auction": auction,
        "bidder": bidder,
        "price": _price(rng),
        "channel": channel,
        "url": f"https://auctions.example/{'/'.join(parts)}/item.htm?query=1{more}",
        "dateTime": time_ms,
        "extra": _filling(rng, "bid"),
    }
