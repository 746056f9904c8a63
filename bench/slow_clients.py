"""What push clients that do not read cost a server: its memory, and the look-ups beside them.

    python bench/slow_clients.py [--clients 100] [--records 100000] [--bytes 10000]
        [--live 200] [--live-bytes 900000]

A server is started and a topic filled. Then ``--clients`` ask for all of it and read nothing, while look-ups
go on over one connection. After they have left, as many follow new records, of which ``--live`` large ones
come, and read nothing either; one more client reads all of them. Shown is the memory (RSS) of the server's
Python: before, with each kind of clients at its most, and after they have left.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psutil

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from serving import Measure, execute, load  # noqa: E402

from ksql_spark.kafka.producer import RecordProducer  # noqa: E402
from tests.integration.server_process import ServerProcess  # noqa: E402

TABLE = """
CREATE STREAM s (v STRING) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM big (v STRING) WITH (KAFKA_TOPIC = 'big', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM k (id INT KEY, n INT) WITH (KAFKA_TOPIC = 'k', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE t AS SELECT id, LATEST_BY_OFFSET(n) AS n FROM k GROUP BY id EMIT CHANGES;
"""
SETTLE_S = 5.0


@contextmanager
def clients(url: str, number: int, sql: str, start: str) -> Iterator[list[socket.socket]]:
    """Clients of a push query that read nothing."""
    place = urlsplit(url)
    body = json.dumps({"sql": sql, "properties": {"auto.offset.reset": start}}).encode()
    head = f"POST /query-stream HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: {len(body)}\r\n\r\n"
    sockets = [socket.create_connection((place.hostname, place.port)) for _ in range(number)]
    for sock in sockets:
        sock.sendall(head.encode() + body)
    try:
        yield sockets
    finally:
        for sock in sockets:
            sock.close()


class Memory:
    """The largest memory of a process since the last look, MB."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self._most = 0
        threading.Thread(target=self._watch, daemon=True).start()

    def now(self) -> float:
        """What it has now."""
        return self._process.memory_info().rss / 1e6

    def most(self) -> float:
        """The most since the last call."""
        most, self._most = self._most, 0
        return most / 1e6

    def _watch(self) -> None:
        while self._process.is_running():
            self._most = max(self._most, self._process.memory_info().rss)
            time.sleep(0.05)


def look_ups(url: str, seconds: float) -> Measure:
    """Look-ups over one connection."""
    body = json.dumps({"sql": "SELECT * FROM t WHERE id = 1;"}).encode()
    return load(url, lambda: ("/query-stream", body), 1, seconds)


def count_lines(sock: socket.socket, wanted: int) -> int:
    """Read until so many rows are there, or nothing comes for a while."""
    sock.settimeout(20)
    found = 0
    with contextlib.suppress(TimeoutError):
        while found < wanted and (data := sock.recv(1 << 20)):
            found += data.count(b'"]\n')
    return found


def main() -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--bytes", type=int, default=10_000)
    parser.add_argument("--live", type=int, default=200)
    parser.add_argument("--live-bytes", type=int, default=900_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ksql-spark-slow-", ignore_cleanup_errors=True) as folder:
        properties = Path(folder) / "server.properties"
        properties.write_text(f"ksql.max.push.queries={arguments.clients + 10}\n", encoding="utf-8")
        with ServerProcess(Path(folder) / "data", "--properties", str(properties)) as server:
            server.ready()
            execute(server.url, TABLE)
            producer = RecordProducer(server.bootstrap_servers())
            producer.send("k", (1).to_bytes(4, "big"), b'{"N": 1}')
            value = json.dumps({"V": "x" * arguments.bytes}).encode()
            for _ in range(arguments.records):
                producer.send_async("s", None, value)
            producer.flush(600)
            look_ups(server.url, 2)
            memory = Memory(server.process.pid)
            beside = look_ups(server.url, arguments.seconds)
            print(f"alone:                        {memory.now():7.0f} MB   {beside}")
            with clients(server.url, arguments.clients, "SELECT * FROM s EMIT CHANGES;", "earliest"):
                memory.most()
                beside = look_ups(server.url, arguments.seconds)
                print(f"{arguments.clients} clients catch up:     {memory.most():7.0f} MB   {beside}")
            time.sleep(SETTLE_S)
            print(f"after they have left:     {memory.now():7.0f} MB")
            query = "SELECT * FROM big EMIT CHANGES;"
            with (
                clients(server.url, arguments.clients, query, "latest"),
                clients(server.url, 1, query, "latest") as (fast,),
            ):
                while b"\n" not in fast.recv(1 << 16):
                    pass
                time.sleep(SETTLE_S)
                memory.most()
                found: list[int] = []
                reading = threading.Thread(target=lambda: found.append(count_lines(fast, arguments.live)))
                reading.start()
                large = json.dumps({"V": "x" * arguments.live_bytes}).encode()
                for _ in range(arguments.live):
                    producer.send("big", None, large)
                beside = look_ups(server.url, arguments.seconds)
                reading.join()
                print(f"{arguments.clients} clients follow:       {memory.most():7.0f} MB   {beside}")
                print(f"the client that reads has {found[0]} of {arguments.live} rows")
            time.sleep(SETTLE_S)
            print(f"after they have left:     {memory.now():7.0f} MB")
            producer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
