"""A process that asks Kafka for groups survives the death of the broker, and goes on with the next one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.services.broker import EmbeddedBroker

ASKS = """
import sys, threading
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
admin = KafkaAdmin(sys.argv[1])
def ask(what):
    while True:
        try:
            what()
        except KsqlError as error:
            print(error.condition, flush=True)
        else:
            print("answered", flush=True)
for what in (lambda: admin.members("some"), lambda: admin.commit_notes("some", "topic")):
    threading.Thread(target=ask, args=(what,)).start()
"""


@pytest.mark.kafka
@pytest.mark.long
def test_groups_are_asked_for_while_a_broker_dies(tmp_path: Path) -> None:
    broker = EmbeddedBroker(tmp_path / "kafka", port=0)
    broker.start()
    try:
        admin = KafkaAdmin(broker.bootstrap_servers)
        admin.create_topic("topic")
        admin.close()
        with subprocess.Popen(
            [sys.executable, "-c", ASKS, broker.bootstrap_servers], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            try:
                assert _says(process, "answered")
                assert broker.pid is not None
                os.kill(broker.pid, signal.SIGKILL)
                assert _says(process, "BROKER_UNREACHABLE")
                broker.stop()
                broker.start()
                assert _says(process, "answered")
            finally:
                process.kill()
    finally:
        broker.stop()


def _says(process: subprocess.Popen[str], wanted: str) -> bool:
    """Wait for a line; False if the process ends before."""
    assert process.stdout is not None
    return any(line.strip() == wanted for line in process.stdout)
