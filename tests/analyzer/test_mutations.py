"""Changed statements give a plan or one of our errors, never another exception."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.analyzer.mutations import mutate, outcome, vocabulary
from tests.analyzer.test_cases import CASES, read, scene

SETS = [
    (scene(setup), [c.statement for c in cases]) for setup, cases in map(read, sorted(CASES.glob("*.sql")))
]
WORDS = vocabulary(statement for _, statements in SETS for statement in statements)


@pytest.mark.parametrize("seed", range(4))
def test_mutated_statements(seed: int) -> None:
    chance = random.Random(seed)
    seen: Counter[str] = Counter()
    for _ in range(250):
        store, statements = chance.choice(SETS)
        seen[outcome(mutate(chance.choice(statements), WORDS, chance), store)] += 1
    # were most of them no KSQL at all, the test would show nothing
    assert seen["parse error"] < 200
    assert len(seen) > 5
