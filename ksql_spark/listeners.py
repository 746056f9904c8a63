"""The addresses at which an engine listens: options of every command that starts one, defined once."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple


class Listener(NamedTuple):
    """An option for an address, and the property that it sets."""

    flag: str
    setting: str
    help: str

    def given(self, options: argparse.Namespace) -> str | None:
        """Its value on the command line; None without it."""
        value: str | None = getattr(options, self.flag.strip("-").replace("-", "_"))
        return value


REST = Listener(
    "--listen",
    "listeners",
    "the address of its REST API and its console (default: 127.0.0.1:8088, or a free port if that is taken)",
)
KAFKA = Listener(
    "--kafka-listen",
    "ksql.kafka.listener",
    "the address of the Kafka broker that it starts (default: 127.0.0.1:9092, or a free port if that is "
    "taken)",
)
LISTENERS = (
    REST,
    Listener(
        "--pg-listen", "ksql.postgres.listener", "its address for clients of PostgreSQL (by default none)"
    ),
    KAFKA,
)


def add_listeners(parser: argparse._ActionsContainer) -> None:
    """Add the options to a parser, or to a group of its options."""
    for listener in LISTENERS:
        parser.add_argument(listener.flag, metavar="HOST:PORT", help=listener.help)


def given_listeners(options: argparse.Namespace) -> Sequence[str]:
    """The flags that the command line has."""
    return [listener.flag for listener in LISTENERS if listener.given(options) is not None]


def listener_settings(options: argparse.Namespace) -> dict[str, str]:
    """The properties that the command line sets."""
    given = {listener.setting: listener.given(options) for listener in LISTENERS}
    if (rest := given[REST.setting]) is not None and "://" not in rest:
        given[REST.setting] = f"http://{rest}"
    return {name: value for name, value in given.items() if value is not None}
