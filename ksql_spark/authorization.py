"""Roles and their rights: the one place that decides about requests and statements.

Each role includes the rights of lower roles. It applies to everything, or to the streams, tables and topics
that match a pattern. Without authentication everybody is an admin.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ksql_spark import topic_patterns
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.nodes import AliasedSource, CommonTable, LogOf, Statement, property_values
from ksql_spark.grammar.rules import classes_of
from ksql_spark.grammar.statements.asserts import AssertTopic
from ksql_spark.grammar.statements.comments import Comment
from ksql_spark.grammar.statements.connectors import CreateConnector, DropConnector
from ksql_spark.grammar.statements.describe import (
    DescribeConnector,
    DescribeFunction,
    DescribeSource,
    DescribeSources,
    Explain,
    ExplainFreshness,
    ExplainRecord,
    ExplainRow,
)
from ksql_spark.grammar.statements.functions import CreateFunction, DropFunction
from ksql_spark.grammar.statements.indexes import CreateIndex, DropIndex
from ksql_spark.grammar.statements.inserts import InsertSelect, InsertValues
from ksql_spark.grammar.statements.lifecycle import (
    Forget,
    Pause,
    ReplayErrors,
    ReplayLateRows,
    Reprocess,
    Resume,
    Terminate,
)
from ksql_spark.grammar.statements.print_topic import PrintTopic
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.grammar.statements.rows import DeleteRows, TruncateTable, UpdateRows
from ksql_spark.grammar.statements.session import (
    AlterSystem,
    DefineVariable,
    SetProperty,
    UndefineVariable,
    UnsetProperty,
)
from ksql_spark.grammar.statements.show import Show
from ksql_spark.grammar.statements.sinks import CreateSink, CreateSinkAs, DescribeSink, DropSink
from ksql_spark.grammar.statements.sources import (
    AlterSource,
    CreateAsSelect,
    CreateSource,
    DropSource,
    RefreshSchema,
)
from ksql_spark.grammar.statements.versions import (
    AbortEvolution,
    DescribeEvolution,
    Rollback,
    ShowVersions,
    Swap,
    Undrop,
)
from ksql_spark.grammar.statements.views import CreateView, DropView


class Role(enum.IntEnum):
    """A user's role on this server, in ascending order."""

    #: selects from streams and tables, and sees which exist
    READER = 1
    #: creates, writes and drops, and prints topics, except command topics
    DEVELOPER = 2
    #: changes the server: its properties, code that it runs, its shutdown
    ADMIN = 3

    @property
    def label(self) -> str:
        """The role's name as users write it."""
        return self.name.lower()

    @classmethod
    def named(cls, name: str) -> Role:
        """The role called ``name``, ignoring case. Raises ValueError."""
        try:
            return cls[name.upper()]
        except KeyError:
            labels = ", ".join(role.label for role in cls)
            raise ValueError(f"there is no role {name}, only {labels}") from None


class Kind(enum.Enum):
    """The kind of object that a name refers to."""

    SOURCE = "source"
    TOPIC = "topic"


@dataclass(frozen=True)
class Grant:
    """A role for a pattern of names: of sources in SQL, or of topics in single quotes.

    A pattern of sources also applies to topics, because topics have the names of their sources unless a
    statement says otherwise. ``*`` matches any text, and alone also a stream's pattern of topics. Case
    matters only in quotes, as in SQL.

    >>> grant = Grant.of("developer:sales_*")
    >>> grant.covers(Kind.SOURCE, "SALES_2"), grant.covers(Kind.TOPIC, "SALES_2")
    (True, True)
    >>> grant.covers(Kind.SOURCE, "sales_2")
    False
    >>> Grant.of("reader:'raw.*'").covers(Kind.SOURCE, "raw.x")
    False
    """

    role: Role
    pattern: str

    @classmethod
    def of(cls, text: str) -> Grant:
        """The grant ``role:pattern``. Raises ValueError."""
        name, _, pattern = text.partition(":")
        role = Role.named(name)
        if role is Role.ADMIN:
            raise ValueError("an admin is one of the whole server: admin takes no pattern")
        if not re.fullmatch(r"`[^`]+`|'[^']+'|[^`'\s]+", pattern):
            raise ValueError(
                f"{pattern!r} is not a pattern of names such as orders_*, `orders_*` or 'orders_*'"
            )
        return cls(role, pattern if pattern[0] in "`'" else pattern.upper())

    def covers(self, kind: Kind, name: str) -> bool:
        """Whether the pattern matches ``name``."""
        pattern = self.pattern
        if kind is Kind.SOURCE and pattern[0] == "'":
            return False
        parts = pattern.strip(pattern[0] if pattern[0] in "`'" else "").split("*")
        if kind is Kind.TOPIC and topic_patterns.pattern_of(name) is not None:
            return not any(parts)  # what it finds may have any name
        return re.fullmatch(".*".join(map(re.escape, parts)), name, re.DOTALL) is not None

    def __str__(self) -> str:
        return f"{self.role.label} for {self.pattern}"


@dataclass(frozen=True)
class Rights:
    """A user's rights: a role for everything, if any, and roles for name patterns."""

    role: Role | None
    grants: tuple[Grant, ...] = ()

    @classmethod
    def of(cls, texts: Iterable[str]) -> Rights:
        """The rights of roles with and without patterns. Raises ValueError for other texts, and for none."""
        role_texts = list(texts)
        roles = [Role.named(text) for text in role_texts if ":" not in text]
        grants = tuple(Grant.of(text) for text in role_texts if ":" in text)
        if not role_texts:
            raise ValueError("there is no role")
        return cls(max(roles, default=None), grants)

    @property
    def highest(self) -> Role | None:
        """The highest role, whatever it applies to."""
        return max([*(g.role for g in self.grants), *([self.role] if self.role else [])], default=None)

    def of_name(self, kind: Kind, name: str) -> Role | None:
        """The role for one source or topic."""
        roles = [grant.role for grant in self.grants if grant.covers(kind, name)]
        return max([*roles, *([self.role] if self.role else [])], default=None)

    def may_read(self, source: str) -> bool:
        """Whether the stream or table ``source`` may be read, and seen."""
        return self.role is not None or self.of_name(Kind.SOURCE, source) is not None

    def may_see_topic(self, topic: str) -> bool:
        """Whether ``topic`` may be seen."""
        return self.role is not None or self.of_name(Kind.TOPIC, topic) is not None

    def __str__(self) -> str:
        return ", ".join([*([self.role.label] if self.role else []), *map(str, self.grants)]) or "none"


#: everybody's rights, if there is no authentication
ALL_RIGHTS = Rights(Role.ADMIN)


class Uses(NamedTuple):
    """The sources that a query reads, and the one that it writes; a push query writes none."""

    reads: frozenset[str]
    writes: str | None

    def is_visible(self, rights: Rights) -> bool:
        """Whether all of them may be read."""
        return all(map(rights.may_read, [*self.reads, *([self.writes] if self.writes else [])]))


class Catalog(Protocol):
    """The knowledge about a server that decisions about statements need."""

    def has(self, source: str) -> bool:
        """Whether this stream or table exists."""

    def topic_of(self, source: str) -> str | None:
        """The topic of a stream or table; None if it does not exist."""

    def table_of(self, index: str) -> str | None:
        """The table of an index; None if it does not exist."""

    def chosen_sink_topic(self, name: str) -> str | None:
        """The topic of a new sink without KAFKA_TOPIC, if the request and not the server chooses it."""

    def uses(self, query_id: str) -> list[Uses]:
        """The sources of the queries with this id, ignoring case."""

    def falling(self, source: str) -> list[str]:
        """Return the names that DROP … CASCADE of a source removes or no longer writes, including its own."""


_OF_STATEMENTS: dict[type[Statement], Role] = {
    **dict.fromkeys(
        (
            DefineVariable, DescribeConnector, DescribeEvolution, DescribeFunction, DescribeSink,
            DescribeSource, DescribeSources, Explain, ExplainFreshness, ExplainRecord, ExplainRow, Query,
            SetProperty, Show, ShowVersions, UndefineVariable, UnsetProperty,
        ),
        Role.READER,
    ),
    # a connector reads and writes files, and connects to other servers, with its worker's rights
    **dict.fromkeys((AlterSystem, CreateConnector, CreateFunction, DropConnector, DropFunction), Role.ADMIN),
    # a sink writes files with the server's rights
    **dict.fromkeys((CreateSink, CreateSinkAs, DropSink), Role.ADMIN),
}  # fmt: skip


class Need(NamedTuple):
    """A role that a statement needs for a source or topic."""

    role: Role
    kind: Kind
    name: str


_Needing = Callable[[Any, Catalog], Iterator[Need] | None]
#: statement class -> the roles that it needs for sources and topics; None, as for missing classes: a role for
#: everything
_NEEDS: dict[type[Statement], _Needing] = {}


def _needing(function: _Needing) -> _Needing:
    """Make a function say what the statements need that it takes."""
    _NEEDS.update(dict.fromkeys(classes_of(function), function))
    return function


def _reads(tree: Any, catalog: Catalog) -> Iterator[Need]:
    """The needs of a query's relations."""
    named = {table.table_name for table in tree.find_all(CommonTable)}
    for relation in tree.find_all(AliasedSource):
        name = relation.source_name
        if name not in named or catalog.has(name):
            yield Need(Role.READER, Kind.SOURCE, name)
    for log in tree.find_all(LogOf):
        # it shows records of what the query reads; of a query that has ended nobody knows what that was
        read = {name for used in catalog.uses(log.query_id) for name in used.reads}
        for name in sorted(read) or [log.query_id]:
            yield Need(Role.READER, Kind.SOURCE, name)


@_needing
def _query(statement: Query, catalog: Catalog) -> Iterator[Need]:
    yield from _reads(statement, catalog)


@_needing
def _create_source(statement: CreateSource, catalog: Catalog) -> Iterator[Need]:
    yield Need(Role.DEVELOPER, Kind.SOURCE, statement.name)
    properties = property_values(statement.properties)
    topic = properties.get("KAFKA_TOPIC")
    if "TOPIC_PATTERN" in properties:
        topic = topic_patterns.topic_of(str(properties["TOPIC_PATTERN"]))
    if topic is not None:
        yield Need(Role.READER if statement.source else Role.DEVELOPER, Kind.TOPIC, str(topic))


@_needing
def _create_view(statement: CreateView, catalog: Catalog) -> Iterator[Need]:
    yield Need(Role.DEVELOPER, Kind.SOURCE, statement.name)
    yield from _reads(statement, catalog)


@_needing
def _create_index(statement: CreateIndex, catalog: Catalog) -> Iterator[Need]:
    yield Need(Role.DEVELOPER, Kind.SOURCE, statement.table_name)


@_needing
def _drop_index(statement: DropIndex, catalog: Catalog) -> Iterator[Need]:
    table = catalog.table_of(statement.name)
    return iter([] if table is None else [Need(Role.DEVELOPER, Kind.SOURCE, table)])


@_needing
def _create_as_select(statement: CreateAsSelect, catalog: Catalog) -> Iterator[Need]:
    yield Need(Role.DEVELOPER, Kind.SOURCE, statement.name)
    topic = property_values(statement.properties).get(
        "KAFKA_TOPIC", catalog.chosen_sink_topic(statement.name)
    )
    if topic is not None:
        yield Need(Role.DEVELOPER, Kind.TOPIC, str(topic))
    yield from _reads(statement, catalog)


@_needing
def _insert_select(statement: InsertSelect, catalog: Catalog) -> Iterator[Need]:
    yield Need(Role.DEVELOPER, Kind.SOURCE, statement.name)
    yield from _reads(statement, catalog)


@_needing
def _write(
    statement: AbortEvolution
    | AlterSource
    | Comment
    | DeleteRows
    | DropView
    | Forget
    | InsertValues
    | Reprocess
    | Rollback
    | Swap
    | Undrop
    | RefreshSchema
    | TruncateTable
    | UpdateRows,
    catalog: Catalog,
) -> Iterator[Need]:
    yield Need(Role.DEVELOPER, Kind.SOURCE, statement.name)


@_needing
def _drop_source(statement: DropSource, catalog: Catalog) -> Iterator[Need]:
    names = catalog.falling(statement.name) if statement.cascade else [statement.name]
    for name in names or [statement.name]:
        yield Need(Role.DEVELOPER, Kind.SOURCE, name)
        topic = catalog.topic_of(name) if statement.delete_topic else None
        if topic is not None:
            yield Need(Role.DEVELOPER, Kind.TOPIC, topic)


@_needing
def _describe(
    statement: DescribeEvolution | DescribeSource | ExplainFreshness | ExplainRow | ShowVersions,
    catalog: Catalog,
) -> Iterator[Need]:
    yield Need(Role.READER, Kind.SOURCE, statement.name)


@_needing
def _topic(statement: AssertTopic | PrintTopic, catalog: Catalog) -> Iterator[Need]:
    yield Need(Role.DEVELOPER, Kind.TOPIC, statement.topic)


@_needing
def _record(statement: ExplainRecord, catalog: Catalog) -> Iterator[Need]:
    yield Need(Role.READER, Kind.TOPIC, statement.topic)


@_needing
def _control(statement: Pause | Resume | Terminate, catalog: Catalog) -> Iterator[Need] | None:
    uses_of_query = catalog.uses(statement.query_id) if statement.query_id is not None else []
    if not uses_of_query:
        return None
    sources = (name for use in uses_of_query for name in ([use.writes] if use.writes else use.reads))
    return (Need(Role.DEVELOPER, Kind.SOURCE, name) for name in sources)


@_needing
def _replay(statement: ReplayErrors | ReplayLateRows, catalog: Catalog) -> Iterator[Need]:
    yield from _reads(statement, catalog)
    for uses in catalog.uses(statement.query_id):
        if uses.writes:
            yield Need(Role.DEVELOPER, Kind.SOURCE, uses.writes)


@_needing
def _explain(statement: Explain, catalog: Catalog) -> Iterator[Need] | None:
    """Showing a plan reveals its sources."""
    if statement.query_id is not None:
        uses_of_query = catalog.uses(statement.query_id)
        names = (
            name for use in uses_of_query for name in [*use.reads, *([use.writes] if use.writes else [])]
        )
        return (Need(Role.READER, Kind.SOURCE, name) for name in names) if uses_of_query else None
    planned = statement.statement
    named = (CreateAsSelect, InsertSelect, DropSource, Rollback)
    sink = [planned.name] if isinstance(planned, named) else []
    seen = [Need(Role.READER, Kind.SOURCE, name) for name in sink if catalog.has(name)]
    return iter([*seen, *_reads(planned, catalog)])


@_needing
def _lists(statement: Show, catalog: Catalog) -> Iterator[Need] | None:
    """Lists contain only what may be seen; connectors have no source names."""
    return None if statement.what.startswith("CONNECTOR") else iter(())


@_needing
def _nothing(
    statement: DefineVariable
    | DescribeFunction
    | DescribeSources
    | SetProperty
    | UndefineVariable
    | UnsetProperty,
    catalog: Catalog,
) -> Iterator[Need]:
    return iter(())


def role_for_statement(kind: type[Statement]) -> Role:
    """The least role that may run statements of this class: DEVELOPER by default."""
    return _OF_STATEMENTS.get(kind, Role.DEVELOPER)


#: the command topics of all services
_COMMANDS = re.compile(r"_confluent-ksql-.+_command_topic", re.DOTALL)


def _is_about_commands(statement: Statement) -> bool:
    """Whether a statement reads a command topic, which contains secrets of all users unmasked."""
    match statement:
        case ExplainRecord() | PrintTopic():
            topic = statement.topic
        case CreateSource():
            topic = str(property_values(statement.properties).get("KAFKA_TOPIC", statement.name))
        case _:
            return False
    return _COMMANDS.fullmatch(topic) is not None


def _reads_elsewhere(statement: Statement) -> bool:
    """Whether a statement reads files and databases with the server's rights, as LAKE and ARCHIVE do."""
    return isinstance(statement, CreateSource) and bool(
        {"LAKE", "SOURCE", "ARCHIVE"} & set(property_values(statement.properties))
    )


def check_statement(rights: Rights, statement: Statement, catalog: Catalog) -> None:
    """Refuse a statement that a user may not run.

    Args:
        rights: the user's rights.
        statement: the statement.
        catalog: the objects that exist after the preceding statements.

    Raises:
        KsqlError: FORBIDDEN.
    """
    is_for_admins = _is_about_commands(statement) or _reads_elsewhere(statement)
    least = Role.ADMIN if is_for_admins else role_for_statement(type(statement))
    if rights.role is not None and rights.role >= least:
        return
    needs = None
    if rights.grants and type(statement) in _NEEDS and least is not Role.ADMIN:
        needs = _NEEDS[type(statement)](statement, catalog)
    if needs is None:
        what = " ".join(statement.source_text.split()[:2]).upper()
        raise KsqlError("FORBIDDEN", what=f"{what} …", role=str(rights), least=least.label)
    for need in needs:
        _check(rights, need)


def check_source(rights: Rights, role: Role, source: str) -> None:
    """Refuse an operation that needs ``role`` for a stream or table.

    Raises:
        KsqlError: FORBIDDEN.
    """
    if rights.role is None or rights.role < role:
        _check(rights, Need(role, Kind.SOURCE, source))


def check_topic(rights: Rights, topic: str) -> None:
    """Refuse to show the records of a topic, as PRINT does.

    Raises:
        KsqlError: FORBIDDEN.
    """
    if _COMMANDS.fullmatch(topic) is not None:
        check_role(rights, Role.ADMIN, takes_patterns=False, what=f"The topic '{topic}'")
    elif rights.role is None or rights.role < Role.DEVELOPER:
        _check(rights, Need(Role.DEVELOPER, Kind.TOPIC, topic))


def _check(rights: Rights, need: Need) -> None:
    there = rights.of_name(need.kind, need.name)
    if there is None or there < need.role:
        what = need.name if need.kind is Kind.SOURCE else f"The topic '{need.name}'"
        label = there.label if there else "none"
        raise KsqlError("FORBIDDEN", what=what, role=label, least=need.role.label)


def check_role(rights: Rights, role: Role, takes_patterns: bool, what: str) -> None:
    """Refuse an operation that needs ``role`` for all sources or, with ``takes_patterns``, for any.

    Raises:
        KsqlError: FORBIDDEN; it names ``what``.
    """
    role_of_client = rights.highest if takes_patterns else rights.role
    if role_of_client is None or role_of_client < role:
        raise KsqlError("FORBIDDEN", what=what, role=str(rights), least=role.label)
