"""The rules of lint: a table, with a page in the reference for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ksql_spark.expressions import ColumnRef, Expression
from ksql_spark.functions import registry
from ksql_spark.grammar import nodes as syntax
from ksql_spark.grammar.statements.inserts import InsertSelect
from ksql_spark.grammar.statements.sources import CreateAsSelect, CreateSource
from ksql_spark.metastore.sources import STREAM
from ksql_spark.plan import nodes, trees
from ksql_spark.plan.queries import PersistentQuery

#: the rule of what a server would refuse
ERROR = "error"


@dataclass(frozen=True)
class Checked:
    """A statement and, if it starts one, its query."""

    statement: syntax.Statement
    query: PersistentQuery | None


#: a part of the statement (None: all of it), and what is wrong there
Violation = tuple[Any, str]


@dataclass(frozen=True)
class Rule:
    """A rule of lint, with its explanation and examples.

    Attributes:
        name: its name, in lower case with hyphens.
        title: what it finds, in a few words.
        why: why that matters, and what to do.
        bad: statements of which the last one is found.
        good: the same as it should be.
        check: finds it; None for what the parser and the analyzer find.
    """

    name: str
    title: str
    why: str
    bad: str
    good: str
    check: Callable[[Checked], Iterable[Violation]] | None


# ---- checks ----------------------------------------------------------------------------------------------


def _unbounded_state(checked: Checked) -> Iterator[Violation]:
    if checked.query is None:
        return
    for node in trees.walk(checked.query.root):
        if isinstance(node, nodes.Aggregate) and node.window_spec is None and node.child.kind == STREAM:
            written = checked.statement.find_all(syntax.Select)
            places = (select.group_by[0] for select in written if select.group_by and not select.window)
            yield next(places, None), "GROUP BY without WINDOW keeps every key for ever."
            break
    if any(isinstance(node, nodes.Join) and node.is_endless for node in trees.walk(checked.query.root)):
        joins = [join for join in checked.statement.find_all(syntax.Join) if join.within is None]
        place = joins[0] if len(joins) == 1 else None
        yield place, "A join of streams without WITHIN keeps every row for ever."


def _window_without_grace(checked: Checked) -> Iterator[Violation]:
    if checked.query is None:
        return
    for select in checked.statement.find_all(syntax.Select):
        if select.window is not None and select.window.grace is None:
            if select.emit == "FINAL":
                yield select.window, "EMIT FINAL without GRACE PERIOD drops each record that is late at all."
            else:
                yield select.window, "WINDOW without GRACE PERIOD waits for late records for a day."
    for join in checked.statement.find_all(syntax.Join):
        if join.within is not None and join.within.grace is None:
            yield join.within, "WITHIN without GRACE PERIOD keeps records for late ones for a day."


def _is_key(key: Expression, side: nodes.Node) -> bool:
    columns = side.schema.key
    return len(columns) == 1 and isinstance(key, ColumnRef) and key.name == columns[0].name


def _shown(key: Expression, side: nodes.Node) -> str:
    """The key as it is written in the statement."""
    text = str(key)
    for source in trees.relations(side):
        if isinstance(key, ColumnRef) and source.prefixed and text.startswith(f"{source.alias}_"):
            return f"{source.alias}.{text.removeprefix(f'{source.alias}_')}"
    return text


def _join_repartition(checked: Checked) -> Iterator[Violation]:
    if checked.query is None:
        return
    joins = [node for node in trees.walk(checked.query.root) if isinstance(node, nodes.Join)]
    written = list(checked.statement.find_all(syntax.Join))
    for number, join in enumerate(joins):
        sides = []
        if join.type in (nodes.STREAM_STREAM, nodes.STREAM_TABLE) and not _is_key(join.left_key, join.left):
            sides.append(_shown(join.left_key, join.left))
        if join.type == nodes.STREAM_STREAM and not _is_key(join.right_key, join.right):
            sides.append(_shown(join.right_key, join.right))
        if sides:
            place = written[number].on if len(written) == len(joins) else None
            are = "are not the keys" if len(sides) > 1 else "is not the key"
            yield place, f"The join must repartition its input: {' and '.join(sides)} {are}."


def _select_star(checked: Checked) -> Iterator[Violation]:
    statement = checked.statement
    if not isinstance(statement, CreateAsSelect | InsertSelect):
        return
    query = statement.query
    while isinstance(query, syntax.SetOperation):
        query = query.left
    assert isinstance(query, syntax.Select)
    for item in query.items:
        if isinstance(item, syntax.AllColumns):
            yield item, "SELECT * takes the columns that its input has when the query starts."


def _missing_key(checked: Checked) -> Iterator[Violation]:
    statement = checked.statement
    if (
        isinstance(statement, CreateSource)
        and statement.kind == STREAM
        and statement.columns
        and not any(column.constraint == "KEY" for column in statement.columns)
    ):
        yield statement.this, "The stream has no KEY column."


def _non_deterministic(checked: Checked) -> Iterator[Violation]:
    if not isinstance(checked.statement, CreateAsSelect | InsertSelect):
        return
    for call in checked.statement.find_all(syntax.FunctionCall):
        spec = registry.find(call.name)
        # with an argument, such as UNIX_TIMESTAMP(t), they are functions of it
        if spec is not None and not spec.is_deterministic and not call.arguments:
            yield call, f"{call.name}() gives another value each time a record is processed."


_STREAM = (
    "CREATE STREAM clicks (user_id INT KEY, page STRING) WITH (KAFKA_TOPIC = 'clicks', VALUE_FORMAT = "
    "'JSON');"
)
_KEYLESS = (
    "CREATE STREAM clicks (user_id INT, page STRING) WITH (KAFKA_TOPIC = 'clicks', VALUE_FORMAT = 'JSON');"
)
_VIEWS = (
    "CREATE STREAM views (user_id INT KEY, ad STRING) WITH (KAFKA_TOPIC = 'views', VALUE_FORMAT = 'JSON');"
)
_USERS = (
    "CREATE TABLE users (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = 'users', VALUE_FORMAT = "
    "'JSON');"
)

#: all rules, sorted by name
RULES: tuple[Rule, ...] = (
    Rule(
        ERROR,
        "A server would refuse the statement",
        "The statement does not parse, names something that the statements before it have not declared,"
        " or breaks a rule of the language. A stream that exists on the server and not in the file can "
        "be declared in a file for --catalog.",
        f"{_STREAM}\nSELECT user FROM clicks EMIT CHANGES;",
        f"{_STREAM}\nSELECT user_id FROM clicks EMIT CHANGES;",
        None,
    ),
    Rule(
        "join-repartition",
        "A join must repartition its input",
        "Records meet in a join if they have the same key and are in the same partition. If ON names "
        "another column than the key, the query first writes each record to an internal topic by the "
        "new key and reads it from there: one more write, read and topic. If several queries need the "
        "new key, write it once, with PARTITION BY; if the producer can set it, declare it as KEY. A "
        "join with a table that is declared with REPLICATED = true needs no repartitioning.",
        f"{_KEYLESS}\n{_USERS}\n"
        "CREATE STREAM named WITH (KAFKA_TOPIC = 'named') AS\n"
        "  SELECT c.user_id AS user_id, u.name AS name\n"
        "  FROM clicks c\n"
        "  JOIN users u ON c.user_id = u.id\n"
        "  EMIT CHANGES;",
        f"{_STREAM}\n{_USERS}\n"
        "CREATE STREAM named WITH (KAFKA_TOPIC = 'named') AS\n"
        "  SELECT c.user_id AS user_id, u.name AS name\n"
        "  FROM clicks c\n"
        "  JOIN users u ON c.user_id = u.id\n"
        "  EMIT CHANGES;",
        _join_repartition,
    ),
    Rule(
        "missing-key",
        "A stream is declared without a key",
        "Without a KEY column the record's key cannot be used: joins and GROUP BY must repartition, and"
        " results have no key either. If the records have none, ignore the rule there.",
        _KEYLESS,
        _STREAM,
        _missing_key,
    ),
    Rule(
        "non-deterministic",
        "A query uses a function whose value is another one each time",
        "After a failure a query processes some records again, and a replay processes all of them. "
        "RANDOM(), UUID(), NOW() and UNIX_TIMESTAMP() then give other values than before, and results "
        "that depend on them change. Use what the record has: ROWTIME for its time, ROWPARTITION and "
        "ROWOFFSET for an id.",
        f"{_STREAM}\n"
        "CREATE STREAM timed AS SELECT user_id, UNIX_TIMESTAMP() AS at_ms FROM clicks EMIT CHANGES;",
        f"{_STREAM}\nCREATE STREAM timed AS SELECT user_id, ROWTIME AS at_ms FROM clicks EMIT CHANGES;",
        _non_deterministic,
    ),
    Rule(
        "select-star",
        "A persistent query selects *",
        "The query has the columns that its input had when it was started. Columns that the input gets "
        "later are missing, and the same file gives other columns on another server. List the columns.",
        f"{_STREAM}\nCREATE STREAM home AS SELECT * FROM clicks WHERE page = '/' EMIT CHANGES;",
        f"{_STREAM}\nCREATE STREAM home AS SELECT user_id, page FROM clicks WHERE page = '/' EMIT CHANGES;",
        _select_star,
    ),
    Rule(
        "unbounded-state",
        "State grows with each new key",
        "GROUP BY of a stream without WINDOW remembers every key that it has ever seen. That is right "
        "for a few keys, such as countries; for sessions, orders or devices the state grows for ever. "
        "So does that of a join of streams without WITHIN, with each row. Add a WINDOW or WITHIN, or ignore "
        "the rule where the number of keys or rows is limited.",
        f"{_STREAM}\n"
        "CREATE TABLE counts AS SELECT user_id, COUNT(*) AS n FROM clicks GROUP BY user_id EMIT "
        "CHANGES;",
        f"{_STREAM}\n"
        "CREATE TABLE counts AS\n"
        "  SELECT user_id, COUNT(*) AS n\n"
        "  FROM clicks\n"
        "  WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 5 MINUTES)\n"
        "  GROUP BY user_id\n"
        "  EMIT CHANGES;",
        _unbounded_state,
    ),
    Rule(
        "window-without-grace",
        "A window does not say how late records may be",
        "Without GRACE PERIOD a window of less than a day stays open until a day after its start, and a"
        " join keeps a day's records, so the state is larger than it must be. With EMIT FINAL the "
        "period is zero, and each late record is lost. Say how late records may be.",
        f"{_STREAM}\n"
        "CREATE TABLE counts AS\n"
        "  SELECT user_id, COUNT(*) AS n\n"
        "  FROM clicks\n"
        "  WINDOW TUMBLING (SIZE 1 HOUR)\n"
        "  GROUP BY user_id\n"
        "  EMIT CHANGES;",
        f"{_STREAM}\n{_VIEWS}\n"
        "CREATE STREAM clicked AS\n"
        "  SELECT v.user_id AS user_id, v.ad AS ad, c.page AS page\n"
        "  FROM views v\n"
        "  JOIN clicks c WITHIN 5 MINUTES GRACE PERIOD 1 MINUTE ON v.user_id = c.user_id\n"
        "  EMIT CHANGES;",
        _window_without_grace,
    ),
)
