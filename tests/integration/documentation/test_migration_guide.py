"""The statements of ksqlDB's tutorials give what tutorials.md says, to which the migration guide leads.

``MIGRATION_GUIDE=write`` writes the outcomes into the page: read the difference.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksql_spark.engine import Engine
from tests.registry_server import RegistryServer
from tests.waiting import TIMEOUT_S

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.skipif(os.environ.get("STORIES") != "all", reason="make test-stories runs it"),
]

PAGE = Path(__file__).parent / "tutorials.md"
WRITING = os.environ.get("MIGRATION_GUIDE") == "write"
#: a pull query whose answer has not changed for so long is complete, seconds; only where outcomes are written
QUIET_S = 4.0
_ROW = re.compile(r"^\| `(.*;)` \| (.*) ?\|$", re.M)
TUTORIALS = re.findall(r"^## (.*)\n+((?:\|.*\n)+)", PAGE.read_text(encoding="utf-8"), flags=re.M)


@pytest.mark.parametrize(("title", "table"), TUTORIALS, ids=[title for title, _ in TUTORIALS])
def test_tutorial(
    title: str, table: str, url: str, engine: Engine, execute: Callable[[str], Any], registry: RegistryServer
) -> None:
    before = {query.id for query in engine.services.queries.all()}
    said = [(text.replace(r"\|", "|"), outcome.strip()) for text, outcome in _ROW.findall(table)]
    assert len(said) == table.count("\n") - 2
    found = []
    try:
        for text, outcome in said:
            found.append((text, _outcome(url, text, outcome)))
    finally:
        for query in engine.services.queries.all():
            if query.id not in before and query.id.startswith("INSERTQUERY"):
                execute(f"TERMINATE {query.id};")
    if WRITING:
        page = PAGE.read_text(encoding="utf-8")
        lines = "".join(f"| `{text}` | {outcome} |\n" for text, outcome in found)
        PAGE.write_text(page.replace(table, "| statement | outcome |\n|---|---|\n" + lines), encoding="utf-8")
    else:
        assert found == said


def _outcome(url: str, text: str, expected: str) -> str:
    """What a statement gives, in a few words."""
    if text.startswith("SET "):
        # each request here brings its own settings
        return "set"
    if text.startswith("PRINT"):
        answer = _post(f"{url}/query", {"ksql": text})
        return _count(answer.text.splitlines()[2:], "record") if answer.is_success else _refusal(answer)
    if text.startswith("SELECT") and "EMIT" in text:
        answer = _post(f"{url}/query-stream", {"sql": text, "properties": {"auto.offset.reset": "earliest"}})
        return _count(answer.text.splitlines()[1:], "row") if answer.is_success else _refusal(answer)
    if text.startswith("SELECT"):
        return _pulled(url, text, expected)
    answer = _post(f"{url}/ksql", {"ksql": text, "streamsProperties": {"auto.offset.reset": "earliest"}})
    if not answer.is_success:
        return _refusal(answer)
    if not answer.json():
        return "inserted"
    (entity,) = answer.json()
    if entity["@type"] == "currentStatus":
        message = str(entity["commandStatus"]["message"])
        query = re.fullmatch(r"Created query with ID (\w+?)_\d+", message)
        return f"created query {query[1]}" if query else message.lower()
    return f"warning: {entity['message']}" if entity["@type"] == "warning_entity" else "answered"


def _post(url: str, body: dict[str, Any]) -> httpx.Response:
    return httpx.post(url, json=body, timeout=TIMEOUT_S, trust_env=False)


def _pulled(url: str, text: str, expected: str) -> str:
    """The rows of a pull query, once the table has caught up: those that the page says."""
    deadline = time.monotonic() + (QUIET_S if WRITING else TIMEOUT_S)
    while True:
        answer = _post(f"{url}/query-stream", {"sql": text})
        if not answer.is_success:
            return _refusal(answer)
        rows = sorted(answer.text.splitlines()[1:])
        shown = "; ".join(re.sub(r"\.0{5,}\d+", "", json.dumps(json.loads(row))) for row in rows) or "no rows"
        outcome = f"`{shown}`"
        if (not WRITING and outcome == expected) or time.monotonic() > deadline:
            return outcome
        time.sleep(0.3)  # while writing, only time tells that no more rows come


def _count(lines: list[str], what: str) -> str:
    return f"{len(lines)} {what}{'' if len(lines) == 1 else 's'}"


def _refusal(answer: httpx.Response) -> str:
    return f"refused: {answer.json()['message'].splitlines()[0]}"
