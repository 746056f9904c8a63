"""No answer, error or record of the command log shows a secret: a canary is put wherever one may be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from ksql_spark.server.errors import body
from tests.statements.json_server import JsonServer
from tests.statements.world import World

CANARY = "c4n4ry"
CONNECTOR = f"""CREATE SINK CONNECTOR c WITH ("connector.class" = 'C', "connection.password" = '{CANARY}',
    "connection.url" = 'jdbc:x://me:{CANARY}@there/db?token={CANARY}')"""
STATEMENTS = [
    "SHOW PROPERTIES;",
    "SHOW CONNECTORS;",
    "SHOW CONNECTOR PLUGINS;",
    "DESCRIBE CONNECTOR c;",
    CONNECTOR + ";",
    f"CREATE SINK CONNECTOR WITH (PASSWORD='{CANARY}');",
    f"CREATE SOURCE CONNECTOR c WITH (PASSWORD='{CANARY}');",
    f"SET 'sasl.jaas.config' = '{CANARY}';",
    f"SET 'ksql.schema.registry.url' = 'http://me:{CANARY}@there';",
    f"SET 'auto.offset.reset' = 'http://me:{CANARY}@there';",
    f"ALTER SYSTEM 'ssl.key.password' = '{CANARY}';",
    "CREATE STREAM x WITH (KAFKA_TOPIC='s', VALUE_FORMAT='AVRO');",
    "CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;",
    "EXPLAIN SELECT * FROM s EMIT CHANGES;",
    "SHOW QUERIES EXTENDED;",
    "SHOW STREAMS EXTENDED;",
    "DESCRIBE s EXTENDED;",
]
PROPERTIES = [
    {"sasl.jaas.config": CANARY},
    {"ksql.streams.consumer.ssl.key.password": CANARY},
    {"ksql.schema.registry.url": f"http://me:{CANARY}@there"},
    {"auto.offset.reset": f"http://me:{CANARY}@there"},
]


@pytest.fixture
def secretive(tmp_path: Path) -> Iterator[World]:
    refused = {"message": f"wrong password {CANARY} for jdbc:x://me:{CANARY}@there"}
    answers: dict[str, tuple[int, Any]] = {
        "POST /connectors": (400, refused),
        "GET /connectors": (200, []),
        "GET /connector-plugins": (200, []),
    }
    with JsonServer(answers) as connect:
        made = World(
            tmp_path,
            **{
                "ksql.connect.url": connect.url.replace("//", f"//me:{CANARY}@"),
                "ksql.schema.registry.url": f"http://me:{CANARY}@127.0.0.1:1",
                "ssl.truststore.password": CANARY,
                "sasl.jaas.config": f'x required username="me" password="{CANARY}";',
                "ksql.streams.producer.ssl.keystore.password": CANARY,
                "ssl.keystore.key": CANARY,
                "spark.hadoop.fs.s3a.secret.key": CANARY,
                "spark.driver.extraJavaOptions": f"-Djavax.net.ssl.trustStorePassword={CANARY}",
                "ksql.runtime.feature.shared.enabled": True,
            },
        )
        made.admin.create_topic("s")
        made.run("CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');")
        yield made
        made.close()


def _answer(world: World, request: Request) -> str:
    try:
        return json.dumps(world.answers(request))
    except KsqlError as error:
        return f"{error!r} {error} {json.dumps(body(error))}"


@pytest.mark.parametrize("statement", STATEMENTS)
def test_no_answer_shows_a_secret(secretive: World, statement: str, caplog: pytest.LogCaptureFixture) -> None:
    answer = _answer(secretive, Request(statement))
    assert CANARY not in answer
    assert CANARY not in caplog.text
    assert CANARY not in "".join(secretive.log.records)


@pytest.mark.parametrize("properties", PROPERTIES, ids=lambda p: next(iter(p)))
def test_no_refused_property_shows_a_secret(secretive: World, properties: dict[str, str]) -> None:
    statement = "CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;"
    assert CANARY not in _answer(secretive, Request(statement, properties))
    assert CANARY not in "".join(secretive.log.records)


def test_a_connector_that_was_made_does_not_show_its_password(tmp_path: Path) -> None:
    config = {"connection.password": CANARY, "connection.url": f"jdbc:x://me:{CANARY}@there"}
    answers = {
        "GET /connectors": (200, []),
        "GET /connector-plugins": (200, []),
        "POST /connectors": (201, {"name": "C", "config": config, "tasks": [], "type": "sink"}),
    }
    with JsonServer(answers) as connect:
        world = World(tmp_path, **{"ksql.connect.url": connect.url})
        (entity,) = world.answers(Request(CONNECTOR + ";"))
        assert CANARY in json.dumps(connect.requests)  # Connect got it
        world.close()
    assert CANARY not in json.dumps(entity)
    assert entity["info"]["config"]["connection.password"] == "[hidden]"
