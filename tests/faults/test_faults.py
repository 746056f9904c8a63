"""A few faults on a server with queries of every kind; ``make faults`` tries all."""

from __future__ import annotations

import inspect

import pytest

from tests.faults import faults
from tests.faults.__main__ import PATIENCE_S, play
from tests.faults.faults import APART, FAULTS, SHORT
from tests.integration.server_process import ROOT


@pytest.mark.kafka
@pytest.mark.long
def test_a_few_faults() -> None:
    for outcome in play(SHORT, seed=1, runs=len(SHORT)):
        assert (outcome.lost, outcome.wrong) == (0, 0), outcome
        assert outcome.recovery_s <= PATIENCE_S, outcome


def test_every_fault_is_in_the_list_and_in_the_table_of_what_came_out() -> None:
    takes_a_run = {"run": "Run", "return": "None"}
    functions = [each for each in vars(faults).values() if inspect.isfunction(each)]
    found = {each.__name__ for each in functions if each.__annotations__ == takes_a_run}
    written = {name for name in found if not name.startswith("_")}
    assert written == FAULTS.keys() and FAULTS.keys() >= {*SHORT, *APART}
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert [name for name, f in FAULTS.items() if f"| {(f.__doc__ or name).rstrip('.')} |" not in page] == []
