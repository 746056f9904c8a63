"""Tries faults on a server with queries of every kind: what is lost, what is repeated, how long it takes.

    python -m tests.faults [--seed N] [--runs N] [--fault NAME …] [--partitions N …] [--results FILE]

A run sends records, does something bad in the middle, sends more, and waits until all results are what they
must be and the server is healthy. Everything random comes from the seed. ``--results`` adds a line of JSON
for each run to a file; ``--table FILE …`` shows such files as a table.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx

from ksql_spark.errors import KsqlError
from tests.faults.faults import APART, FAULTS, IMPOSSIBLE, Run
from tests.faults.scene import PARTITIONS, Difference, Scene

#: records of a run, before, during and after the fault, for each set of queries
COUNTS = (100, 300, 100)
#: results that are not right after so long are lost, seconds
PATIENCE_S = 240.0


@dataclass
class Outcome:
    """What a run gave.

    ``recovery_s``: from the end of the fault to right results and good health; ``noticed_s``: until
    /healthcheck said that something was wrong, where that was measured. ``stopped``: queries and sinks that
    do not run in the end, and activities that do not come to theirs.
    """

    fault: str
    seed: int
    exactly_once: bool
    lost: int
    wrong: int
    repeated: int
    recovery_s: float
    rebuilt: bool
    said: str = ""
    noticed_s: float | None = None
    stopped: int = 0

    @property
    def is_right(self) -> bool:
        """Whether the run gave what is promised."""
        # the streams of a query that was rebuilt come again
        repeated = self.repeated if self.exactly_once and not self.rebuilt else 0
        return not (self.lost or self.wrong or repeated or self.stopped)


def one(run: Run, fault: str, seed: int, patience_s: float = PATIENCE_S, *, exactly_once: bool) -> Outcome:
    """One run of a fault."""
    scene = run.scene
    run.has_rebuilt, run.damaged, run.said, run.noticed_s = False, "", "", None
    run.stuck, run.misled = [], []
    scene.accept_repeats()
    before, during, after = COUNTS
    scene.send(before)
    scene.send(run.numbers.randrange(1, during))
    FAULTS[fault](run)
    began = time.monotonic()
    scene.send(after)
    scene.flush()
    differences = difference(scene)
    stopped: list[str] = []
    while (
        differences.lost or differences.wrong or not run.health()["isHealthy"] or (stopped := _stopped(run))
    ):
        if time.monotonic() - began > patience_s:
            break
        if run.damaged:
            run.rebuild()
        time.sleep(0.2)
        differences = difference(scene)
    took = time.monotonic() - began
    detail = f"{run.damaged}: {run.said}" if run.damaged else run.said
    is_late = took > patience_s
    if differences.lost or differences.wrong or is_late or run.stuck:
        print(run.diagnosis(), file=sys.stderr, flush=True)
    if differences.lost or differences.wrong:
        detail = "; ".join([detail, *differences.where])
        if differences.first is not None:
            detail += f"; inputs of {differences.first}: {scene.inputs(differences.first)}"
    elif is_late:
        detail = f"{detail}; {run.health()} {stopped}"
    elif run.stuck or run.misled:
        detail = f"{detail}; {run.stuck + run.misled[:5]}"
    elif differences.repeated and exactly_once:
        detail = f"{detail} {'; '.join(differences.again)}"
    return Outcome(
        fault,
        seed,
        exactly_once,
        differences.lost,
        differences.wrong + len(run.misled),
        differences.repeated,
        round(took, 1),
        run.has_rebuilt,
        detail,
        run.noticed_s,
        len(stopped) + len(run.stuck),
    )


def difference(scene: Scene) -> Difference:
    """The scene's difference; everything is lost as long as Kafka does not answer."""
    try:
        return scene.difference()
    except KsqlError as error:
        return Difference(lost=scene.sent, where=[error.message])


def _stopped(run: Run) -> list[str]:
    """The queries and sinks that do not run; all as long as there is no answer."""
    try:
        return run.stopped()
    except (AssertionError, httpx.HTTPError) as error:
        return [str(error)]


def play(
    names: Sequence[str],
    seed: int,
    runs: int,
    properties: str = "",
    results: Path | None = None,
    seconds: float = math.inf,
    partitions: Sequence[int] = PARTITIONS,
    patience_s: float = PATIENCE_S,
    *,
    exactly_once: bool = False,
) -> list[Outcome]:
    """Try faults, in an order that the seed says, on one server; see main() for the arguments."""
    numbers = random.Random(seed)
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="ksql-spark-faults-") as folder:
        if exactly_once:
            properties = f"processing.guarantee=exactly_once_v2\n{properties}"
        run = Run(Path(folder), numbers, names, properties, partitions)
        try:
            end = time.monotonic() + seconds
            run.make()
            order: list[str] = []
            for number in range(runs):
                if not order:
                    order = list(names)
                    numbers.shuffle(order)
                fault = order.pop()
                outcomes.append(one(run, fault, seed + number, patience_s, exactly_once=exactly_once))
                line = json.dumps(asdict(outcomes[-1]))
                print(line, flush=True)
                if results is not None:
                    with results.open("a", encoding="utf-8") as file:
                        file.write(line + "\n")
                # what is broken now is not the next fault's
                if not outcomes[-1].is_right or outcomes[-1].recovery_s >= patience_s:
                    return outcomes
                if time.monotonic() > end:
                    break
            leftovers = run.leaves()
            assert not leftovers, leftovers
        finally:
            run.close()
    return outcomes


def table(outcomes: Sequence[Mapping[str, Any]]) -> str:
    """Outcomes as a table in Markdown, a line for each fault."""
    lines = [
        "| fault | runs | lost | wrong | stopped | repeated: at least once | exactly | noticed"
        " | recovery: half, all |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, function in FAULTS.items():
        own = [outcome for outcome in outcomes if outcome["fault"] == name]
        if own:
            times = sorted(outcome["recovery_s"] for outcome in own)
            repeated = [
                sum(o["repeated"] for o in own if not o["rebuilt"] and o["exactly_once"] == guarantee)
                for guarantee in (False, True)
            ]
            sums = [sum(outcome.get(key, 0) for outcome in own) for key in ("lost", "wrong", "stopped")]
            what = (function.__doc__ or name).rstrip(".")
            noticed = [s for outcome in own if (s := outcome.get("noticed_s")) is not None]
            within = f"{max(noticed):.1f} s" if noticed else ""
            cells = (
                what,
                len(own),
                *sums,
                *repeated,
                within,
                f"{times[len(times) // 2]:.0f}, {times[-1]:.0f} s",
            )
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main() -> int:
    """Try faults as the command line says; 1 if anything was lost or wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, help="begin no run after so long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=len(FAULTS))
    parser.add_argument("--fault", action="append", choices=list(FAULTS), help="only these; may be repeated")
    parser.add_argument(
        "--exactly-once", action="store_true", help="with processing.guarantee=exactly_once_v2"
    )
    parser.add_argument(
        "--partitions",
        type=int,
        nargs="+",
        default=PARTITIONS,
        help="a set of queries for each, whose topics have so many",
    )
    parser.add_argument(
        "--patience", type=float, default=PATIENCE_S, help="after so many seconds, it is lost"
    )
    parser.add_argument("--properties", default="", help="lines of the server's properties")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--table", type=Path, nargs="+")
    options = parser.parse_args()
    if options.table:
        recorded = [json.loads(line) for file in options.table for line in file.read_text().splitlines()]
        print(table(recorded))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends the server and the broker, too
    try:
        names = options.fault or [name for name in FAULTS if name not in IMPOSSIBLE]
        together = [name for name in names if name not in APART]
        outcomes = []
        for group in filter(None, (together, *([name] for name in names if name in APART))):
            outcomes += play(
                group,
                options.seed,
                max(1, options.runs * len(group) // len(names)),
                options.properties,
                options.results,
                options.seconds or math.inf,
                options.partitions,
                options.patience,
                exactly_once=options.exactly_once,
            )
    except Exception:
        traceback.print_exc()
        return 1
    print(table([asdict(outcome) for outcome in outcomes]))
    return int(not all(outcome.is_right for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
