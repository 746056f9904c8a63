"""Kills a server again and again, and compares what a reader of committed records sees with the truth.

``python -m tests.integration.queries.exactly_once --kills 50 --seed 7`` (``make exactly-once``) runs it for
as long as asked, on a broker of its own. The queries are of all kinds: stateless, aggregates, joins, one that
reads another one's results, sub-topologies with internal topics between them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from confluent_kafka import Producer

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.services.broker import EmbeddedBroker
from tests.integration.queries.exactly_once_checks import CHECKS, KEYS, SOURCES, START_MS, Check, key_of
from tests.integration.server_process import ServerProcess
from tests.waiting import until

#: how long results may take after the last kill, seconds
PATIENCE_S = 300.0


def _differences(
    check: Check, rows: Sequence[tuple[str, Any]], expected: Mapping[str | None, list[Any]]
) -> list[str]:
    """What is wrong with the rows (key, value) of a topic."""
    wrong = []
    by_key: dict[str, list[Any]] = defaultdict(list)
    for key, value in rows:
        by_key[key].append(value)
    for expected_key, values in expected.items():
        got = [value for _, value in rows] if expected_key is None else by_key[expected_key]
        if check.is_last:
            got = got[-1:]
        lost = Counter(map(str, values)) - Counter(map(str, got))
        more = Counter(map(str, got)) - Counter(map(str, values))
        if lost or more:
            what = f"lost {list(lost)[:3]} ({lost.total()}), too much {list(more)[:3]} ({more.total()})"
            wrong.append(f"{check.topic} {expected_key}: {what}")
        elif check.is_ordered and got != values:
            wrong.append(f"{check.topic} {expected_key}: in another order")
    return wrong


class World:
    """The inputs, the truth about them, and a server that can be killed.

    Args:
        folder: for the server's data.
        servers: a broker's address; its topics are this run's alone.
        checks: the queries.
        seed: of everything that is random.
        report: takes lines about what happens.
        broker: the broker, if that may be killed, too.
        properties: more of the server's.
        partitions: of each topic.
    """

    def __init__(
        self,
        folder: Path,
        servers: str,
        checks: Sequence[Check],
        seed: int,
        report: Callable[[str], None] = lambda line: None,
        broker: EmbeddedBroker | None = None,
        properties: Mapping[str, str] = MappingProxyType({}),
        partitions: int = 2,
    ) -> None:
        self.random = random.Random(seed)
        self.servers = servers
        self.produced = 0
        self._checks = checks
        self._report = report
        self._broker = broker
        self._data = folder / "data"
        self._properties = folder / "server.properties"
        self._properties.write_text(
            f"bootstrap.servers={servers}\n"
            "ksql.streams.processing.guarantee=exactly_once_v2\n"
            "ksql.streams.auto.offset.reset=earliest\n"
            "ksql.query.retry.backoff.initial.ms=300\nksql.query.retry.backoff.max.ms=2000\n"
            "ksql.spark.memory=1200m\nksql.spark.warm.up.enabled=false\n"
            + "".join(f"{name}={value}\n" for name, value in properties.items()),
            encoding="utf-8",
        )
        self._server: ServerProcess | None = None
        self._stopped = threading.Event()
        # it waits for a broker as long as that takes
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,
                "message.timeout.ms": 0,
                "partitioner": "murmur2_random",
                "linger.ms": 5,
                "log_level": 0,
            }
        )
        self._feeder = threading.Thread(target=self._feed, daemon=True)
        admin = KafkaAdmin(servers)
        # sinks are not compacted, though some are tables: each update counts
        for topic in ("events", "echoes", "people", *(check.topic for check in checks)):
            admin.create_topic(topic, partitions, config={"cleanup.policy": "delete", "retention.ms": "-1"})
        for i in range(KEYS):
            key = f"k{i}"
            value = json.dumps({"name": f"name of {key}"}).encode()
            self._producer.produce("people", value, key.encode(), timestamp=START_MS - 1)
        self._producer.flush()

    def start(self, rate: int) -> None:
        """Begin to write events, ``rate`` a second, and start the server with its queries."""
        self._rate = rate
        self._feeder.start()
        self._server = self._start_server()
        self._server.execute(SOURCES + "".join(check.statement for check in self._checks))

    def _feed(self) -> None:
        began = time.monotonic()
        # it ends in the middle of a window
        while not self._stopped.wait(0.02) or not 100 < self.produced % 1000 < 900:
            for n in range(self.produced, int((time.monotonic() - began) * self._rate)):
                key, value = key_of(n), json.dumps({"n": n, "who": key_of(n)})
                for topic in ("events", "echoes"):
                    self._producer.produce(topic, value.encode(), key.encode(), timestamp=START_MS + n)
                self.produced = n + 1
            self._producer.poll(0)
        self._producer.flush()

    def _start_server(self) -> ServerProcess:
        return ServerProcess(self._data, "--properties", str(self._properties)).ready()

    def kill(self) -> None:
        """Kill the JVM, the server, the broker, or several of them; return once they are there again."""
        assert self._server is not None
        after_s = self.random.uniform(0, 4)
        choices = ["the JVM", "the JVM, then the server", "both"]
        if self._broker is not None:
            choices += ["the broker", "the broker, then both"]
        what = self.random.choice(choices)
        time.sleep(after_s)
        self._report(f"kill {what} after {after_s:.2f} s")
        if what.startswith("the broker"):
            self._kill_broker()
            if what == "the broker":
                return self._wait_until_running()
        elif what != "both":
            self._kill_jvm()
        if what == "the JVM":
            self._wait_until_running()
            return
        if what == "the JVM, then the server":
            time.sleep(self.random.uniform(0, 2))
        self._server.crash()
        with self._server:
            pass
        self._server = self._start_server()

    def kill_executor(self) -> None:
        """Kill a process that runs tasks; return once there are as many as before, and all queries run."""
        assert self._server is not None
        before = self._server.executors()
        after_s = self.random.uniform(0, 4)
        time.sleep(after_s)
        self._report(f"kill one of {len(before)} executors after {after_s:.2f} s")
        os.kill(self.random.choice(before), signal.SIGKILL)
        server = self._server
        until(lambda: len(server.executors()) >= len(before), server.executors)
        self._wait_until_running()

    def _kill_broker(self) -> None:
        assert self._broker is not None and self._broker.pid is not None
        os.kill(self._broker.pid, signal.SIGKILL)
        time.sleep(self.random.uniform(0, 1))
        self._broker.stop()
        self._broker.start()

    def _kill_jvm(self) -> None:
        assert self._server is not None
        for pid in self._server.pids():
            if pid != self._server.process.pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _wait_until_running(self) -> None:
        """Wait until the server has restarted its queries by itself."""
        until(lambda: all(state == "RUNNING" for state in self._states().values()), self._states)

    def _states(self) -> dict[str, str]:
        assert self._server is not None
        (shown,) = self._server.execute("SHOW QUERIES;")
        return {query["id"]: query["state"] for query in shown["queries"]}

    def stop(self) -> None:
        """Stop the server as planned, and start it again."""
        assert self._server is not None
        with self._server:
            self._server.stop()
        self._report("stopped and started again")
        self._server = self._start_server()

    def wrong(self) -> list[str]:
        """End the input, wait until everything is processed; what is not as it should be."""
        self._stopped.set()
        self._feeder.join()
        numbers = range(self.produced)
        problems = [line for check in self._checks for line in self._wrong(check, numbers)]
        problems += [f"{name} is {state}" for name, state in self._states().items() if state != "RUNNING"]
        return problems

    def _wrong(self, check: Check, numbers: Sequence[int]) -> list[str]:
        expected = check.expected(numbers)
        count = sum(map(len, expected.values()))
        deadline = time.monotonic() + PATIENCE_S
        while True:
            rows = self._rows(check.topic)
            wrong = _differences(check, rows, expected)
            is_done = not wrong or (not check.is_last and len(rows) >= count)
            if is_done or time.monotonic() > deadline:
                break
            time.sleep(0.5)
        hidden = len(self._rows(check.topic, committed=False)) - len(rows)
        self._report(f"{check.topic}: {len(rows)} of {count} results, {hidden} more that are not visible")
        return wrong

    def _rows(self, topic: str, committed: bool = True) -> list[tuple[str, Any]]:
        with TopicReader(self.servers, topic, read_committed=committed) as reader:
            records = [record for batch in reader.read_to_end() for record in batch]
        return [((r.key or b"").decode("latin-1"), json.loads(r.value or b"null")) for r in records]

    def close(self) -> None:
        """Kill what runs; topics remain."""
        self._stopped.set()
        if self._feeder.is_alive():
            self._feeder.join()
        if self._server is not None:
            self._server.crash()
            with self._server:
                pass

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def main(arguments: Sequence[str]) -> int:
    """Run it; the exit code is 1 where anything was lost, repeated or wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    parser.add_argument("--rate", type=int, default=200, help="events a second")
    parser.add_argument("--broker", action="store_true", help="kill the broker, too")
    parser.add_argument("--master", default="local", help="kill executors, too: local-cluster[2,8,1024]")
    parser.add_argument("--partitions", type=int, default=2, help="of each topic")
    parser.add_argument("--only", default="", help="names of topics, separated by commas")
    options = parser.parse_args(arguments)
    # so that the server ends too
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(f"stopped by signal {number}"))
    only = [name for name in options.only.upper().split(",") if name]
    checks = [check for check in CHECKS if not only or check.topic in only]
    print(f"seed {options.seed}, {options.kills} kills, {options.rate} events/s", flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="exactly-once-") as name,
        EmbeddedBroker(Path(name) / "kafka", port=0) as broker,
    ):
        report = lambda line: print(line, flush=True)  # noqa: E731
        killed = broker if options.broker else None
        properties = {"ksql.spark.master": options.master}
        address = broker.bootstrap_servers
        with World(
            Path(name), address, checks, options.seed, report, killed, properties, options.partitions
        ) as world:
            world.start(options.rate)
            for number in range(1, options.kills + 1):
                report(f"-- {number}: {world.produced} events so far")
                if options.master != "local" and number % 4:
                    world.kill_executor()
                else:
                    world.kill()
            wrong = world.wrong()
            print("\n".join([*wrong, f"{world.produced} events, {len(wrong)} wrong"]), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
