"""``ksql-spark branch`` against what a server may answer; tests/integration/test_branches.py has the rest."""

from __future__ import annotations

import io
from typing import Any, cast

import pytest

from ksql_spark.shell.client import Client
from ksql_spark.shell.output.console import Console
from ksql_spark.tools import branches


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
