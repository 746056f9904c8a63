"""``ksql-spark import --from URL``: imports the types, streams, tables and queries of a ksqlDB server.

It only reads from the other server over REST, and creates what is missing here, in dependency order. It may
be run again: existing objects stay as they are. With ``--shadow`` results get their own topics, so both
servers can run at once, and ``--compare`` tells what they differ in.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ksql_spark.shell.client import Client, ClientError, ServerError, Settings
from ksql_spark.shell.commands.command import Context
from ksql_spark.shell.options import (
    FAILED,
    WRONG_OPTIONS,
    OptionProblem,
    add_connection_options,
    connect,
    make_client,
    properties_of,
    report_server,
)
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.statements import quoted_name
from ksql_spark.tools.comparing import Comparison
from ksql_spark.tools.importer import cutover, shadow
from ksql_spark.tools.importer.items import Item, answer, in_order, read

_OFFSET = "auto.offset.reset"
#: states of outcomes, and how the report counts them
_WORDS = {
    "created": "created", "planned": "to be created", "there": "already there", "failed": "failed",
    "skipped": "left out",
}  # fmt: skip
#: the pause between two comparisons of --watch
_WATCH_EVERY_S = 1.0


@dataclass(frozen=True)
class Outcome:
    """The outcome for an item; ``state`` is one of _WORDS."""

    item: Item
    state: str
    reason: str = ""


def main(argv: Sequence[str]) -> int:
    """Import everything from another server.

    Returns:
        The exit code: 0 if everything exists here now, 1 if something failed, 2 for wrong options or a server
        that does not respond.
    """
    options = _parser().parse_args(argv)
    console = Console()
    try:
        settings = argparse.Namespace(
            user=options.from_user,
            password=options.from_password,
            token=options.from_token,
            confluent_api_key=None,
            confluent_api_secret=None,
        )
        source = make_client(options.origin, settings, properties_of(options.from_config_file))
        failures: list[object] = []

        def run(context: Context) -> None:
            act = _act(options)
            if act in (_take_over, _cut_over) and not options.dry_run:
                report_server(context.session, options.server)
            failures.extend(act(source, context.session.client, options, console))

        options.output, options.define = "TABULAR", []
        options.query_row_limit = options.query_timeout = None
        with connect(options.server, options, Console()) as connection:
            return connection.run(run) or (FAILED if failures else 0)
    except (OptionProblem, ClientError) as problem:
        console.clear_status()
        print(f"ksql-spark import: {problem}", file=sys.stderr)
        return WRONG_OPTIONS


def _act(options: argparse.Namespace) -> Callable[..., Sequence[object]]:
    """Return the function that does what the options ask for."""
    if options.cut_over:
        return _cut_over
    return _watch if options.watch else _compare if options.compare else _take_over


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksql-spark import",
        description="Read the types, streams, tables and persistent queries of a ksqlDB server over REST, "
        "and create the missing ones here in the order of their dependencies. A report says what was "
        "created, what already existed, and what failed and why. You can run the import again.",
        epilog="Queries start where they started on the other server (auto.offset.reset), or at --offset. "
        "They write to topics of the same names: use another Kafka cluster, stop the other server's queries "
        "first, or try with --shadow. See docs/migrating-from-ksqldb.md.",
    )
    parser.add_argument("--from", dest="origin", metavar="URL", required=True, help="the ksqlDB server")
    parser.add_argument("--from-user", metavar="NAME", help="its user (basic authentication)")
    parser.add_argument("--from-password", metavar="WORD", help="its password (default: ask for it)")
    parser.add_argument("--from-token", metavar="TOKEN", help="bearer token, instead of user and password")
    parser.add_argument(
        "--from-config-file", metavar="FILE", help="a file with ssl.truststore.location for that server"
    )
    acts = parser.add_mutually_exclusive_group()
    acts.add_argument("--dry-run", action="store_true", help="print the statements in order; create nothing")
    parser.add_argument(
        "--shadow",
        action="store_true",
        help=f"run beside the other server: results go to topics with {shadow.PREFIX} before their names",
    )
    acts.add_argument(
        "--compare",
        action="store_true",
        help="compare the results of both servers instead of importing; the exit code is 1 if they differ",
    )
    acts.add_argument(
        "--watch",
        action="store_true",
        help="compare again and again, and tell what changes; Ctrl-C ends",
    )
    acts.add_argument(
        "--cut-over",
        action="store_true",
        help="let the results of --shadow take the places of the other server's, whose queries end; run it "
        "again to go on",
    )
    parser.add_argument(
        "--force", action="store_true", help="with --cut-over: take over results that differ, too"
    )
    parser.add_argument("--offset", choices=("earliest", "latest"), help="where new queries start reading")
    parser.add_argument(
        "--server",
        metavar="URL",
        help="the ksql-spark server (default: http://127.0.0.1:8088, or one started for this run)",
    )
    add_connection_options(parser)
    return parser


def _take_over(
    source: Client, target: Client, options: argparse.Namespace, console: Console
) -> list[Outcome]:
    """Create what is missing, and report; returns the failed outcomes. Raises ClientError."""
    items, there = in_order(read(source)), read(target)
    outcomes: list[Outcome] = []
    if options.shadow:
        items, outcomes = in_shadow(items)
        for outcome in outcomes:
            console.line(_line(outcome))
    for outcome in carry_out(items, there, target, options.offset, options.dry_run):
        outcomes.append(outcome)
        console.line(_line(outcome))
    for note in _omissions(source, target):
        console.line(f"note     {note}")
    counts = {state: sum(o.state == state for o in outcomes) for state in _WORDS}
    parts = [f"{count} {_WORDS[state]}" for state, count in counts.items() if count]
    console.line(f"{len(outcomes)} statements: {', '.join(parts) or 'nothing to do'}")
    return [outcome for outcome in outcomes if outcome.state == "failed"]


def _line(outcome: Outcome) -> str:
    item = outcome.item
    if outcome.state == "planned":
        return f"-- {item.kind} {item.name}\n{item.text};"
    reason = f": {outcome.reason}" if outcome.reason else ""
    return f"{outcome.state:<8} {item.kind} {item.name}{reason}"


def in_shadow(originals: Sequence[Item]) -> tuple[list[Item], list[Outcome]]:
    """The items, with results in their own topics, and the items that would write the other server's."""
    items, left_out, results = [], [], set()
    for item in originals:
        text = shadow.shadowed(item.text, item.topic)
        target = shadow.target_of(item.text)
        if target is not None and target not in results:
            reason = f"it would write {target}, whose topic the other server writes"
            left_out.append(Outcome(item, "skipped", reason))
            continue
        if text is not None:
            results.add(item.name)
        items.append(item if text is None else replace(item, text=text))
    return items, left_out


def _compare(
    source: Client, target: Client, options: argparse.Namespace, console: Console
) -> list[Comparison]:
    """Compare both servers, and report; returns the results that are not equal. Raises ClientError."""
    comparisons = []
    console.status(f"comparing the results of {source.url}")
    for compared in shadow.compare(source, target):
        comparisons.append(compared)
        console.line(_comparison(compared))
        console.status(f"comparing, {len(comparisons)} done")
    console.line(_counted(comparisons))
    return [compared for compared in comparisons if not compared.is_equal]


def _watch(source: Client, target: Client, options: argparse.Namespace, console: Console) -> list[Comparison]:
    """Compare again and again until Ctrl-C, and report changes; return the last unequal comparisons."""
    comparisons: dict[str, Comparison] = {}
    reported: dict[str, str] = {}
    counted = ""
    try:
        for number in itertools.count(1):
            console.status(f"comparison {number} begins")
            latest = {}
            for compared in shadow.compare(source, target):
                latest[compared.what] = comparisons[compared.what] = compared  # Ctrl-C may come now
                line = _comparison(compared)
                if reported.get(compared.what) != line:
                    reported[compared.what] = line
                    console.line(line)
                console.status(f"comparison {number}: {len(latest)} done; Ctrl-C ends")
            comparisons = latest
            if counted != (counted := _counted([*comparisons.values()])):
                console.line(counted)
            console.status(f"comparison {number} is done: {counted}; Ctrl-C ends")
            time.sleep(_WATCH_EVERY_S)
    except KeyboardInterrupt:
        console.clear_status()
    return [compared for compared in comparisons.values() if not compared.is_equal]


def _cut_over(source: Client, target: Client, options: argparse.Namespace, console: Console) -> list[str]:
    """Take over the results of the shadow; returns the names of the others. Raises ClientError."""
    there, here = in_order(read(source)), read(target)
    return cutover.cut_over(source, target, there, here, force=options.force, console=console)


def _counted(comparisons: Sequence[Comparison]) -> str:
    equal = sum(compared.is_equal for compared in comparisons)
    return f"{len(comparisons)} results: {equal} equal" + (
        f", {len(comparisons) - equal} not" if equal < len(comparisons) else ""
    )


def _comparison(compared: Comparison) -> str:
    """The line of a comparison, and those of its samples."""
    return "\n".join((f"{compared.state:<8} {compared.what}: {compared}", *compared.lines()))


def _omissions(source: Client, target: Client) -> list[str]:
    """Describe what the import leaves out: connectors, and functions that this server lacks."""
    notes = []
    for connector in _listed(source, "SHOW CONNECTORS;", "connectors"):
        notes.append(f"connector {connector} keeps running in its Connect cluster, unchanged")
    missing = _listed(source, "SHOW FUNCTIONS;", "functions") - _listed(
        target, "SHOW FUNCTIONS;", "functions"
    )
    by_jar: dict[str, list[str]] = {}
    for name in sorted(missing):
        path = str(answer(source, f"DESCRIBE FUNCTION {quoted_name(name)};", "path", ""))
        if path.endswith(".jar"):
            by_jar.setdefault(path, []).append(name)
        else:
            notes.append(f"the function {name} does not exist here; queries that call it fail")
    for path, names in by_jar.items():
        notes.append(
            f"the functions {', '.join(names)} are in {path} of the other server: copy that jar to the "
            "folder of ksql.extension.dir and restart this server; until then, queries that call them fail"
        )
    return notes


def _listed(client: Client, statement: str, member: str) -> set[str]:
    try:
        return {str(one["name"]).upper() for one in answer(client, statement, member, [])}
    except (ServerError, KeyError):  # a server without Connect reports an error
        return set()


def carry_out(
    items: Sequence[Item], there: Sequence[Item], target: Client, offset: str | None, is_dry: bool
) -> Iterator[Outcome]:
    """Create the items in order, each with its outcome; raises ClientError if the server does not answer.

    Args:
        items: in order.
        there: what the target has.
        target: where to create them.
        offset: ``auto.offset.reset`` of new queries; None: as on the other server.
        is_dry: create nothing.
    """
    existing = {(_space(item), item.name): item for item in there if item.kind != "QUERY"}
    queries = {item.identity for item in there if item.kind == "QUERY"}
    failed: set[str] = set()
    for item in items:
        same = existing.get((_space(item), item.name)) if item.kind != "QUERY" else None
        if same is not None or (item.kind == "QUERY" and item.identity in queries):
            if same is None or same.identity == item.identity:
                yield Outcome(item, "there")
            else:
                failed.add(item.name)
                article = "a type" if item.kind == "TYPE" else f"a {same.kind.lower()}"
                yield Outcome(item, "failed", f"{article} of that name exists with other columns")
            continue
        if missing := sorted(item.needs & failed):
            failed.add(item.name)
            yield Outcome(item, "failed", f"not tried: it needs {', '.join(missing)}")
            continue
        if is_dry:
            yield Outcome(item, "planned")
            continue
        properties = {**item.properties, **({_OFFSET: offset} if offset else {})}
        try:
            target.run(f"{item.text};", Settings(properties))
        except ServerError as error:
            failed.add(item.name)
            yield Outcome(item, "failed", " ".join(error.message.split()))
        else:
            yield Outcome(item, "created")


def _space(item: Item) -> str:
    """Streams and tables share a namespace."""
    return "TYPE" if item.kind == "TYPE" else "SOURCE"
