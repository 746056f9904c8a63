"""SHOW VERSIONS, ROLLBACK and UNDROP: what a stream or table has been, and may be again (beyond ksqlDB)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ksql_spark import analyzer, grammar
from ksql_spark.analyzer.definitions.properties import BACKFILL, IN_PLACE, KEEP, Evolve
from ksql_spark.authorization import check_statement
from ksql_spark.entities.versions import VersionInfo, VersionsList
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.statements.sources import CreateAsSelect, CreateSource
from ksql_spark.grammar.statements.versions import Rollback, ShowVersions, Undrop
from ksql_spark.grammar.with_clause import remove_way, set_properties
from ksql_spark.masking import masked
from ksql_spark.metastore.sources import STREAM, TABLE
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.plan.trees import relations
from ksql_spark.runtime import versions
from ksql_spark.runtime.versions import Dropped, Version
from ksql_spark.statements.base.context import (
    Action,
    Immediate,
    Logged,
    Outcome,
    Prepared,
    Starts,
    StatementContext,
)
from ksql_spark.statements.base.handlers import handles
from ksql_spark.statements.definitions.explain_evolution import bind_replacement
from ksql_spark.statements.definitions.new_versions import check_none_under_way
from ksql_spark.statements.definitions.sources import create_as_select, create_source, position_of

_ANEW = "CREATE it again: that begins anew."
#: how a stream's query goes back if it cannot in place
_KEPT = Evolve(BACKFILL, keeps_history=True)
#: how long UNDROP is possible
RETENTION = "ksql.undrop.retention.ms"


@handles
def show_versions(statement: ShowVersions, context: StatementContext) -> Action:
    """SHOW VERSIONS OF a stream or table."""
    name = statement.name
    context.metastore.require(name)
    return Immediate(
        lambda: VersionsList(
            statement_text=statement.source_text,
            name=name,
            versions=tuple(map(_info, context.services.versions.of(name))),
        )
    )


def _info(version: Version) -> VersionInfo:
    return VersionInfo(
        number=version.number,
        way=_way(version),
        is_rollback=version.is_rollback,
        statement=masked(version.statement),
        timestamp=version.written_ms,
        user=version.user,
        query_id=version.query_id,
        command_sequence_number=version.sequence,
        starts=version.starts,
    )


def _way(version: Version) -> str:
    """The way of a version; a query that goes on where another has ended, without its state, has its own."""
    first = grammar.parse(version.statement, substitution=False)[0]
    evolve = analyzer.evolve_of(first) if isinstance(first, CreateAsSelect) else None
    if version.way != versions.IN_PLACE or evolve is None or evolve.way == IN_PLACE:
        return version.way
    return evolve.way if evolve.way != BACKFILL else "history kept"


# ---- ROLLBACK -----------------------------------------------------------------------------------------


@handles
def rollback(statement: Rollback, context: StatementContext) -> Action:
    """ROLLBACK: CREATE OR REPLACE with the statement of an earlier version, which is what the log gets."""
    version, planned = replacement(statement, context)
    check_statement(context.rights, planned, context)
    with _properties(version.properties, context):
        action = _created(planned, context)
    begins = action.change is not None and action.change.begins
    evolve = analyzer.evolve_of(planned) if isinstance(planned, CreateAsSelect) else None
    where = "from its position, without state" if evolve == _KEPT else "in place, with its state"
    between = context.services.versions.of(statement.name)[version.number : -1]
    skipped = ""
    if statement.version is None and between:
        numbers = " and ".join(str(each.number) for each in between)
        skipped = f" The statement of version {numbers} is the current one."

    def apply(starts: Starts) -> Outcome:
        outcome = action.apply(starts)
        message = f"{statement.name} is as in version {version.number} again"
        query = context.services.queries.find(outcome.query_id) if outcome.query_id is not None else None
        if query is not None and context.services.queries.takeovers.until(query) is not None:
            message += (
                f", from now on: {query.id} reads again, for its state, what it has read, and then goes on"
            )
        elif isinstance(planned, CreateAsSelect):
            message += f", from now on: {outcome.query_id} goes on {where}"
        message += "."
        if begins:
            message = (
                f"{statement.name} will be as in version {version.number} again: {outcome.query_id} runs "
                f"beside it, and takes over once it has caught up (DESCRIBE EVOLUTION {statement.name})."
            )
        return outcome if outcome.is_failed else replace(outcome, message=message + skipped)

    return replace(
        action,
        command_id=f"{planned.kind.lower()}/`{statement.name}`{versions.ROLLBACK}",
        apply=apply,
        statement=planned.source_text,
        properties=version.properties,
    )


def replacement(
    statement: Rollback, context: StatementContext
) -> tuple[Version, CreateSource | CreateAsSelect]:
    """The version to go back to, and the CREATE OR REPLACE that does: in place if possible.

    EVOLVE = 'in-place' is tried where each change since has been in place, so that the state has all of it.

    Raises:
        KsqlError: SOURCE_UNKNOWN; INVALID_STATEMENT if there is no such version, or no way back to it.
    """
    name = statement.name
    check_none_under_way(name, context, allows_stopped=True)
    version = _target(statement, context)
    planned = _restored(version)
    if isinstance(planned, CreateSource):
        return version, planned
    with _properties(version.properties, context):
        try:
            bind_replacement(planned, None, context)
            return version, planned
        except KsqlError as error:
            refusal = error
        in_place = _restored(version, IN_PLACE)
        assert isinstance(in_place, CreateAsSelect)
        if _all_in_place(context.services.versions.of(name)[version.number :]):
            try:
                bound = bind_replacement(in_place, analyzer.evolve_of(in_place), context)
                old = context.writer_of(name)
                if not analyzer.appended(old.logical if old is not None else None, bound):
                    return version, in_place
            except KsqlError as error:
                refusal = error
        beside = _restored(version, BACKFILL)
        assert isinstance(beside, CreateAsSelect)
        try:
            bind_replacement(beside, analyzer.evolve_of(beside), context)
            return version, beside
        except KsqlError as error:
            reason = (
                f"{name} cannot go back to version {version.number}.\nIn place: {_reason(refusal)}\n"
                f"As a backfill: {_reason(error)}"
            )
            hint = f"SHOW VERSIONS OF {name}; has its statement, which can CREATE it under another name."
            raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint) from None


def _all_in_place(history: Sequence[Version]) -> bool:
    """Whether each of these versions has gone on with the state of the one before."""
    return all(
        version.way == versions.IN_PLACE
        and isinstance(parsed := grammar.parse(version.statement, substitution=False)[0], CreateAsSelect)
        and analyzer.evolve_of(parsed) in (None, Evolve(IN_PLACE))
        for version in history
    )


def _reason(error: KsqlError) -> str:
    return str(error.parameters.get("reason", error.message))


def _target(statement: Rollback, context: StatementContext) -> Version:
    name = statement.name
    source = context.metastore.require(name)
    all_versions = context.services.versions.of(name)
    if not all_versions or all_versions[-1].statement != source.statement:
        reason = f"A statement before this one changes {name}, so its versions are not known yet."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint="Send ROLLBACK as a request of its own.")
    current = _text(all_versions[-1])
    others = [version for version in all_versions[:-1] if _text(version) != current]
    hint = f"SHOW VERSIONS OF {name}; lists all."
    if statement.version is None:
        if not others:
            raise KsqlError(
                "INVALID_STATEMENT", reason=f"{name} has no earlier version.", hint=hint, name=name
            )
        return others[-1]
    target = next((version for version in all_versions if version.number == statement.version), None)
    if target is None:
        reason = f"{name} has no version {statement.version}."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint, name=name)
    if _text(target) == current:
        raise KsqlError(
            "INVALID_STATEMENT", reason=f"{name} already is as in version {target.number}.", hint=hint
        )
    return target


def _text(version: Version) -> str:
    """The statement of a version, the same for all that are the same."""
    return grammar.render(_restored(version))


def _restored(
    version: Version, way: str | None = None, *, or_replace: bool = True
) -> CreateSource | CreateAsSelect:
    """The statement that makes a version the current one.

    Args:
        version: it.
        way: for EVOLVE; None: none.
        or_replace: whether there is another version now.
    """
    first, *alters = grammar.parse(version.statement, substitution=False)
    assert isinstance(first, (CreateSource, CreateAsSelect))
    remove_way(first)
    if way is not None:
        history = {"HISTORY": KEEP} if way == BACKFILL and first.kind == STREAM else {}
        set_properties(first, EVOLVE=way, **history)
    first.set("or_replace", or_replace)
    first.set("if_not_exists", False)
    for alter in alters:
        first.set("columns", [*first.args["columns"], *alter.args["columns"]])
    restored = grammar.parse_one(f"{grammar.render(first)};", substitution=False)
    assert isinstance(restored, (CreateSource, CreateAsSelect))
    return restored


# ---- UNDROP -------------------------------------------------------------------------------------------


@handles
def undrop(statement: Undrop, context: StatementContext) -> Action:
    """UNDROP: CREATE with the last version's statement; its query goes on, or starts anew."""
    dropped = _dropped(statement, context)
    version = dropped.versions[-1]
    planned = _restored(version, or_replace=False)
    if planned.kind != statement.kind:
        reason = f"{statement.name} was a {planned.kind.lower()}: UNDROP {planned.kind} {statement.name};"
        raise KsqlError("INVALID_STATEMENT", reason=reason)
    check_statement(context.rights, planned, context)
    with _properties(version.properties, context):
        action = _created(planned, context)
    source = context.metastore.require(statement.name)
    message = f"{planned.kind.capitalize()} {source.name} is back, with its topic {source.topic}."
    is_there = dropped.has_topic and context.services.admin.topic(source.topic) is not None
    if is_there:
        _check_same(source.topic, dropped, context)
    prepare = action.prepare
    if isinstance(planned, CreateSource):
        if not is_there:
            reason = f"The topic {source.topic} was deleted, and with it all that {source.name} had."
            raise KsqlError("INVALID_STATEMENT", reason=reason, hint="CREATE it again.")
    else:
        bound = context.queries[-1].logical
        assert bound is not None
        starts = _starts(bound, dropped, is_there, context)
        if not is_there:
            message = (
                f"{source.name} is back. Its topic was deleted: its query fills a new topic {source.topic}, "
            )
            message += "from where it first began to read."
        elif planned.kind == TABLE:
            message += " Its query reads again from where it first began."
        elif not analyzer.is_stateless(bound.root):
            message += " Its query continues where it stopped, but its state is lost: it begins with none."
        else:
            message += " Its query continues where it stopped."

        def prepare() -> Prepared:
            return replace(action.prepare(), starts=starts)

    def apply(starts: Starts) -> Outcome:
        outcome = action.apply(starts)
        return outcome if outcome.is_failed else replace(outcome, message=message)

    return replace(
        action,
        command_id=f"{planned.kind.lower()}/`{source.name}`{versions.UNDROP}",
        apply=apply,
        prepare=prepare,
        statement=planned.source_text,
        properties=version.properties,
    )


def _dropped(statement: Undrop, context: StatementContext) -> Dropped:
    name = statement.name
    existing = context.metastore.find(name)
    if existing is not None:
        reason = f"A {existing.kind.lower()} {name} exists."
        raise KsqlError("INVALID_STATEMENT", reason=reason, name=name)
    dropped = context.services.versions.dropped(name)
    if dropped is None or not dropped.versions:
        reason = f"No stream or table {name} has been dropped."
        raise KsqlError("INVALID_STATEMENT", reason=reason, name=name)
    passed_ms = time.time() * 1000 - (dropped.command.written_ms or 0)
    most_ms = context.config[RETENTION]
    if dropped.command.written_ms is not None and passed_ms > most_ms:
        reason = f"{name} was dropped {passed_ms / 1000:,.0f} s ago, and {RETENTION} is {most_ms:,}."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint="CREATE it again.")
    return dropped


def _check_same(topic: str, dropped: Dropped, context: StatementContext) -> None:
    """Refuse to go on with a topic that only has the name of the one that was there.

    Raises:
        KsqlError: INVALID_STATEMENT; as KafkaAdmin.
    """
    before, there = dropped.command.topics.get(topic), context.services.admin.identities([topic]).get(topic)
    if before is not None and (there is None or there.id != before):
        reason = f"Topic {topic} was deleted and recreated since the DROP: its records are others."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint=_ANEW)


def _starts(
    bound: PersistentQuery, dropped: Dropped, is_there: bool, context: StatementContext
) -> dict[str, dict[str, int]]:
    """Return where the query of a restored stream or table begins to read.

    Raises:
        KsqlError: INVALID_STATEMENT if a stream's query cannot go on, because nobody knows where it stopped.
    """
    sink, admin = bound.sink, context.services.admin
    first = dropped.versions[-1].starts
    starts: dict[str, dict[str, int]] = {}
    for source in dict.fromkeys(relation.source for relation in relations(bound.root)):
        topic = source.topic
        if source.topic_pattern is not None:
            reason = f"UNDROP brings back no query of a pattern of topics, as {sink.name} has one."
            raise KsqlError("INVALID_STATEMENT", reason=reason, hint=_ANEW)
        reached = first.get(topic, {})
        if is_there and sink.kind != TABLE and not source.is_table:
            position = dropped.command.starts.get(position_of(sink.name, topic))
            if position is None:
                reason = (
                    f"Nobody knows where the query of {sink.name} stopped: it had ended before the DROP, had "
                    "no checkpoint yet, or ran on another server."
                )
                hint = f"CREATE STREAM {sink.name} AS SELECT ... with START begins anew."
                raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint)
            reached = position
        _check_same(topic, dropped, context)
        ends = admin.end_offsets(topic)
        if any(ends[key] < reached.get(str(key[1]), 0) for key in ends):  # a DROP of an earlier release
            reason = f"Topic {topic} ends before the offset where the query would begin: it was recreated."
            raise KsqlError("INVALID_STATEMENT", reason=reason, hint=_ANEW)
        starts[topic] = {
            str(partition): max(reached.get(str(partition), 0), begin)
            for key, begin in admin.beginning_offsets(topic).items()
            for _, partition in (key,)
        }
    return starts


# ---- both ---------------------------------------------------------------------------------------------


def _created(planned: CreateSource | CreateAsSelect, context: StatementContext) -> Logged:
    if isinstance(planned, CreateSource):
        action = create_source(planned, context)
    else:
        action = create_as_select(planned, context)
    assert isinstance(action, Logged)  # there is no IF NOT EXISTS
    return action


@contextlib.contextmanager
def _properties(properties: Mapping[str, Any], context: StatementContext) -> Iterator[None]:
    """A block in which a statement has the properties that it once had."""
    current = context.properties
    context.properties = dict(properties)
    try:
        yield
    finally:
        context.properties = current
