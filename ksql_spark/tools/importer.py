"""``ksql-spark import --from URL``: imports the types, streams, tables and queries of a ksqlDB server.

It only reads from the other server over REST, and creates what is missing here, in dependency order. It may
be run again: existing objects stay as they are. With ``--shadow`` results get topics of their own, so both
servers can run at once, and ``--compare`` tells what they differ in.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ksql_spark import grammar
from ksql_spark.client.values import type_text
from ksql_spark.grammar.nodes import AliasedSource
from ksql_spark.grammar.statements.inserts import InsertSelect
from ksql_spark.grammar.statements.sources import CreateAsSelect, CreateSource
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
from ksql_spark.shell.statements import parsed, quoted_name
from ksql_spark.tools import cutover, shadow
from ksql_spark.tools.comparing import Comparison

#: properties that ksqlDB stores with a statement but accepts from nobody
_STORED_ONLY = ("CLEANUP_POLICY",)
#: objects that each server creates for itself
_OWN = ("KSQL_PROCESSING_LOG",)
_OFFSET = "auto.offset.reset"
#: states of outcomes, and how the report counts them
_WORDS = {
    "created": "created", "planned": "to be created", "there": "already there", "failed": "failed",
    "skipped": "left out",
}  # fmt: skip
#: the pause between two comparisons of --watch
_WATCH_EVERY_S = 1.0
_MASKED = re.compile(r"^(\[hidden\]|\*+)$")


@dataclass(frozen=True)
class Item:
    """A stream, table, query or type that the import must create.

    Attributes:
        kind: TYPE, STREAM, TABLE or QUERY.
        name: its name, or a query's id on the other server.
        text: the statement that creates it here.
        identity: what makes two items the same: the fields of a source, the text of a query.
        needs: names of streams and tables that must exist first.
        properties: the other server's settings for it.
        topic: of a source.
        makes_topic: whether its statement creates a missing topic.
    """

    kind: str
    name: str
    text: str
    identity: Any
    needs: frozenset[str] = frozenset()
    properties: Mapping[str, Any] = field(default_factory=dict)
    topic: str | None = None
    makes_topic: bool = False


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
    """The items, results with topics of their own; and those that would write the other server's."""
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
    """Take over the results of the shadow; returns the names of those that were not. Raises ClientError."""
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


# ---- reading a server ----------------------------------------------------------------------------------


def read(client: Client) -> list[Item]:
    """Everything on a server. Raises ClientError."""
    items = [
        Item("TYPE", name, f"CREATE TYPE {quoted_name(name)} AS {type_text(schema)}", schema)
        for name, schema in _answer(client, "LIST TYPES;", "types", {}).items()
    ]
    queries = _answer(client, "SHOW QUERIES EXTENDED;", "queryDescriptions", [])
    writers = {sink: query for query in queries for sink in query.get("sinks") or []}
    for kind in ("STREAM", "TABLE"):
        for described in _answer(client, f"LIST {kind}S EXTENDED;", "sourceDescriptions", []):
            if described["name"] not in _OWN:
                items.append(_source(kind, described, writers.get(described["name"], {})))
    for query in queries:
        text = str(query.get("statementText") or "")
        is_insert = [piece.verb for piece in grammar.split(text)] == ["INSERT"]
        if query.get("queryType", "PERSISTENT") == "PERSISTENT" and is_insert:
            items.append(_insert(query, text))
    makers = {item.topic: item.name for item in items if item.makes_topic}
    return [
        replace(item, needs=item.needs | {makers[item.topic]})
        if item.topic in makers and not item.makes_topic
        else item
        for item in items
    ]


def _answer(client: Client, statement: str, member: str, default: Any) -> Any:
    return next((entity[member] for entity in client.run(statement) if entity.get(member)), default)


def _source(kind: str, described: Mapping[str, Any], writer: Mapping[str, Any]) -> Item:
    made_by = str(described.get("statement") or "")
    trees = parsed(made_by)
    tree = next(iter(trees), None)
    name, fields = str(described["name"]), described.get("fields") or []
    identity = [kind, [[one.get("name"), one.get("schema"), one.get("type")] for one in fields]]
    if not isinstance(tree, CreateAsSelect | CreateSource):
        return Item(kind, name, made_by.rstrip().removesuffix(";"), identity)
    tree.set("or_replace", False)
    tree.set("if_not_exists", False)
    remaining = [p for p in tree.args.get("properties") or [] if p.name.upper() not in _STORED_ONLY]
    tree.set("properties", remaining)
    properties = writer.get("overriddenProperties") or {} if isinstance(tree, CreateAsSelect) else {}
    return Item(
        kind,
        name,
        ";\n".join(map(grammar.render, trees)),  # ALTER adds columns
        identity,
        frozenset(_read_by(tree)),
        _usable(properties),
        str(described.get("topic")),
        isinstance(tree, CreateAsSelect) or any(p.name.upper() == "PARTITIONS" for p in remaining),
    )


def _insert(query: Mapping[str, Any], text: str) -> Item:
    tree = next(iter(parsed(text)), None)
    if not isinstance(tree, InsertSelect):
        return Item("QUERY", str(query["id"]), text, text)
    tree.set("properties", [])
    rendered = grammar.render(tree)
    needs = frozenset({tree.this.name, *_read_by(tree)})
    properties = _usable(query.get("overriddenProperties") or {})
    return Item("QUERY", str(query["id"]), rendered, rendered, needs, properties)


def _read_by(tree: grammar.Statement) -> Iterator[str]:
    """The names of the sources that a query reads."""
    return (source.name for source in tree.find_all(AliasedSource))


def _usable(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Unmasked properties, under the names that SET accepts."""
    shown = {name: value for name, value in properties.items() if not _MASKED.match(str(value))}
    return {name.removeprefix("ksql.streams."): value for name, value in shown.items()}


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
        path = str(_answer(source, f"DESCRIBE FUNCTION {quoted_name(name)};", "path", ""))
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
        return {str(one["name"]).upper() for one in _answer(client, statement, member, [])}
    except (ServerError, KeyError):  # a server without Connect reports an error
        return set()


# ---- creating ------------------------------------------------------------------------------------------


def in_order(items: Sequence[Item]) -> list[Item]:
    """The items, each after those that it needs; else by kind, number of the query and name."""
    sources = {item.name for item in items if item.kind in ("STREAM", "TABLE")}
    ranks = {"TYPE": 0, "STREAM": 1, "TABLE": 1, "QUERY": 2}
    pending = sorted(items, key=lambda item: (ranks[item.kind], _number(item), item.name))
    ordered: list[Item] = []
    done: set[str] = set()
    while pending:
        # a source that needs a missing one, or itself, comes last and fails with a reason
        ready = next((i for i in pending if not ((i.needs & sources) - done - {i.name})), pending[0])
        pending.remove(ready)
        ordered.append(ready)
        if ready.kind in ("STREAM", "TABLE"):
            done.add(ready.name)
    return ordered


def _number(item: Item) -> int:
    match = re.search(r"_(\d+)$", item.name) if item.kind == "QUERY" else None
    return int(match[1]) if match else 0


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
