"""``ksql-spark lint FILE…``: checks files of statements without a server."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ksql_spark import __version__
from ksql_spark.shell.client import ClientError
from ksql_spark.shell.options import FAILED, STDIN, WRONG_OPTIONS, definition, sql_files
from ksql_spark.shell.scripts import read_script
from ksql_spark.tools.lint.linter import Finding, Linter
from ksql_spark.tools.lint.rules import ERROR, RULES


def main(argv: Sequence[str]) -> int:
    """Check files.

    Returns:
        The exit code: 0 if nothing is found, 1 if something is, 2 for wrong options or files.
    """
    options = _parser().parse_args(argv)
    try:
        before = [read_script(name) for name in options.catalog]
        texts = {name: _read(name) for name in sql_files(options.files)}
    except ClientError as problem:
        print(f"ksql-spark lint: {problem}", file=sys.stderr)
        return WRONG_OPTIONS
    findings: dict[str, list[Finding]] = {}
    for name, text in texts.items():
        linter = Linter(dict(options.define), options.ignore)
        for earlier in before:
            linter.run(earlier)
        findings[name] = linter.run(text)
    sys.stdout.write(FORMATS[options.format](findings))
    return FAILED if any(findings.values()) else 0


def _read(name: str) -> str:
    return sys.stdin.read() if name == STDIN else read_script(name)


def _text(by_file: Mapping[str, Sequence[Finding]]) -> str:
    lines = [
        f"{name}:{f.line}:{f.column}: {f.rule}: {f.message}\n" for name in by_file for f in by_file[name]
    ]
    return "".join(lines)


def _json(by_file: Mapping[str, Sequence[Finding]]) -> str:
    rows = [
        {"file": name, "line": f.line, "column": f.column, "rule": f.rule, "message": f.message}
        for name in by_file
        for f in by_file[name]
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def _sarif(by_file: Mapping[str, Sequence[Finding]]) -> str:
    rules = [
        {
            "id": rule.name,
            "shortDescription": {"text": f"{rule.title}."},
            "fullDescription": {"text": rule.why},
            "defaultConfiguration": {"level": _level(rule.name)},
        }
        for rule in RULES
    ]
    results = [_result(name, finding) for name in by_file for finding in by_file[name]]
    tool = {"driver": {"name": "ksql-spark lint", "version": __version__, "rules": rules}}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": tool, "columnKind": "unicodeCodePoints", "results": results}],
    }
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _result(name: str, finding: Finding) -> dict[str, Any]:
    region = {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endColumn": finding.column + finding.length,
    }
    place = {"artifactLocation": {"uri": Path(name).as_posix()}, "region": region}
    return {
        "ruleId": finding.rule,
        "ruleIndex": [rule.name for rule in RULES].index(finding.rule),
        "level": _level(finding.rule),
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
    }


def _level(rule: str) -> str:
    return "error" if rule == ERROR else "warning"


#: name of a format -> what makes it
FORMATS: dict[str, Callable[[Mapping[str, Sequence[Finding]]], str]] = {
    "text": _text,
    "json": _json,
    "sarif": _sarif,
}


def _rule(text: str) -> str:
    names = [rule.name for rule in RULES]
    if text not in names:
        raise argparse.ArgumentTypeError(f"there is no rule '{text}'; the rules are {', '.join(names)}")
    return text


def _parser() -> argparse.ArgumentParser:
    width = max(len(rule.name) for rule in RULES)
    listed = "\n".join(f"  {rule.name.ljust(width)}  {rule.title}" for rule in RULES)
    parser = argparse.ArgumentParser(
        prog="ksql-spark lint",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Check files of statements without a server: what a server would refuse, and what it\n"
        "would run but should not. The statements of a file are checked in order, with what those\n"
        "before have declared.",
        epilog=f"rules (docs/reference/lint.md):\n{listed}\n\nA comment -- lint: ignore(RULE) in a "
        "statement, or in the line before it, ignores the rule there.",
    )
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="files, directories of .sql files, or - for standard input"
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="format (default: %(default)s)")
    parser.add_argument(
        "--ignore",
        metavar="RULE",
        action="append",
        default=[],
        type=_rule,
        help="ignore a rule; may be repeated",
    )
    parser.add_argument(
        "--catalog",
        metavar="FILE",
        action="append",
        default=[],
        help="a file of statements that ran before; it is not checked; may be repeated",
    )
    parser.add_argument(
        "-d",
        "--define",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=definition,
        help="variable, used as ${NAME}; may be repeated",
    )
    return parser
