"""Describes a running query step by step (GET /queries/{id})."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ksql_spark.entities.query_details import (
    CheckpointReport,
    Histogram,
    PlanStep,
    QueryDetails,
    QueryTransition,
    RecordVolume,
    StateVolume,
    StepDetail,
    SubTopology,
)
from ksql_spark.plan.explain import DrawnStep, drawn_logical, drawn_stage, execution
from ksql_spark.plan.stages import REALTIME
from ksql_spark.plan.trees import unplanned
from ksql_spark.runtime.queries.figures import QueryFigures
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.watching.state_size import state_sizes
from ksql_spark.spark.processing_log import Graces
from ksql_spark.spark.traffic import Times, Traffic, Volume


def query_details(query: ManagedQuery, figures: QueryFigures) -> QueryDetails:
    """Describe how ``query`` runs, with its figures, if Spark has any."""
    traffic = figures.traffic().get(query.id)
    runner = query.runner
    sizes, runs = state_sizes(runner, figures), list(runner.spark)
    states = [
        StateVolume(rows=size.entries, bytes=size.bytes, at=size.at, outgrown=size.outgrown) if size else None
        for size in sizes
    ]
    stages = []
    for number, stage in enumerate(query.plan.stages):
        stages.append(
            SubTopology(
                number=number,
                execution=execution(stage),
                steps=tuple(_step(step, traffic) for step in drawn_stage(stage)),
                state=states[number] if number < len(states) else None,
                checkpoints=tuple(
                    _checkpoint(report, is_real_time=stage.mode == REALTIME)
                    for report in (runs[number].recent if number < len(runs) else ())
                ),
            )
        )
    return QueryDetails(
        id=query.id,
        state=runner.state,
        time_ms=int(time.time() * 1000),
        logical=tuple(_step(step, None) for step in drawn_logical(unplanned(query.plan.root))),
        sub_topologies=tuple(stages),
        latencies={} if traffic is None else {t: _histogram(it) for t, it in traffic.latencies.items()},
        reached={} if traffic is None else _by_partition(traffic),
        pauses=None if traffic is None or not traffic.pauses.total else _histogram(traffic.pauses),
        graces=_graces(figures.graces(query.id)),
        transitions=tuple(
            QueryTransition(time_ms=it.time_ms, event=it.event, state=it.state, reason=it.reason or None)
            for it in runner.lifecycle.transitions
        ),
    )


def _step(step: DrawnStep, traffic: Traffic | None) -> PlanStep:
    volumes: Mapping[str, Volume] = {}
    if traffic is not None and step.topic is not None:
        volumes = traffic.read if not step.inputs else traffic.written
    volume = volumes.get(step.topic or "")
    return PlanStep(
        id=step.id,
        title=step.title,
        details=tuple(StepDetail(name, text) for name, text in step.details),
        inputs=step.inputs,
        topic=step.topic,
        volume=None if volume is None else RecordVolume(volume.records, volume.bytes),
        state=step.state,
    )


def _histogram(times: Times) -> Histogram:
    return Histogram(times.bounds, times.counts, times.sum_s)


def _by_partition(traffic: Traffic) -> dict[str, dict[str, int]]:
    return {topic: {str(p): at for p, at in places.items()} for topic, places in traffic.reached.items()}


def _graces(graces: Graces | None) -> Histogram | None:
    if graces is None:
        return None
    return Histogram(tuple(ms / 1000 for ms in graces.periods_ms), (*graces.counts, 0))


def _checkpoint(report: Mapping[str, Any], *, is_real_time: bool) -> CheckpointReport:
    """Convert Spark's report of a batch; in real time, rows are processed while Spark "adds" it."""
    took_ms = int(report["batchDuration"])
    return CheckpointReport(
        batch=int(report["batchId"]),
        time_ms=int(datetime.fromisoformat(report["timestamp"]).timestamp() * 1000),
        took_ms=took_ms,
        records=int(report["numInputRows"]),
        parts_ms={name: int(ms) for name, ms in report["durationMs"].items()},
        pause_ms=took_ms - int(report["durationMs"].get("addBatch", 0)) if is_real_time else None,
    )
