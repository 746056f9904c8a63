"""How many lines per second ``ksql-spark fmt`` formats: those of all SQL files of examples and tests.

    python bench/format.py

Target: 10,000 lines/s.
"""

from __future__ import annotations

import time
from pathlib import Path

from ksql_spark.tools.format.layout import formatted

ROOT = Path(__file__).parents[1]
ROUNDS = 3


def main() -> None:
    texts = [
        path.read_text(encoding="utf-8")
        for folder in ("examples", "tests/cases", "tests/integration", "tests/plans")
        for path in sorted((ROOT / folder).rglob("*.sql"))
    ]
    lines = sum(text.count("\n") for text in texts)
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        for text in texts:
            formatted(text)
        best = min(best, time.process_time() - started)
    print(f"{lines:,} lines in {best:.2f} s of CPU: {lines / best:,.0f} lines/s")


if __name__ == "__main__":
    main()
