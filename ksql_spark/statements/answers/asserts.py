"""ASSERT TOPIC and ASSERT SCHEMA: check until the assertion holds or times out (reference §2.14)."""

from __future__ import annotations

import time
from collections.abc import Callable

from ksql_spark.entities import Entity
from ksql_spark.entities.commands import AssertSchemaEntity, AssertTopicEntity
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.nodes import TimeSpan, property_values
from ksql_spark.grammar.statements.asserts import AssertSchema, AssertTopic
from ksql_spark.kafka.admin import Topic
from ksql_spark.statements.base.context import Action, Immediate, StatementContext
from ksql_spark.statements.base.handlers import handles
from ksql_spark.topic_patterns import pattern_of

#: pause between two checks
INTERVAL_S = 0.1

_DEFAULT_TIMEOUTS = {
    "topic": "ksql.assert.topic.default.timeout.ms",
    "schema": "ksql.assert.schema.default.timeout.ms",
}
_TOPIC_PROPERTIES = ("PARTITIONS", "REPLICAS")


@handles
def assert_topic(statement: AssertTopic, context: StatementContext) -> Action:
    """ASSERT [NOT EXISTS] TOPIC name [WITH (PARTITIONS = n, REPLICAS = m)] [TIMEOUT n u]."""
    name, admin = statement.topic, context.services.admin
    expected = {} if statement.absent else property_values(statement.properties)
    for key, value in expected.items():
        if key not in _TOPIC_PROPERTIES:
            raise KsqlError(
                "INVALID_STATEMENT",
                reason=f"Cannot assert unknown topic property: {key}.",
                hint=f"There are {' and '.join(_TOPIC_PROPERTIES)}.",
            )
        if not isinstance(value, int) or isinstance(value, bool):
            raise KsqlError("INVALID_STATEMENT", reason=f"{key} must be a whole number.")

    def problem() -> str | None:
        topic = admin.topic(name) if pattern_of(name) is None else None
        if statement.absent:
            return None if topic is None else f"Topic {name} exists"
        if topic is None:
            return f"Topic {name} does not exist"
        there = _facts(topic)
        for key, value in expected.items():
            if there[key] != value:
                return (
                    f"Mismatched configuration for topic {name}: "
                    f"For config {key.lower()}, expected {value} got {there[key]}"
                )
        return None

    timeout_s = _timeout_s(statement.timeout, context, "topic")

    def run() -> Entity:
        _until(problem, timeout_s, context)
        return AssertTopicEntity(
            statement_text=statement.source_text, topic_name=name, exists=not statement.absent
        )

    return Immediate(run, waits=True)


def _facts(topic: Topic) -> dict[str, int]:
    return {"PARTITIONS": topic.partitions, "REPLICAS": max(topic.replicas, default=0)}


@handles
def assert_schema(statement: AssertSchema, context: StatementContext) -> Action:
    """ASSERT [NOT EXISTS] SCHEMA [SUBJECT s] [ID n] [TIMEOUT n u]; needs a schema registry."""
    subject, schema_id = statement.subject, statement.schema_id
    if subject is None and schema_id is None:
        raise KsqlError(
            "INVALID_STATEMENT",
            reason="ASSERT SCHEMA statements must include a subject name or an id.",
            hint="Write for instance: ASSERT SCHEMA SUBJECT 'orders-value';",
        )
    registry = context.services.registry
    if registry is None:
        raise KsqlError("SCHEMA_REGISTRY_MISSING", what="ASSERT SCHEMA", alternative="")
    parts = [
        *([f"subject {subject}"] if subject is not None else []),
        *([f"id {schema_id}"] if schema_id is not None else []),
    ]
    shown = f"Schema with {' and '.join(parts)}"

    def is_there() -> bool:
        if schema_id is None:
            return registry.latest(subject or "") is not None
        if subject is None:
            return registry.by_id(schema_id) is not None
        return subject in registry.subjects(schema_id)

    def problem() -> str | None:
        if is_there() != statement.absent:
            return None
        return f"{shown} exists" if statement.absent else f"{shown} does not exist"

    timeout_s = _timeout_s(statement.timeout, context, "schema")

    def run() -> Entity:
        _until(problem, timeout_s, context)
        return AssertSchemaEntity(
            statement_text=statement.source_text,
            subject=subject,
            id=schema_id,
            exists=not statement.absent,
        )

    return Immediate(run, waits=True)


def _timeout_s(timeout: TimeSpan | None, context: StatementContext, what: str) -> float:
    ms = timeout.milliseconds if timeout is not None else context.config[_DEFAULT_TIMEOUTS[what]]
    return float(ms) / 1000


def _until(problem: Callable[[], str | None], timeout_s: float, context: StatementContext) -> None:
    """Wait until ``problem()`` returns None.

    Raises:
        KsqlError: ASSERTION_FAILED with the problem after ``timeout_s`` seconds; STOPPED.
    """
    deadline = time.monotonic() + timeout_s
    while (reason := problem()) is not None:
        if context.services.server.is_stopping():
            raise KsqlError("STOPPED")
        remaining_s = deadline - time.monotonic()
        if remaining_s <= 0:
            raise KsqlError("ASSERTION_FAILED", reason=reason)
        time.sleep(min(INTERVAL_S, remaining_s))
