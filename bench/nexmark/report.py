"""Tables and a plot of the latest results of each query: build/nexmark.md and build/nexmark.svg.

python -m bench.nexmark.report [--results build/nexmark.jsonl]
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bench.nexmark.ours import NAMES
from bench.nexmark.run import RESULTS

Entry = Mapping[str, Any]
#: what was measured: a backlog with changes written at once (0) or after so many seconds, or something else
Kind = int | str
Found = Mapping[tuple[str, str], Entry]
OTHERS = {"flink": "Flink", "kafka-streams": "Kafka Streams"}
SIDES = {"ours": "ksql-spark", **OTHERS}
#: of the plot, in pixels: a bar's height, the width of the names, and of a ratio of 1
HEIGHT, LEFT, UNIT = 18, 40, 120


def rates(entry: Entry) -> list[float]:
    """Events per second in each round."""
    return [entry["read"] / found["seconds"] for found in entry["rounds"] if found["seconds"]]


def costs(entry: Entry) -> list[float]:
    """Core-seconds per million events in each round."""
    return [found["cpu_s"] * 1e6 / entry["read"] for found in entry["rounds"] if found["cpu_s"]]


def latest(lines: Iterable[str]) -> dict[Kind, dict[tuple[str, str], Entry]]:
    """What was measured: of each query and side, the latest result."""
    found: dict[Kind, dict[tuple[str, str], Entry]] = {}
    for entry in map(json.loads, lines):
        kind = next((name for name in ("latency", "restore") if name in entry), entry.get("every", 0))
        found.setdefault(kind, {})[entry.get("query", ""), entry["side"]] = entry
    return found


def ratio(ours: list[float], theirs: list[float]) -> list[float]:
    """How many times as large theirs is, round by round."""
    return [b / a for a, b in zip(ours, theirs, strict=False)]


def row(cells: Iterable[object]) -> str:
    """A line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def beside(found: Found, other: str) -> tuple[list[str], dict[str, float]]:
    """A table of ours beside another side, and its core-seconds for each of ours, by query."""
    they = OTHERS[other]
    headings = ("query", "ksql-spark, events/s", they, "ratio", "ksql-spark, core-s per million", they)
    lines = [row((*headings, "ratio (range)")), "|---" * 7 + "|"]
    ratios: dict[str, float] = {}
    for name in NAMES:
        ours, theirs = found.get((name, "ours")), found.get((name, other))
        if ours is None or theirs is None or not rates(ours) or not rates(theirs):
            continue
        each = ratio(costs(ours), costs(theirs))
        ratios[name] = statistics.median(each)
        cells = (
            name,
            *(f"{statistics.median(rates(side)):,.0f}" for side in (ours, theirs)),
            f"{statistics.median(ratio(rates(theirs), rates(ours))):.2f}",
            *(f"{statistics.median(costs(side)):.2f}" for side in (ours, theirs)),
            f"{ratios[name]:.2f} ({min(each):.2f}–{max(each):.2f})",
        )
        problems = [side["first"]["problem"] for side in (ours, theirs)]
        said = (
            f" {SIDES[side]}: {text[:60]}"
            for side, text in zip(("ours", other), problems, strict=True)
            if text
        )
        lines.append(row(cells) + "".join(said))
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
        lines += [
            "",
            f"Geometric mean of core-seconds of {they} for each of ours: {mean:.2f}, {len(ratios)} queries.",
        ]
    return lines, ratios


def listed(found: Found, *columns: str) -> list[str]:
    """A table with columns of each result."""
    rows = (row((query, SIDES[side], *map(entry.get, columns))) for (query, side), entry in found.items())
    return [row(("query", "side", *columns)), "|---" * (2 + len(columns)) + "|", *rows]


def report(measured: Mapping[Kind, Found]) -> tuple[list[str], dict[str, dict[str, float]]]:
    """Lines of Markdown, and what to plot: ratios by query, with what they are of."""
    lines: list[str] = []
    plots: dict[str, dict[str, float]] = {}
    for kind, found in measured.items():
        if kind == "latency":
            lines += ["", "Latency, ms", "", *listed(found, "latency", "p50", "p99", "p999", "max", "lost")]
        elif kind == "restore":
            lines += [
                "",
                "First result after a kill",
                "",
                *listed(found, "restore", "seconds", "results", "new"),
            ]
        else:
            for other, they in OTHERS.items():
                part, ratios = beside(found, other)
                if ratios:
                    title = f"Core-seconds of {they} for each of ksql-spark"
                    title += f", changes every {kind} s" if kind else ""
                    plots[title] = ratios
                    lines += ["", title, "", *part]
    return lines[1:], plots


def plot(plots: Mapping[str, Mapping[str, float]]) -> str:
    """An SVG picture: below each title, a bar for each query, and a line at 1."""
    widest = max((value for ratios in plots.values() for value in ratios.values()), default=0.0)
    width = LEFT + round(UNIT * max(2.0, widest)) + 60
    height = HEIGHT * sum(len(ratios) + 2 for ratios in plots.values())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"',
        ' font-family="sans-serif" font-size="12">',
    ]
    y = 0
    for title, ratios in plots.items():
        parts.append(f'<text x="4" y="{y + 14}">{title}</text>')
        top = y = y + HEIGHT + 4
        for name, value in ratios.items():
            color = "#3a7" if value >= 1 else "#c63"
            parts += [
                f'<text x="4" y="{y + 12}">{name}</text>',
                f'<rect x="{LEFT}" y="{y}" width="{UNIT * value:.0f}" height="{HEIGHT - 4}" fill="{color}"/>',
                f'<text x="{LEFT + UNIT * value + 4:.0f}" y="{y + 12}">{value:.2f}</text>',
            ]
            y += HEIGHT
        parts.append(f'<line x1="{LEFT + UNIT}" x2="{LEFT + UNIT}" y1="{top}" y2="{y}" stroke="#333"/>')
        y += HEIGHT - 4
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    """Write and print the report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=RESULTS)
    results = parser.parse_args().results
    if not results.exists():
        raise SystemExit(f"{results} does not exist. Measure first: make nexmark.")
    lines, plots = report(latest(results.read_text().splitlines()))
    results.with_suffix(".md").write_text("\n".join(lines) + "\n")
    results.with_suffix(".svg").write_text(plot(plots))
    print("\n".join(lines), f"{results.with_suffix('.md')}, {results.with_suffix('.svg')}", sep="\n\n")


if __name__ == "__main__":
    main()
