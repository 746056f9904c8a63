"""The command ``ksql-spark datagen``: options, Kafka's address, rate, progress."""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any

import httpx

from ksql_spark.config import Config
from ksql_spark.datagen import everyday, shop, taxi, web
from ksql_spark.datagen.schema import Clock, Event, Schema
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer

SCHEMAS: dict[str, Schema] = {
    schema.name: schema
    for schema in (
        taxi.RIDES,
        taxi.GREEN_RIDES,
        taxi.ZONES,
        web.PAGEVIEWS,
        web.USERS,
        shop.ORDERS,
        everyday.SENTENCES,
        everyday.SALES,
        everyday.RESTOCKS,
        everyday.BASKETS,
        everyday.CLICKS,
        everyday.PAYMENTS,
        everyday.READINGS,
        everyday.CUSTOMERS,
        everyday.LOYALTY,
        everyday.INVOICES,
        everyday.CALLS,
    )
}

DEFAULT_SERVER = "http://127.0.0.1:8088"
DEFAULT_BOOTSTRAP_SERVERS = "localhost:9092"

#: time between two events with a start time but without a rate
_STEP_MS = 100
_PROGRESS_EVERY_S = 0.2


def main(argv: Sequence[str]) -> int:
    """Write generated events of one schema to a topic.

    Args:
        argv: the words after ``ksql-spark datagen``.

    Returns:
        0 once everything is written or after Ctrl-C, 1 for an error (shown in one line), 2 for wrong options.
    """
    try:
        options = _parser().parse_args(list(argv))
    except SystemExit as stop:
        return int(stop.code or 0)
    schema = SCHEMAS[options.schema]
    topic = options.topic or schema.name
    if options.sql:
        print(schema.statement.format(topic=topic, partitions=options.partitions))
        return 0
    try:
        config = Config.load(options.properties)
        security = config.kafka_client_settings()
        servers = options.bootstrap_servers or config["bootstrap.servers"] or _ask_server(options.server)
        _make_topic(KafkaAdmin(servers, security), topic, options, schema)
        run = Generation(RecordProducer(servers, security, linger_ms=5), topic, sys.stderr.isatty())
        rate = schema.rate if options.rate is None else options.rate
        run.write(_events(schema, options, rate), rate or None)
    except KsqlError as error:
        print(f"ksql-spark datagen: {error.message}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
    return 0


def _parser() -> argparse.ArgumentParser:
    schemas = "\n".join(f"  {schema.name:<11} {schema.description}" for schema in SCHEMAS.values())
    parser = argparse.ArgumentParser(
        prog="ksql-spark datagen",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=f"Write generated events to a Kafka topic.\n\nschemas:\n{schemas}",
        epilog="The same seed produces the same events, at the current time. With --start, times\n"
        "begin there and advance with the rate, so that every run writes exactly the same records.",
    )
    parser.add_argument("schema", choices=SCHEMAS, metavar="SCHEMA", help="one of the above")
    parser.add_argument("--topic", help="the topic, created if missing (default: the schema's name)")
    parser.add_argument(
        "--rate",
        type=_rate,
        metavar="N",
        help="events per second, for example 50 or 50/s; 0 for as fast as possible (default: 10, zones: 0)",
    )
    parser.add_argument("--count", type=_count, metavar="N", help="stop after N events")
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="seed for the random numbers (default: random)",
    )
    parser.add_argument(
        "--start",
        type=_time,
        metavar="TIME",
        help="time of the first event: 2024-01-31T08:00:00 (UTC) or epoch ms",
    )
    parser.add_argument(
        "--partitions",
        type=_count,
        default=1,
        metavar="N",
        help="partitions of a new topic (default: 1)",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--bootstrap-servers", metavar="HOST:PORT,…", help="the Kafka brokers")
    where.add_argument(
        "--server",
        metavar="URL",
        help=f"a ksql-spark server whose Kafka brokers to use (default: {DEFAULT_SERVER}; if it does not "
        f"respond: {DEFAULT_BOOTSTRAP_SERVERS})",
    )
    parser.add_argument(
        "--properties",
        metavar="FILE",
        help="the server's properties file: brokers, security",
    )
    parser.add_argument("--sql", action="store_true", help="only print the statement that declares the topic")
    return parser


def _rate(text: str) -> float:
    try:
        rate = float(text.removesuffix("/s"))
    except ValueError:
        rate = -1
    if not (rate >= 0 and math.isfinite(rate)):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of events per second")
    return rate


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
    return int(text)


def _time(text: str) -> int:
    """Parse a time; return epoch milliseconds."""
    if text.isdecimal():
        return int(text)
    try:
        moment = datetime.fromisoformat(text.removesuffix("Z"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time such as 2024-01-31T08:00:00") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def _events(schema: Schema, options: argparse.Namespace, rate: float | None) -> Iterator[Event]:
    """The events for these options."""
    clock: Clock
    if options.start is None:
        clock = lambda number: int(time.time() * 1000)  # noqa: E731
    else:
        step_ms = 1000 / rate if rate else _STEP_MS
        clock = lambda number: options.start + int(number * step_ms)  # noqa: E731
    return itertools.islice(schema.events(Random(options.seed), clock), options.count)


def _ask_server(url: str | None) -> str:
    """The bootstrap servers of the ksql-spark server at ``url``.

    Raises:
        KsqlError: BAD_REQUEST if the server at ``url`` does not answer; without ``url`` that is not an error.
    """
    address = (url or DEFAULT_SERVER).rstrip("/")
    try:
        answer = httpx.post(f"{address}/ksql", json={"ksql": "SHOW PROPERTIES;"}, timeout=5, trust_env=False)
        servers = _bootstrap_servers(answer.json())
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        servers, reason = None, str(error) or type(error).__name__
    else:
        reason = f"its response names no brokers (HTTP {answer.status_code})"
    if servers:
        return servers
    if url is None:
        return DEFAULT_BOOTSTRAP_SERVERS
    raise KsqlError(
        "BAD_REQUEST",
        reason=f"Could not learn from the server at {address} where its Kafka is: {reason}. Pass "
        f"--bootstrap-servers.",
    )


def _bootstrap_servers(entities: Any) -> str | None:
    """The brokers in the answer to SHOW PROPERTIES (reference §7.3)."""
    if not isinstance(entities, list):
        return None
    for entity in entities:
        for entry in entity.get("properties", []) if isinstance(entity, dict) else []:
            if entry.get("name") in ("bootstrap.servers", "ksql.streams.bootstrap.servers") and entry.get(
                "value"
            ):
                return str(entry["value"])
    return None


def _make_topic(admin: KafkaAdmin, topic: str, options: argparse.Namespace, schema: Schema) -> None:
    """Create the topic if it is missing."""
    if admin.topic(topic) is not None:
        return
    config = dict(schema.topic_config)
    if options.start is not None:
        # Kafka deletes by record timestamp: past events would be deleted at once
        config["retention.ms"] = "-1"
    try:
        admin.create_topic(topic, options.partitions, config=config)
    except KsqlError as error:
        if error.condition != "TOPIC_EXISTS":
            raise


class Generation:
    """One run: writes events at a rate and reports progress.

    Args:
        producer: writes the events; closed at the end.
        topic: an existing topic.
        on_screen: whether stderr is a terminal, where progress is one line that changes.
    """

    def __init__(self, producer: RecordProducer, topic: str, on_screen: bool) -> None:
        self._producer = producer
        self._topic = topic
        self._on_screen = on_screen
        self._began = time.monotonic()
        self._shown_at = self._began
        self.delivered = 0
        self._failure: KsqlError | None = None

    def write(self, events: Iterable[Event], rate: float | None) -> None:
        """Write all events, at ``rate`` per second or (None) as fast as possible; Ctrl-C ends it early.

        Raises:
            KsqlError: the cluster refuses records or does not answer.
        """
        try:
            for number, event in enumerate(events):
                if self._failure:
                    break
                if rate:
                    # relative to the start, so that one delay does not slow it down forever
                    self._wait_until(self._began + number / rate)
                self._producer.send_async(
                    self._topic, event.key, event.value, event.timestamp_ms, on_delivery=self._on_delivery
                )
                self._show_progress()
        except KeyboardInterrupt:
            pass
        finally:
            self._producer.close()
            self._clear()
        if self._failure:
            raise self._failure
        seconds = time.monotonic() - self._began
        pace = f" ({self.delivered / seconds:,.0f}/s)" if seconds >= 1 else ""
        print(f"{self.delivered:,} events to topic {self._topic} in {seconds:.1f} s{pace}", file=sys.stderr)

    def _wait_until(self, moment: float) -> None:
        while (remaining_s := moment - time.monotonic()) > 0:
            self._show_progress()
            time.sleep(min(remaining_s, _PROGRESS_EVERY_S))

    def _on_delivery(self, error: KsqlError | None) -> None:
        if error:
            self._failure = self._failure or error
        else:
            self.delivered += 1

    def _show_progress(self) -> None:
        now = time.monotonic()
        if self._on_screen and now - self._shown_at >= _PROGRESS_EVERY_S:
            self._shown_at = now
            pace = self.delivered / (now - self._began)
            print(
                f"\r\033[K{self.delivered:,} events to topic {self._topic}, {pace:,.0f}/s",
                end="",
                file=sys.stderr,
            )
            sys.stderr.flush()

    def _clear(self) -> None:
        if self._on_screen:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
