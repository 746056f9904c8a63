"""Does anything grow while evolutions, sinks, archives, branches and clients of PostgreSQL come and go?

    python -m tests.faults.soak [--seconds 3600] [--seed N] [--partitions N …]

The queries of ``python -m tests.faults``, and its activities, one after the other, without faults. Measured
every 30 s: memory of the server's Python and of Spark's JVM (MB), their threads and open files, topics,
checkpoints, and temporary files. Fails if one of them has grown after the first quarter of the time, or if a
result is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from ksql_spark.kafka.admin import KafkaAdmin
from tests.faults.__main__ import PATIENCE_S, difference
from tests.faults.activities import ACTIVITIES, PostgresClients
from tests.faults.faults import Run

EVERY_S = 30.0
#: how much each may have grown: a share of its median, or a number, whichever is more
ALLOWED: Mapping[str, tuple[float, float]] = {
    "py MB": (0.15, 40), "jvm MB": (0.35, 300), "py threads": (0.1, 5), "jvm threads": (0.15, 30),
    "py files": (0.1, 10), "jvm files": (0.15, 60), "topics": (0.05, 3), "checkpoints": (0.1, 3),
    "temporary": (0.1, 10),
}  # fmt: skip


def growth(samples: Sequence[tuple[float, float]]) -> float:
    """How much a number has grown after the first quarter of the time, by the line that fits best.

    Args:
        samples: when, and what it was.

    >>> round(growth([(n, 100 + n % 2) for n in range(100)]))
    0
    >>> round(growth([(n, 100 + 2 * n) for n in range(101)]))
    150
    """
    end = samples[-1][0]
    late = [each for each in samples if each[0] >= samples[0][0] + (end - samples[0][0]) / 4]
    if len(late) < 3:
        return 0.0
    line = statistics.linear_regression([when for when, _ in late], [value for _, value in late])
    return line.slope * (end - late[0][0])


def grown(samples: Mapping[str, Sequence[tuple[float, float]]]) -> list[str]:
    """What has grown more than is allowed, by name."""
    lines = []
    for name, (share, number) in ALLOWED.items():
        median = statistics.median(value for _, value in samples[name])
        if (more := growth(samples[name])) > max(share * median, number):
            lines.append(f"{name}: {more:+.0f} at {median:.0f}")
    return lines


class Sampler:
    """Measures a run's server, in a thread.

    Args:
        run: the run.
        temporary: its folder of temporary files.
    """

    def __init__(self, run: Run, temporary: Path) -> None:
        self._run, self._temporary = run, temporary
        self._admin = KafkaAdmin(run.servers)
        self._is_over = threading.Event()
        self.samples: dict[str, list[tuple[float, float]]] = {name: [] for name in ALLOWED}
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()

    def close(self) -> None:
        """Measure no more."""
        self._is_over.set()
        self._thread.join()

    def _sample(self) -> None:
        began = time.monotonic()
        print(" ".join(f"{name:>11}" for name in ("second", *ALLOWED)), flush=True)
        while not self._is_over.wait(EVERY_S):
            values = self._measured()
            second = time.monotonic() - began
            for name, value in values.items():
                self.samples[name].append((second, value))
            print(" ".join(f"{value:11.0f}" for value in (second, *values.values())), flush=True)

    def _measured(self) -> dict[str, float]:
        figures = dict.fromkeys(ALLOWED, 0.0)
        for name, pid in (("py", self._run.server.process.pid), ("jvm", self._run.jvm())):
            process = psutil.Process(pid)
            figures[f"{name} MB"] = process.memory_info().rss / 1e6
            figures[f"{name} threads"] = process.num_threads()
            figures[f"{name} files"] = process.num_fds()
        figures["topics"] = len(self._admin.topics())
        figures["checkpoints"] = len([*(self._run.data_dir / "checkpoints").glob("*")])
        figures["temporary"] = len([*self._temporary.rglob("*")])
        return figures


def cycle(run: Run, name: str) -> list[str]:
    """One round of an activity beside those that always go on; what did not come to its end."""
    going = [each for each in run.activities.values() if each.IS_STEADY]
    aimed = run.activities[name]
    stuck = []
    for each in {*going, aimed}:
        each.prepare()
    try:
        run.scene.send(50)
        for each in (aimed, *going):
            try:
                each.round()
            except AssertionError as error:
                stuck.append(f"{name}: {error}")
    finally:
        for each in going:
            if isinstance(each, PostgresClients):
                stuck += each.end()
    run.scene.send(50)
    run.scene.flush()
    return stuck


def main() -> int:
    """Run for the given time; 1 if anything has grown, or is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--partitions", type=int, nargs="+", default=(1, 3))
    parser.add_argument(
        "--patience", type=float, default=PATIENCE_S, help="after so many seconds, it is wrong"
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    problems: list[str] = []
    rounds = 0
    with tempfile.TemporaryDirectory(prefix="ksql-spark-soak-") as name, contextlib.ExitStack() as ends:
        temporary = Path(name) / "temporary"
        temporary.mkdir()
        numbers = random.Random(options.seed)
        # nothing jumps and nothing is full
        environment = {"TMPDIR": str(temporary)}
        run = Run(Path(name), numbers, [*ACTIVITIES], "", options.partitions, environment)
        ends.callback(run.close)
        run.make()
        sampler = Sampler(run, temporary)
        ends.callback(sampler.close)
        end = time.monotonic() + options.seconds
        while time.monotonic() < end and not problems:
            for each in ACTIVITIES:
                problems += cycle(run, each)
                rounds += 1
            deadline = time.monotonic() + options.patience
            while (
                (differences := difference(run.scene)).lost or differences.wrong or (stopped := run.stopped())
            ):
                if time.monotonic() > deadline:
                    problems += [*differences.where, *stopped]
                    print(run.diagnosis(), file=sys.stderr)
                    break
                time.sleep(1)
        sampler.close()
        clients = run.activities["postgres_clients"]
        assert isinstance(clients, PostgresClients)
        print(f"{rounds} rounds, {run.scene.sent:,} records for each set, clients: {dict(clients.did)}")
        for what, samples in sampler.samples.items():
            values = [value for _, value in samples]
            least, most = min(values), max(values)
            print(f"{what}: {least:.0f} to {most:.0f}, {growth(samples):+.0f} after the first quarter")
        problems += grown(sampler.samples)
    print("\n".join(problems) or "nothing has grown, and nothing is wrong")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
