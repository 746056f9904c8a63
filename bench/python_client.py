"""How long ``import ksql_spark`` and ``ksql_spark.connect(URL)`` take: medians over new processes.

    python bench/python_client.py [--runs 10] [URL]

The lines to hold are 0.2 and 0.3 s. Without a URL, only the import is measured.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys

IMPORT = "import time; t = time.perf_counter(); import ksql_spark; print(time.perf_counter() - t)"
CONNECT = (
    "import sys, time; import ksql_spark; t = time.perf_counter(); "
    "db = ksql_spark.connect(sys.argv[1]); print(time.perf_counter() - t)"
)


def median(runs: int, code: str, *arguments: str) -> float:
    def once() -> float:
        command = [sys.executable, "-c", code, *arguments]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    return statistics.median(once() for _ in range(runs))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", nargs="?")
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    print(f"import ksql_spark: {median(options.runs, IMPORT):.3f} s")
    if options.url:
        print(f"connect({options.url}): {median(options.runs, CONNECT, options.url):.3f} s")


if __name__ == "__main__":
    main()
