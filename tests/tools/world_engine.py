"""An engine for servers of tests, whose statements run on fakes of Kafka and Spark."""

from __future__ import annotations

from ksql_spark.engine import Request
from ksql_spark.entities import Entity
from tests.server.fake_engine import FakeEngine
from tests.statements.world import World


class WorldEngine(FakeEngine):
    """The fake engine of the server's tests, whose statements a world carries out."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    def execute(self, request: Request) -> list[Entity]:
        """Run the statements of a request."""
        return self.world.statements.execute(request)
