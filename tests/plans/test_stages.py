"""What topics and checkpoints of running queries depend on: the stages of plans, and their state's layouts.

A difference means that a query loses its state or its topics. ``UPDATE_PLANS=1`` writes the files anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ksql_spark.spark.build import build
from ksql_spark.spark.frames import Context
from tests.plans.plan_files import FOLDER, RECORD, PlannedQuery, planned

FILES = sorted(FOLDER.glob("*.sql"))
TIMED = {"ksql.idle.window.timeout": 1500, "processing.guarantee": "exactly_once_v2"}


def _check(path: Path, of: Callable[[PlannedQuery], Any], name: str, **properties: Any) -> None:
    found = [json.dumps([query.text, of(query)], ensure_ascii=False) for query in planned(path, **properties)]
    expected = path.with_suffix(f".{name}.jsonl")
    if os.environ.get("UPDATE_PLANS"):
        expected.write_text("\n".join(found) + "\n", encoding="utf-8")
    assert expected.read_text(encoding="utf-8").splitlines() == found


def _stages(query: PlannedQuery) -> list[dict[str, Any]]:
    return [
        {
            "reads": list(stage.topics),
            "writes": stage.sink.topic,
            "transactional id": stage.transactional_id,
            "state": list(stage.state_kinds),
            "needs heartbeats": stage.needs_heartbeats,
        }
        for stage in query.plan.stages
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_stages(path: Path) -> None:
    _check(path, _stages, "stages", **TIMED)


@pytest.mark.spark
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_layouts_of_state(path: Path, local_spark: SparkSession) -> None:
    records = local_spark.readStream.format("rate").load().selectExpr(*RECORD)

    def layouts(query: PlannedQuery) -> list[dict[str, str]]:
        return [dict(build(Context(local_spark, stage, records)).layout) for stage in query.plan.stages]

    _check(path, layouts, "layouts")
