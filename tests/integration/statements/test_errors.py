"""What users are told through REST when they are wrong: one clear message each, with its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.waiting import TIMEOUT_S

pytestmark = pytest.mark.kafka

Post = Callable[..., httpx.Response]


@pytest.fixture
def orders(execute: Callable[[str], Any], topic_names: Callable[[str], str]) -> str:
    """The stream ORDERS; gives its topic."""
    topic = topic_names("orders")
    execute(f"""
        CREATE STREAM orders (id STRING KEY, customer STRING, amount DOUBLE)
          WITH (KAFKA_TOPIC = '{topic}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
    """)
    return topic


def refusal(answer: httpx.Response) -> tuple[int, str]:
    """Code and message of an error that is the statement's."""
    body = answer.json()
    assert answer.status_code == body["error_code"] // 100
    assert "Traceback" not in answer.text and "java" not in answer.text
    return body["error_code"], body["message"]


def test_an_unknown_column(post: Post, orders: str) -> None:
    code, message = refusal(post("CREATE STREAM x AS\n  SELECT id, custmer FROM orders;"))
    assert code == 40001
    assert "CUSTMER" in message and "CUSTOMER" in message
    assert message.endswith("line 2:14\n    SELECT id, custmer FROM orders\n               ^^^^^^^")


def test_an_unknown_source(post: Post, orders: str) -> None:
    code, message = refusal(post("CREATE STREAM x AS SELECT * FROM ordres;"))
    assert code == 40001
    assert "ORDRES" in message and "ORDERS" in message and "\n" in message


def test_a_wrong_type(post: Post, orders: str) -> None:
    code, message = refusal(post("CREATE STREAM x AS SELECT id FROM orders WHERE amount = 'much';"))
    assert code == 40001
    assert "DOUBLE" in message and "STRING" in message


def test_a_wrong_argument(post: Post, orders: str) -> None:
    code, message = refusal(post("CREATE STREAM x AS SELECT id, UCASE(amount) AS u FROM orders;"))
    assert code == 40001
    assert "UCASE" in message and "DOUBLE" in message


def test_a_syntax_error(post: Post) -> None:
    code, message = refusal(post("CREATE STREAM x AS\n  SELECT id, FROM orders;"))
    assert code == 40001
    lines = message.splitlines()
    assert "line 2:12" in message
    assert lines[-1].strip() == "^" and lines[-1].index("^") == lines[-2].index(",")


def test_a_missing_topic(post: Post, orders: str) -> None:
    misspelt = orders.replace("orders", "ordres")
    text = f"CREATE STREAM x (a INT) WITH (KAFKA_TOPIC = '{misspelt}', VALUE_FORMAT = 'JSON');"
    code, message = refusal(post(text))
    assert code == 40001
    assert f"does not exist: {misspelt}" in message
    assert "PARTITIONS" in message and f"Did you mean '{orders}'?" in message


def test_statements_before_the_wrong_one_have_not_run(post: Post, orders: str) -> None:
    answer = post(
        "CREATE STREAM first AS SELECT * FROM orders; CREATE STREAM second AS SELECT * FROM nothing;"
    )
    assert answer.status_code == 400
    assert answer.json()["statementText"].startswith("CREATE STREAM second")
    (shown,) = post("SHOW STREAMS;").json()
    assert "FIRST" not in [stream["name"] for stream in shown["streams"]]


def test_a_query_sent_to_the_wrong_place(post: Post, url: str) -> None:
    code, message = refusal(post("SELECT * FROM orders EMIT CHANGES;"))
    assert code == 40002 and "SELECT" in message
    answer = httpx.post(f"{url}/query-stream", json={"sql": "SHOW STREAMS;"}, timeout=TIMEOUT_S)
    assert answer.status_code == 400
