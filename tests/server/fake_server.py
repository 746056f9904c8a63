"""``python fake_server.py [--engine NAME] OPTIONS``: the real server around a fake engine."""

from __future__ import annotations

import sys

import fake_engine

from ksql_spark.server.main import main

if __name__ == "__main__":
    arguments = sys.argv[1:]
    kind = "FakeEngine"
    if arguments[:1] == ["--engine"]:
        kind, arguments = arguments[1], arguments[2:]
    sys.exit(main(arguments, getattr(fake_engine, kind)))
