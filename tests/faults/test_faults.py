"""A few faults on a server with queries of every kind; ``make faults`` tries all."""

from __future__ import annotations

import pytest

from tests.faults.__main__ import PATIENCE_S, play
from tests.faults.faults import SHORT

pytestmark = pytest.mark.kafka


def test_a_few_faults() -> None:
    for outcome in play(SHORT, seed=1, runs=len(SHORT)):
        assert (outcome.lost, outcome.wrong) == (0, 0), outcome
        assert outcome.recovery_s <= PATIENCE_S, outcome
