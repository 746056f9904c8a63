"""An engine with a processing log, for tests of REPLAY."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ksql_spark.engine import Request
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark.session import SparkProcess
from tests.integration.own_server import Server
from tests.waiting import until

EARLIEST = {"auto.offset.reset": "earliest"}
#: a user function of the text of an amount; what it takes of it is to be filled in
FUNCTION = '''
from ksql_spark.udf import scalar_function

@scalar_function
def euros(text: str) -> int:
    """The amount."""
    return int({})
'''


class LoggedEngine(Server):
    """A server with a processing log, whose queries read from the beginning."""

    def run(self, text: str) -> list[Any]:
        return self.engine.execute(Request(text, EARLIEST))

    def replay(self, text: str) -> tuple[int, int, int]:
        (answer,) = self.run(text)
        return answer.replayed, answer.failed_again, answer.gone

    def errors(self, query: str, count: int) -> list[list[Any]]:
        """Partition, offset, attempt and REPLAYED of errors, once there are so many."""
        text = f"SELECT partition, offset, attempt, replayed FROM ERRORS OF {query};"
        until(lambda: len(self.rows(text)) >= count, lambda: self.rows(text))
        return sorted(map(list, self.rows(text)))


@contextmanager
def logged_engine(
    broker: EmbeddedBroker, spark: SparkProcess, admin: KafkaAdmin, folder: Path
) -> Iterator[LoggedEngine]:
    """An engine with its own topics, which are deleted in the end."""
    name = f"replay_{uuid.uuid4().hex[:8]}"
    made = LoggedEngine(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "ksql.spark.data.dir": str(folder),
            "ksql.service.id": name,
            "ksql.output.topic.name.prefix": name,
            "ksql.logging.processing.topic.auto.create": "true",
            "ksql.logging.processing.stream.auto.create": "true",
        },
        spark,
    )
    try:
        yield made
    finally:
        made.engine.stop()
        admin.delete_topics(topic for topic in admin.topics() if name in topic)
