"""An engine on a real broker that starts no Spark queries, for what Spark has no part in; also one that dies.

``python -m tests.integration.fake_spark JSON`` runs statements and kills itself at one point of them; without
a text it waits for statements, a line each, and prints for each the error's condition, or OK.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any
from unittest import mock

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.engine.bootstrap import queries
from ksql_spark.errors import KsqlError
from tests.statements.world import FakeQueries


def start(config: dict[str, Any], report: Callable[[str], None] = lambda text: None) -> Engine:
    """A started engine whose queries only have a folder each."""
    spark = mock.MagicMock(master="local")
    admin = getattr(spark.running_session._jvm, "org.apache.kafka.clients.admin.Admin")
    admin.create.side_effect = KsqlError("SPARK_RESTARTING")
    traffic = getattr(spark.running_session._jvm, "org.ksqlspark.kafka.Traffic")
    traffic.report.return_value = json.dumps({"bounds": [], "queries": {}})
    engine = Engine(Config(config), spark)
    with mock.patch.object(queries, "QueryManager", FakeQueries):
        engine.start(report)
    return engine


def die_at(point: str) -> None:
    """Die before or after the next call, ``module:Class.method:before`` or ``…:after``; ``…:n``: the n-th."""
    module, name, when, *nth = point.split(":")
    calls = itertools.count(1 - int(nth[0]) if nth else 0)
    class_name, method_name = name.split(".")
    class_ = getattr(importlib.import_module(module), class_name)
    method = getattr(class_, method_name)

    def dying(*args: Any, **more: Any) -> Any:
        is_last = next(calls) == 0
        answer = method(*args, **more) if when == "after" or not is_last else None
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    setattr(class_, method_name, dying)


if __name__ == "__main__":
    request = json.loads(sys.argv[1])
    running = start(request["config"])
    if "point" in request:
        die_at(request["point"])
    if "text" in request:
        running.execute(Request(request["text"]))
    print("started", flush=True)
    for line in sys.stdin:
        try:
            running.execute(Request(line))
            print("OK", flush=True)
        except KsqlError as error:
            print(error.condition, flush=True)
    running.stop()
