"""Changed statements give a plan that can be explained and stored, or one of our errors; nothing else.

``FUZZ=100000 python -m pytest tests/plans/test_plan_fuzzing.py`` tries that many; ``FUZZ_SEED`` others.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from typing import Any

from ksql_spark import grammar
from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan import codec
from ksql_spark.plan.explain import (
    explain,
    explain_job,
    explain_lookup,
    explain_topology,
)
from ksql_spark.plan.planner import lower, lower_transient
from ksql_spark.plan.queries import Feed, Job, Lookup, PersistentQuery
from ksql_spark.plan.trees import unplanned
from tests.analyzer.binding import bind_statement
from tests.analyzer.case_files import CASES, read, scene
from tests.analyzer.mutations import mutate, vocabulary
from tests.analyzer.plan_checks import problems
from tests.plans.plan_files import FOLDER

EXAMPLES = int(os.environ.get("FUZZ", "600"))
SEED = int(os.environ.get("FUZZ_SEED", "4"))
CONFIG = Config()


def _sets() -> list[tuple[MetaStore, list[str]]]:
    """(what there is, statements to change): the analyzer's cases, and the queries of the plan files."""
    sets = [
        (scene(setup), [c.statement for c in cases])
        for setup, cases in map(read, sorted(CASES.glob("*.sql")))
    ]
    for path in sorted(FOLDER.glob("*.sql")):
        texts = [piece.text + ";" for piece in grammar.split(path.read_text(encoding="utf-8"))]
        plain = [text for text in texts if "VALUE_FORMAT" in text]
        sets.append((scene("\n".join(plain)), [text for text in texts if text not in plain]))
    return sets


def outcome(text: str, store: MetaStore) -> str:
    """What becomes of ``text``; any exception that is not ours goes through."""
    try:
        statement = grammar.parse_one(text)
    except grammar.ParseFailed:
        return "parse error"
    try:
        bound = bind_statement(statement, store.copy(), CONFIG)
        assert problems(bound) == []
        plan = _plan(bound)
    except KsqlError as error:
        assert error.message
        return error.condition
    if isinstance(bound, Lookup):
        assert explain_lookup(bound)
    if isinstance(bound, Job):
        assert explain_job(bound)
    if plan is None:
        return "bound"
    assert explain(plan) and explain_topology(plan)
    assert unplanned(plan.root) == bound.root
    assert codec.decode(json.loads(json.dumps(codec.encode(plan)))) == plan
    return "planned"


def _plan(bound: Any) -> Any:
    match bound:
        case PersistentQuery():
            return lower(bound.root, bound.sink, CONFIG)
        case Feed():
            return lower_transient(bound.root, bound.output, "transient", CONFIG)
    return None


def test_mutated_statements() -> None:
    sets = [(store, statements, vocabulary(statements)) for store, statements in _sets()]
    chance = random.Random(SEED)
    seen: Counter[str] = Counter()
    for _ in range(EXAMPLES):
        store, statements, words = chance.choice(sets)
        text = mutate(chance.choice(statements), words, chance)
        try:
            seen[outcome(text, store)] += 1
        except Exception as error:
            raise AssertionError(f"{type(error).__name__} for {text}") from error
    # were most of them no KSQL at all, the test would show nothing
    assert seen["planned"] > EXAMPLES / 40 and len(seen) > 10, seen
