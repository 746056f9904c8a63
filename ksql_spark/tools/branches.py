"""``ksql-spark branch``: copies of queries to try changes on, beside those that run.

A branch DEV has a stream or table DEV__X for each X that a query writes. It reads the same sources, and its
results have topics of their own, so nobody notices. The copies are changed like all others, ``diff`` tells
what has changed, ``promote`` makes the changes to X, and ``drop`` removes the branch.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ksql_spark import grammar
from ksql_spark.grammar import nodes
from ksql_spark.grammar.statements.inserts import InsertSelect
from ksql_spark.grammar.statements.sources import CreateAsSelect
from ksql_spark.grammar.with_clause import remove_way, set_properties
from ksql_spark.shell.client import Client, ClientError, ServerError, Settings
from ksql_spark.shell.commands.command import Context
from ksql_spark.shell.options import (
    FAILED,
    WRONG_OPTIONS,
    OptionProblem,
    add_connection_options,
    connect,
    report_server,
)
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.statements import parsed, quoted_name
from ksql_spark.tools.comparing import BOUNDS, comparable, compared_rows, not_compared
from ksql_spark.tools.format.layout import formatted
from ksql_spark.tools.importer.items import Item, in_order, read

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_OFFSET = "auto.offset.reset"
#: how often to ask whether an evolution is over
_LOOK_S = 0.5


def main(argv: Sequence[str]) -> int:
    """Create, compare, promote or drop a branch.

    Returns:
        The exit code: 0 on success, 1 if something failed, 2 for wrong options.
    """
    options = _parser().parse_args(argv)
    failures: list[str] = []
    try:
        branch = branch_of(options.name)

        def run(context: Context) -> None:
            client, console = context.session.client, context.session.console
            if options.action != "diff":
                report_server(context.session, options.server)
            console.status(f"reading the statements of {client.url}")
            try:
                failures.extend(ACTIONS[options.action](client, branch, options, console))
            finally:
                console.clear_status()

        options.output, options.define = "TABULAR", []
        options.query_row_limit = options.query_timeout = None
        with connect(options.server, options, Console()) as connection:
            return connection.run(run) or (FAILED if failures else 0)
    except (OptionProblem, ClientError) as problem:
        print(f"ksql-spark branch: {problem}", file=sys.stderr)
        return WRONG_OPTIONS


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksql-spark branch",
        description="Copy the queries of a server to try changes on: a branch DEV has a stream or table "
        "DEV__X for each X that a query writes, over the same sources, in topics of its own. Change them as "
        "you like; diff tells what differs, promote changes X in the same way, drop removes the branch.",
        epilog="See docs/how-to/change-a-query.md.",
    )
    parser.add_argument("action", choices=tuple(ACTIONS))
    parser.add_argument("name", metavar="NAME", help="the branch: letters and digits")
    parser.add_argument(
        "--only",
        metavar="X,Y",
        type=lambda text: [name.strip().upper() for name in text.split(",")],
        help="create: copy only these streams and tables; what they read of others is shared",
    )
    parser.add_argument(
        "--offset", choices=("earliest", "latest"), default="earliest", help="create: where the copies begin"
    )
    parser.add_argument(
        "--server",
        metavar="URL",
        help="the server (default: http://127.0.0.1:8088, or one started for this run)",
    )
    add_connection_options(parser)
    return parser


@dataclass(frozen=True)
class Branch:
    """The names of a branch."""

    name: str

    def copy_of(self, name: str) -> str:
        """Return the name of the branch's copy of a stream or table."""
        return f"{self.name.upper()}__{name}"

    def topic_of(self, topic: str) -> str:
        """The topic of the copy of one that has ``topic``."""
        return f"{self.name.lower()}__{topic}"

    def original(self, name: str) -> str:
        """Return the name of the original of a copy; other names stay as they are."""
        return name.removeprefix(self.copy_of(""))

    def has(self, name: str) -> bool:
        """Whether a stream or table is one of the branch."""
        return self.original(name) != name


def branch_of(name: str) -> Branch:
    """The branch of that name. Raises OptionProblem."""
    if not _NAME.fullmatch(name):
        raise OptionProblem(f"A branch is called by letters and digits, not '{name}'.")
    return Branch(name)


def copied(text: str, branch: Branch, names: Collection[str], topic: str | None) -> str:
    """The statement of a query, made over to the branch.

    Args:
        text: CREATE … AS SELECT or INSERT INTO … SELECT.
        branch: the branch.
        names: the streams and tables that the branch copies.
        topic: of the original.
    """
    (tree,) = parsed(text)
    _rename(tree, lambda name: branch.copy_of(name) if name in names else name, keeps_qualifiers=True)
    if isinstance(tree, CreateAsSelect):
        # the usual name will do for one that has it, so that OR REPLACE need not name it
        is_usual = topic == branch.original(tree.name)
        set_properties(tree, KAFKA_TOPIC=None if is_usual else branch.topic_of(str(topic)))
    return grammar.render(tree)


def merged(text: str, branch: Branch) -> grammar.Statement:
    """Return a copy's statement as one of the original, reduced to what defines its rows."""
    (tree,) = parsed(text)
    _rename(tree, branch.original, keeps_qualifiers=False)
    if isinstance(tree, CreateAsSelect):
        tree.set("or_replace", False)
        tree.set("if_not_exists", False)
    remove_way(tree)
    set_properties(tree, KAFKA_TOPIC=None)
    return tree


def _rename(tree: grammar.Statement, new: Callable[[str], str], *, keeps_qualifiers: bool) -> None:
    """Rename streams and tables.

    Args:
        tree: the statement.
        new: returns the new name of one.
        keeps_qualifiers: whether columns go on to be found by the old names. Else the names before columns
            change, too, unless the statement already uses the new one for something else.
    """
    own = {table.table_name for table in tree.find_all(nodes.CommonTable)}
    sources = list(tree.find_all(nodes.AliasedSource))
    aliases = {alias.name for node in tree.walk() if (alias := node.args.get("alias_identifier")) is not None}
    used_names = aliases | {source.source_name for source in sources}
    qualifiers: dict[str, str] = {}
    for source in sources:
        if source.source_name not in own:
            name, alias = new(source.source_name), source.alias_name
            if not (keeps_qualifiers or alias in aliases or name in used_names):
                qualifiers[alias] = alias = name
            source.set("this", _identifier(name))
            source.set("alias_identifier", _identifier(alias) if alias != name else None)
    for kind, part in ((exp.Column, "table"), (nodes.AllColumns, "source")):
        for node in tree.find_all(kind):
            if (identifier := node.args.get(part)) is not None and identifier.name in qualifiers:
                node.set(part, _identifier(qualifiers[identifier.name]))
    if isinstance(tree, CreateAsSelect | InsertSelect):
        tree.set("this", _identifier(new(tree.name)))


def _identifier(name: str) -> exp.Identifier:
    is_plain = re.fullmatch(r"[A-Z_][A-Z0-9_]*", name) and name not in grammar.RESERVED
    return exp.to_identifier(name, quoted=not is_plain)


# ---- actions -------------------------------------------------------------------------------------------


def _create(client: Client, branch: Branch, options: argparse.Namespace, console: Console) -> Iterator[str]:
    items = in_order(read(client))
    results = {item.name for item in items if _is_result(item) and "__" not in item.name}
    if options.only is not None and (unknown := [name for name in options.only if name not in results]):
        raise OptionProblem(f"No query writes {', '.join(unknown)}: it writes {', '.join(sorted(results))}.")
    names = results if options.only is None else results & {*options.only}
    for item in items:
        tree = next(iter(parsed(item.text)), None)
        target = tree.name if isinstance(tree, CreateAsSelect | InsertSelect) else None
        if target in names:
            text = copied(item.text, branch, names, item.topic)
            settings = Settings({**item.properties, _OFFSET: options.offset})
            yield from _tried(client, console, f"{item.kind} {branch.copy_of(str(target))}", text, settings)


def _is_result(item: Item) -> bool:
    return isinstance(next(iter(parsed(item.text)), None), CreateAsSelect)


def _pairs(client: Client, branch: Branch) -> list[tuple[Item, Item | None]]:
    """The results of a branch, upstream first, each with its original, or None if it has none.

    Raises:
        OptionProblem: there is no such branch.
    """
    items = in_order(read(client))
    by_name = {item.name: item for item in items if item.kind != "TYPE"}
    copies = [(item, by_name.get(branch.original(item.name))) for item in items if branch.has(item.name)]
    if not copies:
        raise OptionProblem(f"There is no branch {branch.name}: ksql-spark branch create {branch.name}")
    return [(replace(item, needs=frozenset()), original) for item, original in copies if _is_result(item)]


def _diff(client: Client, branch: Branch, options: argparse.Namespace, console: Console) -> Iterator[str]:
    for item, original in _pairs(client, branch):
        what = f"{item.kind} {branch.original(item.name)}"
        after = _text(merged(item.text, branch))
        if original is None:
            console.line(f"{'new':<8} {what}")
            console.line(after)
            continue
        before = _text(merged(original.text, branch))
        console.status(f"comparing {what}")
        try:
            columns = _common_columns(client, item, original)
            comparison = compared_rows(client, what, item.name, original.name, columns)
        except ServerError as error:
            comparison = not_compared(what, error)
        is_same = before == after and comparison.is_equal
        console.line(f"{'equal' if is_same else 'differs':<8} {what}: {comparison}")
        for line in [*difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=99)][3:]:
            console.line(f"         {line}")
        for line in comparison.lines():
            console.line(line)
    yield from ()


def _text(tree: grammar.Statement) -> str:
    return formatted(f"{grammar.render(tree)};").rstrip()


def _common_columns(client: Client, one: Item, other: Item) -> list[str]:
    """The columns that both have, with equal types, so far as they can be grouped by."""
    described = []
    for item in (one, other):
        (answer,) = client.run(f"DESCRIBE {quoted_name(item.name)};")
        described.append(answer["sourceDescription"])
    mine, others = (comparable(each["fields"]) for each in described)
    bounds = BOUNDS if described[1].get("windowType") else ()
    return [*(name for name, type_ in mine.items() if others.get(name) == type_), *bounds]


def _promote(client: Client, branch: Branch, options: argparse.Namespace, console: Console) -> Iterator[str]:
    for item, original in _pairs(client, branch):
        tree = merged(item.text, branch)
        what = f"{item.kind} {branch.original(item.name)}"
        if original is None:
            yield from _tried(client, console, what, grammar.render(tree), Settings(item.properties))
        elif (state := _evolution_of(client, item)) is not None:
            console.line(f"{'failed':<8} {what}: {item.name} is {state}. Wait for its swap.")
            yield what
            return
        elif grammar.render(tree) != grammar.render(merged(original.text, branch)):
            failed = [*_evolved(client, console, what, tree, item)]
            yield from failed
            if failed:  # what reads it may need the change
                return


def _evolution_of(client: Client, item: Item) -> str | None:
    """The state of a change of a copy that is under way, or None."""
    try:
        (description,) = client.run(f"DESCRIBE EVOLUTION {quoted_name(item.name)};")
    except ServerError:  # it has never been changed so
        return None
    return None if description["state"] in ("swapped", "aborted") else str(description["state"])


def _evolved(
    client: Client, console: Console, what: str, tree: grammar.Statement, item: Item
) -> Iterator[str]:
    """Change a stream or table as its copy was changed, so that it has the rows of the copy.

    A copy that was changed in place goes on with its state: so does the original, where that is possible. Any
    other change runs beside the running version, and this waits for the swap.
    """
    assert isinstance(tree, CreateAsSelect)
    tree.set("or_replace", True)
    settings = Settings(item.properties)
    if not _was_backfilled(client, item):
        try:
            client.run(f"{grammar.render(tree)};", settings)
        except ServerError:
            pass
        else:
            console.line(f"{'changed':<8} {what}")
            return
    history = {"HISTORY": "keep"} if tree.kind == "STREAM" else {}
    set_properties(tree, EVOLVE="backfill", **history)
    failed = [*_tried(client, console, what, grammar.render(tree), settings, "changing")]
    yield from failed
    if not failed and tree.kind == "TABLE":
        yield from _swapped(client, console, tree.name)


def _was_backfilled(client: Client, item: Item) -> bool:
    """Whether a version of a copy was computed from the beginning again."""
    (answer,) = client.run(f"SHOW VERSIONS OF {quoted_name(item.name)};")
    return any(version["way"] == "backfill" for version in answer["versions"])


def _swapped(client: Client, console: Console, name: str) -> Iterator[str]:
    try:
        while True:
            (evolution,) = client.run(f"DESCRIBE EVOLUTION {quoted_name(name)};")
            if evolution["state"] == "swapped":
                console.line(f"{'changed':<8} TABLE {name}")
                return
            if evolution["state"] in ("failed", "aborted"):
                console.line(f"{'failed':<8} TABLE {name}: {evolution['reason'] or evolution['state']}")
                yield name
                return
            console.status(f"{evolution['state']} {name}: {evolution['recordsLeft'] or 0:,} records left")
            time.sleep(_LOOK_S)
    finally:
        console.clear_status()


def _drop(client: Client, branch: Branch, options: argparse.Namespace, console: Console) -> Iterator[str]:
    results = _pairs(client, branch)
    (running,) = client.run("SHOW QUERIES;")
    for query in running["queries"]:
        if any(map(branch.has, query.get("sinks") or ())):
            client.run(f"TERMINATE {quoted_name(query['id'])};")
    for item, _ in reversed(results):
        text = f"DROP {item.kind} {quoted_name(item.name)} DELETE TOPIC"
        yield from _tried(client, console, f"{item.kind} {item.name}", text, Settings({}), "dropped")


def _tried(
    client: Client, console: Console, what: str, text: str, settings: Settings, done: str = "created"
) -> Iterator[str]:
    """Run a statement and report; yield it if it has failed."""
    console.status(what)
    try:
        client.run(f"{text};", settings)
    except ServerError as error:
        console.line(f"{'failed':<8} {what}: {' '.join(error.message.split())}")
        yield what
    else:
        console.line(f"{done:<8} {what}")


ACTIONS: dict[str, Callable[[Client, Branch, argparse.Namespace, Console], Iterator[str]]] = {
    "create": _create,
    "diff": _diff,
    "promote": _promote,
    "drop": _drop,
}
