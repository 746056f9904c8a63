"""A table and a plot of the latest results of each query: build/nexmark.md and build/nexmark.svg.

python -m bench.nexmark.report [--results build/nexmark.jsonl]
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.nexmark.ours import NAMES
from bench.nexmark.run import RESULTS

Entry = Mapping[str, Any]
HEADINGS = (
    "query",
    "ksql-spark, events/s",
    "Flink",
    "ratio",
    "ksql-spark, core-s per million",
    "Flink",
    "ratio (range)",
)
#: of the plot, in pixels: a bar's height, the width of the names, and of a ratio of 1
HEIGHT, LEFT, UNIT = 18, 40, 120


def rates(entry: Entry) -> list[float]:
    """Events per second in each round."""
    return [entry["read"] / found["seconds"] for found in entry["rounds"] if found["seconds"]]


def costs(entry: Entry) -> list[float]:
    """Core-seconds per million events in each round."""
    return [found["cpu_s"] * 1e6 / entry["read"] for found in entry["rounds"] if found["cpu_s"]]


def latest(lines: list[str]) -> dict[tuple[str, str], Entry]:
    """The latest result of each query and side."""
    return {(entry["query"], entry["side"]): entry for entry in map(json.loads, lines)}


def ratio(ours: list[float], theirs: list[float]) -> list[float]:
    """How many times as large theirs is, round by round."""
    return [b / a for a, b in zip(ours, theirs, strict=False)]


def table(found: Mapping[tuple[str, str], Entry]) -> tuple[list[str], dict[str, float]]:
    """Lines of Markdown, and Flink's core-seconds for each of ours, by query."""
    lines = ["| " + " | ".join(HEADINGS) + " |", "|---" * len(HEADINGS) + "|"]
    ratios: dict[str, float] = {}
    for name in NAMES:
        ours, flink = found.get((name, "ours")), found.get((name, "flink"))
        if ours is None or not rates(ours):
            continue
        cells = [
            name,
            f"{statistics.median(rates(ours)):,.0f}",
            "",
            "",
            f"{statistics.median(costs(ours)):.2f}",
            "",
            "",
        ]
        if flink is not None and rates(flink):
            each = ratio(costs(ours), costs(flink))
            ratios[name] = statistics.median(each)
            cells[2] = f"{statistics.median(rates(flink)):,.0f}"
            cells[3] = f"{statistics.median(ratio(rates(flink), rates(ours))):.2f}"
            cells[5] = f"{statistics.median(costs(flink)):.2f}"
            cells[6] = f"{ratios[name]:.2f} ({min(each):.2f}–{max(each):.2f})"
        problems = [
            f" {side['side']}: {side['first']['problem'][:60]}"
            for side in (ours, flink)
            if side and side["first"]["problem"]
        ]
        lines.append("| " + " | ".join(cells) + " |" + "".join(problems))
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
        lines += [
            "",
            f"Geometric mean of Flink's core-seconds for each of ours: {mean:.2f}, of {len(ratios)} queries.",
        ]
    return lines, ratios


def plot(ratios: Mapping[str, float]) -> str:
    """An SVG picture: a bar for each query, and a line at 1."""
    width, height = LEFT + round(UNIT * max([2.0, *ratios.values()])) + 60, HEIGHT * (len(ratios) + 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"',
        ' font-family="sans-serif" font-size="12">',
        '<text x="4" y="14">Flink\'s core-seconds for each of ksql-spark\'s</text>',
    ]
    for place, (name, value) in enumerate(ratios.items(), 1):
        y, color = HEIGHT * place + 4, "#3a7" if value >= 1 else "#c63"
        parts += [
            f'<text x="4" y="{y + 12}">{name}</text>',
            f'<rect x="{LEFT}" y="{y}" width="{UNIT * value:.0f}" height="{HEIGHT - 4}" fill="{color}"/>',
            f'<text x="{LEFT + UNIT * value + 4:.0f}" y="{y + 12}">{value:.2f}</text>',
        ]
    parts.append(
        f'<line x1="{LEFT + UNIT}" x2="{LEFT + UNIT}" y1="{HEIGHT}" y2="{height}" stroke="#333"/></svg>'
    )
    return "\n".join(parts) + "\n"


def main() -> None:
    """Write and print the report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=RESULTS)
    results = parser.parse_args().results
    if not results.exists():
        raise SystemExit(f"{results} does not exist. Measure first: make nexmark.")
    lines, ratios = table(latest(results.read_text().splitlines()))
    results.with_suffix(".md").write_text("\n".join(lines) + "\n")
    results.with_suffix(".svg").write_text(plot(ratios))
    print("\n".join(lines), f"{results.with_suffix('.md')}, {results.with_suffix('.svg')}", sep="\n\n")


if __name__ == "__main__":
    main()
