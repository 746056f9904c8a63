"""Run conformance cases: ``python -m tests.conformance.run [options] [-- options of the runner]``.

The cases and their runner are not part of this project. Where they are is told by ``--runner``, else by
``KSQL_SPARK_CONFORMANCE``, else they are looked for in shared/conformance beside the project's folder. The
cases are split in shards, each a process with an engine and a broker of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = Path(__file__).with_name("sample.txt")
ADAPTER = "tests.conformance.adapter:EngineAdapter"


def runner_folder(path: str | None = None) -> Path | None:
    """The folder of the runner and the cases, None where there is none."""
    text = path or os.environ.get("KSQL_SPARK_CONFORMANCE")
    folder = Path(text).absolute() if text else ROOT.parent / "shared" / "conformance"
    return folder if (folder / "run.py").is_file() else None


def shard_command(runner: Path, shard: tuple[int, int], report: Path, options: Sequence[str]) -> list[str]:
    """The command line of one shard ``(i, n)``."""
    chosen = ["--shard", f"{shard[0]}/{shard[1]}", "--report", str(report)]
    return [sys.executable, str(runner / "run.py"), "--adapter", ADAPTER, *chosen, *options]


def run_shard(
    runner: Path, shard: tuple[int, int], options: Sequence[str], log: Path | None = None
) -> list[dict[str, Any]]:
    """Run one shard; gives the runner's results of its cases.

    Args:
        runner: folder of the runner.
        shard: (i, n), from 1.
        options: more options for the runner.
        log: where the runner's output goes; None: to ours.

    Raises:
        RuntimeError: the runner ended without a report.
    """
    with tempfile.TemporaryDirectory(prefix="ksql-conformance-report-") as folder:
        report = Path(folder) / "report.json"
        command = shard_command(runner, shard, report, options)
        if log:
            log.parent.mkdir(parents=True, exist_ok=True)
        output = log.open("a") if log else None
        try:
            done = subprocess.run(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        finally:
            if output:
                output.close()
        if not report.exists():
            if done.returncode == 2:  # no case was chosen
                return []
            raise RuntimeError(f"shard {shard[0]}/{shard[1]} ended with {done.returncode}, no report")
        cases: list[dict[str, Any]] = json.loads(report.read_text(encoding="utf-8"))["cases"]
        return cases


def table(results: Iterable[dict[str, Any]]) -> str:
    """Pass rates by feature, the total in the last line."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        groups.setdefault(f"{result['suite']}/{result['file']}", []).append(result)
    lines = [
        f"{'feature':42}{'cases':>6}{'pass':>6}{'%':>6}   {'exact':>9}{'final':>9}{'refused':>9}{'text':>6}"
    ]
    everything = [r for group in groups.values() for r in group]
    for name, group in [*sorted(groups.items()), ("all", everything)]:
        ran = [r for r in group if r["status"] != "skip"]
        passed = sum(r["status"] == "pass" for r in ran)
        outputs = [r for r in ran if r["exact"] is not None]
        refusals = [r for r in ran if r["message"] is not None]
        rate = f"{100 * passed / len(ran):.0f}" if ran else "-"
        exact = f"{sum(r['exact'] is True for r in outputs)}/{len(outputs)}"
        final = f"{sum(r['final'] is True for r in outputs)}/{len(outputs)}"
        lines.append(
            f"{name:42}{len(ran):6}{passed:6}{rate:>6}   {exact:>9}{final:>9}{len(refusals):9}"
            f"{sum(r['message'] is True for r in refusals):6}"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Run the chosen shards and print the pass rates; 0 when every case passes."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0],
        epilog="What follows -- is for the runner: --only, --tags, --limit, -v and so on.",
    )
    parser.add_argument("--runner", help="folder of the runner and the cases")
    parser.add_argument("--shards", type=int, default=8, help="in how many parts (default 8)")
    parser.add_argument("--shard", metavar="i/n", help="only part i of n")
    parser.add_argument("--jobs", type=int, default=1, help="how many parts run at a time (default 1)")
    parser.add_argument("--report", type=Path, help="write all results here, as JSON")
    parser.add_argument("--log", type=Path, help="write the runner's output here instead of to the screen")
    mine = list(arguments)
    rest: list[str] = []
    if "--" in mine:
        at = mine.index("--")
        mine, rest = mine[:at], mine[at + 1 :]
    options = parser.parse_args(mine)
    runner = runner_folder(options.runner)
    if runner is None:
        print("The conformance cases are not here: name their folder with --runner.", file=sys.stderr)
        return 2
    if options.shard:
        number, _, count = options.shard.partition("/")
        shards = [(int(number), int(count))]
    else:
        shards = [(i, options.shards) for i in range(1, options.shards + 1)]
    start = time.monotonic()
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        parts = list(pool.map(lambda shard: run_shard(runner, shard, rest, options.log), shards))
    results = sorted((r for part in parts for r in part), key=lambda r: str(r["id"]))
    if options.report:
        options.report.parent.mkdir(parents=True, exist_ok=True)
        options.report.write_text(json.dumps({"cases": results}, indent=1) + "\n", encoding="utf-8")
    print(table(results))
    print(f"{time.monotonic() - start:.0f} s")
    return 0 if results and all(r["status"] in ("pass", "skip") for r in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
