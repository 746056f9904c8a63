"""``ksql-spark branch`` against what a server may answer; integration/tools/test_branches.py has the rest."""

from __future__ import annotations

import io
from typing import Any, cast

import pytest

from ksql_spark import grammar
from ksql_spark.shell.client import Client, Settings
from ksql_spark.shell.output.console import Console
from ksql_spark.tools import branches
from ksql_spark.tools.importer.items import Item


@pytest.mark.parametrize(
    ("ways", "expected"),
    [
        (["created", "in-place"], ["CREATE OR REPLACE STREAM"]),
        (["created", "backfill", "in-place"], ["CREATE OR REPLACE STREAM", "backfill"]),
    ],
)
def test_an_original_is_changed_as_its_copy_was(ways: list[str], expected: list[str]) -> None:
    sent: list[str] = []

    class Server:
        def run(self, text: str, settings: Settings | None = None) -> list[dict[str, Any]]:
            if text.startswith("SHOW VERSIONS"):
                return [{"versions": [{"way": way} for way in ways]}]
            sent.append(text)
            return [{}]

    text = "CREATE STREAM DEV__T AS SELECT * FROM S EMIT CHANGES;"
    item = Item("STREAM", "DEV__T", text, {}, topic="DEV__T")
    tree = branches.merged(text, branches.Branch("dev"))
    console = Console(io.StringIO())
    assert not [*branches._evolved(cast(Client, Server()), console, "STREAM T", tree, item)]
    (statement,) = sent
    assert all(part in statement for part in expected)
    assert ("EVOLVE" in statement) == ("backfill" in ways)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("SELECT DEV__A.K, DEV__A.* FROM DEV__A", "SELECT A.K, A.* FROM A"),
        ("SELECT A.K FROM DEV__A AS A", "SELECT A.K FROM A"),
        ("SELECT D.K FROM DEV__A AS D", "SELECT D.K FROM A AS D"),
        (
            "SELECT DEV__A.K, A.V FROM DEV__A JOIN A ON DEV__A.K = A.K",
            "SELECT DEV__A.K, A.V FROM A AS DEV__A JOIN A ON DEV__A.K = A.K",
        ),
        ("SELECT DEV__A.K FROM (SELECT DEV__A.K FROM DEV__A) AS DEV__A", None),
    ],
)
def test_a_copy_is_shown_as_the_original_would_be_written(written: str, shown: str | None) -> None:
    tree = branches.merged(
        f"CREATE OR REPLACE STREAM DEV__S AS {written} EMIT CHANGES;", branches.Branch("dev")
    )
    shown = shown or "SELECT DEV__A.K FROM (SELECT DEV__A.K FROM A AS DEV__A) AS DEV__A"
    assert grammar.render(tree) == f"CREATE STREAM S AS {shown} EMIT CHANGES"


@pytest.mark.parametrize(
    ("last", "reason", "failed"),
    [("swapped", None, []), ("failed", "no space", ["T"]), ("aborted", None, ["T"])],
)
def test_a_promotion_waits_until_its_change_is_over(
    last: str, reason: str | None, failed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    states = iter(["backfilling", "caught up", last])

    class Server:
        def run(self, text: str) -> list[dict[str, Any]]:
            return [{"state": next(states), "reason": reason, "recordsLeft": 1}]

    monkeypatch.setattr(branches, "_LOOK_S", 0)
    out = io.StringIO()
    assert [*branches._swapped(cast(Client, Server()), Console(out), "T")] == failed
    assert (reason or last) in out.getvalue() or not failed
