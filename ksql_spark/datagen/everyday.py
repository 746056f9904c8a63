"""Events of shops, sites, sensors and banks: what the examples beside the taxi rides read."""

from __future__ import annotations

from ksql_spark.datagen.fields import (
    Field,
    amount,
    event_time,
    integer,
    list_of,
    looked_up,
    number,
    one_number_of,
    one_of,
    schema,
    text_of,
)

_ANIMALS = ("cat", "dog", "fox", "owl", "hen", "cow", "bee")
_VERBS = ("sees", "hears", "chases", "follows", "ignores")

SENTENCES = schema(
    "sentences",
    "short sentences about animals",
    {
        "sentence": text_of(
            "the {who} {does} the {whom}", who=one_of(_ANIMALS), does=one_of(_VERBS), whom=one_of(_ANIMALS)
        )
    },
)

_ITEMS = ("tea", "coffee", "cocoa", "sugar", "milk", "flour")
_STORES = ("London", "Paris", "Rome", "Oslo")

SALES = schema(
    "sales",
    "items sold in stores",
    {"store": one_of(_STORES), "item": one_of(_ITEMS), "quantity": integer(1, 4)},
)

RESTOCKS = schema(
    "restocks",
    "deliveries of items to stores",
    {"store": one_of(_STORES), "item": one_of(_ITEMS), "quantity": integer(5, 20)},
    rate=2.0,
)

BASKETS = schema(
    "baskets",
    "orders, each with an array of lines",
    {
        "order_id": number(),
        "customer": one_of(("ada", "ben", "cleo", "dan", "eve")),
        "lines": list_of({"sku": one_of(("A1", "B2", "C3", "D4", "E5")), "quantity": integer(1, 5)}, 1, 4),
    },
    key="order_id",
)

_PAGES = ("/", "/search", "/basket", "/pay", "/help", "/gone")
#: status codes of HTTP by page; the site has its faults
_STATUS = (200, 304, 404, 500)

CLICKS = schema(
    "clicks",
    "requests to a web site, with their status codes",
    {
        "user_id": integer(1, 8),
        "page": one_of(_PAGES, (30, 20, 12, 8, 5, 3)),
        "status": one_number_of(_STATUS, (80, 8, 8, 4)),
        "bytes": integer(200, 20_000),
        "agent": one_of(("Firefox", "Chrome", "Safari", "curl")),
    },
)

#: name -> latitude, longitude
_PLACES = {
    "London": (51.51, -0.13),
    "Paris": (48.86, 2.35),
    "Lagos": (6.52, 3.38),
    "Lima": (-12.05, -77.04),
    "Tokyo": (35.68, 139.69),
}

PAYMENTS = schema(
    "payments",
    "card payments with their places; a few cards are used in two distant places at once",
    {
        "id": number(),
        # most cards stay where they are; those of the last group have been copied
        "card": text_of("card-{n:03}", n=integer(0, 199)),
        "place": Field(
            "STRING",
            lambda random, moment: (
                random.choice(tuple(_PLACES))
                if int(moment.values["card"][-3:]) % 50 == 49
                else tuple(_PLACES)[int(moment.values["card"][-3:]) % len(_PLACES)]
            ),
        ),
        "latitude": looked_up("DOUBLE", "place", {name: at[0] for name, at in _PLACES.items()}),
        "longitude": looked_up("DOUBLE", "place", {name: at[1] for name, at in _PLACES.items()}),
        "amount": amount(1, 400),
    },
)

READINGS = schema(
    "readings",
    "temperatures of machines; one in ten arrives late",
    {
        "sensor": one_of(("press", "oven", "fan", "pump")),
        "measured_at": event_time(late_ms=90_000, share=0.1),
        "celsius": Field(
            "DOUBLE",
            lambda random, moment: round(
                random.gauss({"press": 60, "oven": 90, "fan": 35, "pump": 72}[moment.values["sensor"]], 6), 1
            ),
        ),
    },
    key="sensor",
    timestamp="measured_at",
)

_CUSTOMERS = (1, 12)

CUSTOMERS = schema(
    "customers",
    "customers of a shop, with changes of their data (a table)",
    {
        "customer_id": integer(*_CUSTOMERS),
        "name": Field(
            "STRING",
            lambda _, moment: (
                "Ada",
                "Ben",
                "Cleo",
                "Dan",
                "Eve",
                "Finn",
                "Gus",
                "Hal",
                "Ida",
                "Jo",
                "Kim",
                "Leo",
            )[moment.values["customer_id"] - 1],
        ),
        "city": one_of(_STORES),
    },
    key="customer_id",
    is_table=True,
    rate=2.0,
)

LOYALTY = schema(
    "loyalty",
    "the levels and points of customers in a loyalty scheme (a table)",
    {
        "customer_id": integer(*_CUSTOMERS),
        "level": one_of(("bronze", "silver", "gold"), (6, 3, 1)),
        "points": integer(0, 5_000),
    },
    key="customer_id",
    is_table=True,
    rate=2.0,
)

INVOICES = schema(
    "invoices",
    "invoices to customers, with changes of their state (a table)",
    {
        "invoice_id": integer(1, 200),
        "customer_id": Field("INT", lambda _, moment: moment.values["invoice_id"] % _CUSTOMERS[1] + 1),
        "amount": Field("DOUBLE", lambda _, moment: 10.0 + moment.values["invoice_id"] * 1.25),
        "state": one_of(("OPEN", "PAID"), (2, 1)),
    },
    key="invoice_id",
    is_table=True,
)

CALLS = schema(
    "calls",
    "calls from customers to a shop",
    {"customer": integer(1, 8), "duration": integer(5, 600)},
)
