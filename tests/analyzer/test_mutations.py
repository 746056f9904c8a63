"""Changed statements give a plan or one of our errors, never another exception.

``MUTATIONS=100000`` tries so many instead of a thousand; with ``-s`` it says what became of them.
"""

from __future__ import annotations

import os
import random
import traceback
from collections import Counter

import pytest

from tests.analyzer.case_files import CASES, read, scene
from tests.analyzer.mutations import mutate, outcome, vocabulary

SETS = [
    (scene(setup), [c.statement for c in cases]) for setup, cases in map(read, sorted(CASES.glob("*.sql")))
]
WORDS = vocabulary(statement for _, statements in SETS for statement in statements)
SEEDS = 4
EACH = int(os.environ.get("MUTATIONS", "1000")) // SEEDS


@pytest.mark.parametrize("seed", range(SEEDS))
def test_mutated_statements(seed: int) -> None:
    chance = random.Random(seed)
    seen: Counter[str] = Counter()
    failures: dict[str, str] = {}
    for _ in range(EACH):
        store, statements = chance.choice(SETS)
        text = mutate(chance.choice(statements), WORDS, chance)
        try:
            seen[outcome(text, store)] += 1
        except Exception:  # each place that fails is told once
            where = traceback.format_exc().strip().splitlines()
            failures.setdefault("\n".join(where[-4:]), text)
    print(f"\nseed {seed}: {EACH} statements,", ", ".join(f"{k} {n}" for k, n in seen.most_common()))
    assert not failures, "\n\n".join(f"{text}\n{where}" for where, text in failures.items())
    # were most of them no KSQL at all, the test would show nothing
    assert seen["parse error"] < 0.8 * EACH
    assert len(seen) > 5
