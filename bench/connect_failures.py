"""How long until SHOW CONNECTORS shows a connector's failure with its reason.

    python bench/connect_failures.py

One server with its own Kafka and its own Connect worker. In turn: a sink whose file cannot be written, a
class that is not there (CREATE CONNECTOR refuses it), a source whose PostgreSQL ends (Debezium's, if both can
be had), and the worker itself, killed. Printed are seconds from the failure to the first SHOW CONNECTORS that
tells it, the slowest SHOW CONNECTORS meanwhile, whether the server said that it is healthy all the while, and
the reason. After the worker's end also the seconds until its connectors run again.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from examples.cdc import database
from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.errors import KsqlError
from ksql_spark.services import artifacts
from ksql_spark.services.ports import free_port

DEBEZIUM = "io.debezium:debezium-connector-postgres:3.7.0.Final"
TIMEOUT_S = 120.0
SOURCE = """CREATE SOURCE CONNECTOR customers WITH (
  "connector.class" = 'io.debezium.connector.postgresql.PostgresConnector', "database.hostname" = '127.0.0.1',
  "database.port" = '{port}', "database.user" = 'postgres', "database.password" = 'x',
  "database.dbname" = 'postgres', "table.include.list" = 'public.customers', "topic.prefix" = 'shop',
  "plugin.name" = 'pgoutput');"""


def one(engine: Engine, text: str) -> Any:
    """The only answer to a statement."""
    (entity,) = engine.execute(Request(text))
    return entity


class Watch:
    """Asks SHOW CONNECTORS until it says something."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.slowest = 0.0
        self.is_healthy = True

    def until(self, is_so: Callable[[Any], bool]) -> tuple[float, Any]:
        """Seconds until an answer is so, and the answer."""
        began = time.monotonic()
        while True:
            asked = time.monotonic()
            answer = one(self.engine, "SHOW CONNECTORS;")
            now = time.monotonic()
            self.slowest = max(self.slowest, now - asked)
            self.is_healthy &= self.engine.health().is_healthy
            if is_so(answer):
                return now - began, answer
            if now - began > TIMEOUT_S:
                raise SystemExit(f"nothing was shown: {answer}")
            time.sleep(0.1)


def measure(engine: Engine, what: str, word: str) -> None:
    """Print how long it takes until a warning has ``word``."""
    watch = Watch(engine)
    seconds, answer = watch.until(lambda found: any(word in w.message for w in found.warnings))
    (reason, *_) = (w.message for w in answer.warnings if word in w.message)
    line = " ".join(reason.split())
    print(f"{what:34}{seconds:8.1f}{watch.slowest:10.2f}  {watch.is_healthy!s:8}{line[:150]}", flush=True)


def main() -> None:
    print(f"{'':34}{'shown':>8}{'slowest':>10}  {'healthy':8}reason")
    with tempfile.TemporaryDirectory(prefix="ksql-spark-connect-", ignore_cleanup_errors=True) as folder:
        plugins = Path(folder) / "connect" / "plugins"
        has_debezium = True
        try:
            artifacts.install(DEBEZIUM, plugins)
            database.program("initdb")
        except (KsqlError, database.Problem) as problem:
            has_debezium = False
            print(f"(no database: {problem})")
        engine = Engine(Config({"ksql.spark.data.dir": folder, "ksql.spark.warm.up.enabled": False}))
        try:
            engine.start()
            run(engine, Path(folder), has_debezium)
        finally:
            engine.stop()


def run(engine: Engine, folder: Path, has_debezium: bool) -> None:
    lines = folder / "lines"
    lines.write_text("a\n")
    began = time.monotonic()
    one(
        engine,
        "CREATE SOURCE CONNECTOR lines WITH (\"connector.class\" = 'FileStreamSource', "
        f"\"file\" = '{lines}', \"topic\" = 'lines');",
    )
    print(f"(worker started and first connector created in {time.monotonic() - began:.1f} s)", flush=True)
    one(
        engine,
        "CREATE SINK CONNECTOR astray WITH (\"connector.class\" = 'FileStreamSink', "
        "\"file\" = '/nowhere/file', \"topics\" = 'lines');",
    )
    measure(engine, "a sink that cannot write its file", "/nowhere/file")
    one(engine, "DROP CONNECTOR astray;")
    began = time.monotonic()
    try:
        one(engine, "CREATE SINK CONNECTOR unknown WITH (\"connector.class\" = 'NoSuchSink');")
    except KsqlError as error:
        seconds = time.monotonic() - began
        line = " ".join(error.message.split())
        print(f"{'a class that is not there':34}{seconds:8.1f}{'':20}{line[:150]}", flush=True)
    if has_debezium:
        port = free_port()
        process = subprocess.Popen([sys.executable, str(database.__file__), "--port", str(port)])
        try:
            database.wait(port)
            one(engine, SOURCE.format(port=port))
            while engine.services.admin.topic("shop.public.customers") is None:
                time.sleep(0.1)
            time.sleep(3.0)  # it follows the log by now
            process.terminate()
            process.wait()
            measure(engine, "a database that ends", "CUSTOMERS")
        finally:
            process.kill()
            process.wait()
        one(engine, "DROP CONNECTOR customers;")
    connect: Any = engine.services.connect
    os.kill(connect.worker.pid, signal.SIGKILL)
    measure(engine, "a worker that is killed", "has ended")
    back, _ = Watch(engine).until(
        lambda found: all(row.state.startswith("RUNNING") for row in found.connectors)
    )
    print(f"{'… its connectors run again':34}{back:8.1f}")


if __name__ == "__main__":
    main()
