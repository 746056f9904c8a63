"""Parse the statements of conformance cases: ``python -m tests.conformance.parsing [-v]``.

Every statement is parsed, rendered and parsed again: both trees must be equal. A statement that a case
expects to be refused may be refused here already.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ksql_spark import grammar

from .run import runner_folder


def problem(text: str) -> str | None:
    """What is wrong with parsing ``text`` and back; None: nothing."""
    try:
        trees = grammar.parse(text)
    except grammar.ParseFailed as error:
        return f"does not parse: {error}"
    for tree in trees:
        rendered = grammar.render(tree)
        try:
            again = grammar.parse(rendered if rendered.rstrip().endswith(";") else rendered + ";")
        except grammar.ParseFailed as error:
            return f"does not parse back: {error}\n    {rendered}"
        if again != [tree]:
            return f"parses back as something else:\n    {rendered}"
    return None


def cases(folder: Path) -> Iterator[dict[str, Any]]:
    """All cases in the folder's .jsonl files."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def main(arguments: Sequence[str]) -> int:
    """Print, by feature, how many statements parse and parse back; 0 when all do."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runner", help="folder of the runner and the cases")
    parser.add_argument("-v", "--verbose", action="store_true", help="list what does not")
    options = parser.parse_args(arguments)
    runner = runner_folder(options.runner)
    if runner is None:
        print("The conformance cases are not here: name their folder with --runner.", file=sys.stderr)
        return 2
    good: Counter[str] = Counter()
    total: Counter[str] = Counter()
    refused = 0
    for case in cases(runner / "cases"):
        feature = f"{case['suite']}/{case['file']}"
        for text in case["statements"]:
            wrong = problem(text)
            if wrong and case["expected_exception"] and text is case["statements"][-1]:
                refused += 1
                continue
            total[feature] += 1
            good[feature] += wrong is None
            if wrong is not None and options.verbose:
                print(f"{case['id']}\n  {text}\n  {wrong}")
    for feature in sorted(total):
        share = 100 * good[feature] / total[feature]
        print(f"{feature:42}{good[feature]:6} of {total[feature]:5}{share:7.1f} %")
    everything = sum(total.values())
    print(f"{'all':42}{sum(good.values()):6} of {everything:5}{100 * sum(good.values()) / everything:7.1f} %")
    print(f"refused while parsing, as expected: {refused}")
    return 0 if good == total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
