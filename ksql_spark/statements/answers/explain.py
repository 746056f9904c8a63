"""EXPLAIN of running queries, of statements, and of replacements."""

from __future__ import annotations

from dataclasses import replace

from ksql_spark import analyzer
from ksql_spark.authorization import check_statement
from ksql_spark.entities.graph import FreshnessEntity
from ksql_spark.entities.queries import QueryDescription, QueryDescriptionEntity
from ksql_spark.entities.schemas import FieldInfo
from ksql_spark.errors import KsqlError, query_hint
from ksql_spark.grammar.nodes import Statement
from ksql_spark.grammar.statements.describe import Explain, ExplainFreshness
from ksql_spark.grammar.statements.inserts import InsertSelect
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.grammar.statements.sources import CreateAsSelect, DropSource
from ksql_spark.grammar.statements.versions import Rollback
from ksql_spark.masking import masked
from ksql_spark.metastore.serdes import subjects_of
from ksql_spark.plan import explain as plan_text
from ksql_spark.plan.planner import lower, lower_transient
from ksql_spark.plan.queries import Feed, Job, Lookup, PersistentQuery, Read
from ksql_spark.plan.stages import Plan
from ksql_spark.plan.trees import relations
from ksql_spark.runtime.reading.results import schema_info
from ksql_spark.runtime.reading.shared_results import is_shareable, shared_staleness_ms
from ksql_spark.statements.base.context import Action, Immediate, StatementContext
from ksql_spark.statements.base.describe import planned_description, query_description
from ksql_spark.statements.base.early_records import early_records
from ksql_spark.statements.base.handlers import handles
from ksql_spark.statements.base.listing import time_warnings
from ksql_spark.statements.definitions.explain_evolution import Evolution, plan_evolution
from ksql_spark.statements.definitions.new_versions import bind_evolution
from ksql_spark.statements.definitions.versions import replacement
from ksql_spark.statements.queries.batch_ranges import archive_lines


@handles
def explain(statement: Explain, context: StatementContext) -> Action:
    """EXPLAIN of a running query, or of a statement, which is planned but not run."""
    if statement.query_id is not None:
        query_id = statement.query_id.upper()
        queries = context.services.queries.all()
        query = next((q for q in queries if q.id.upper() == query_id), None)
        if query is None:
            hint = query_hint(query_id, [q.id for q in queries])
            raise KsqlError("QUERY_UNKNOWN", id=statement.query_id, hint=hint)
        explained = query
        return Immediate(
            lambda: QueryDescriptionEntity(
                statement_text=statement.source_text,
                query_description=query_description(explained, context.services),
            ).warned(
                *time_warnings([explained], context.services), *early_records([explained], context.services)
            )
        )
    planned = statement.statement
    assert planned is not None  # the grammar requires one or the other
    text = planned.source_text or statement.source_text
    if statement.evolution:
        if isinstance(planned, Rollback):
            version, planned = replacement(planned, context)
            check_statement(context.rights, Explain(statement=planned), context)
            context = replace(context, properties=dict(version.properties))
            text = planned.source_text
        return _evolution(statement, plan_evolution(planned, context), text, context)
    if isinstance(planned, DropSource):
        return _drop(statement, planned, text, context)
    if isinstance(planned, Query):
        read = analyzer.bind_read(planned.query, context.metastore, context.config)
        described = _of_read(read, text, context)
    else:
        described = planned_description(_plan(planned, context), "", text)
    return Immediate(
        lambda: QueryDescriptionEntity(statement_text=statement.source_text, query_description=described)
    )


@handles
def explain_freshness(statement: ExplainFreshness, context: StatementContext) -> Action:
    """EXPLAIN FRESHNESS: where the delay of a stream or table comes from."""
    source = context.metastore.require(statement.name)
    return Immediate(
        lambda: FreshnessEntity(
            statement_text=statement.source_text,
            freshness=context.freshness(source, context.rights),
        )
    )


def _evolution(statement: Explain, evolution: Evolution, text: str, context: StatementContext) -> Action:
    described = planned_description(_lowered(evolution.bound, context), evolution.query_id, text)
    return Immediate(
        lambda: QueryDescriptionEntity(
            statement_text=statement.source_text,
            query_description=replace(described, topology="", execution_plan=evolution.report()),
        )
    )


def _drop(statement: Explain, drop: DropSource, text: str, context: StatementContext) -> Action:
    """List what DROP would remove, in which order, and whether it needs CASCADE (beyond ksqlDB)."""
    source = context.metastore.require(drop.name)
    fall, rights = context.fall(source.name), context.rights
    lines = []
    others = [each for each in fall.sources if each != source.name]
    other_queries = [q for q in fall.queries if not (q.sink == source.name and q.creates_sink)]
    if (others or other_queries) and not drop.cascade:
        lines.append("Refused, because others use it. With CASCADE it would remove, in this order:")
    else:
        lines.append("Removes, in this order:")
    hidden = 0
    for query in fall.queries:
        if all(map(rights.may_read, [*query.sources, query.sink])):
            lines.append(f"  query {query.id}, with its state")
        else:
            hidden += 1
    for name in fall.sources:
        each = context.metastore.require(name)
        if rights.may_read(name):
            fate = "is deleted with all records" if drop.delete_topic else "stays"
            subjects = subjects_of(each) if drop.delete_topic else ()
            schemas = f", and the schemas of {' and '.join(subjects)}" if subjects else ""
            lines.append(f"  {each.kind.lower()} {name}; its topic {each.topic} {fate}{schemas}")
        else:
            hidden += 1
    if hidden:
        lines.append(f"  {hidden} more, which you may not see")
    described = QueryDescription(
        statement_text=masked(text),
        window_type=None,
        fields=(),
        sources=(source.name,),
        execution_plan="\n".join(lines),
        query_type="PERSISTENT",
    )
    return Immediate(
        lambda: QueryDescriptionEntity(statement_text=statement.source_text, query_description=described)
    )


def _lowered(bound: PersistentQuery, context: StatementContext) -> Plan:
    return lower(bound.root, bound.sink, context.config, by_event_time=bound.by_event_time)


def _plan(statement: Statement, context: StatementContext) -> Plan:
    match statement:
        case CreateAsSelect() if context.metastore.find(statement.name) is not None:
            evolve = analyzer.evolve_of(statement)
            if evolve is not None:
                return _lowered(bind_evolution(statement, context, evolve), context)
        case CreateAsSelect() | InsertSelect():
            pass
        case _:
            raise KsqlError(
                "INVALID_STATEMENT", reason="The provided statement does not run a ksql query.",
                hint="EXPLAIN takes SELECT, CREATE … AS SELECT, INSERT INTO … SELECT or a query id.",
            )  # fmt: skip
    bound = analyzer.bind_persistent(statement, context.metastore, context.config, context.services.registry)
    return _lowered(bound, context)


def _of_read(read: Read, text: str, context: StatementContext) -> QueryDescription:
    match read:
        case Feed(root, output):
            plan = lower_transient(root, output, "transient", context.config)
            return planned_description(plan, "", text)
        case Lookup(source, items=items):
            columns = [(i.name, i.expression.type) for i in items]
            sources, window, shown = [source], source.window, [plan_text.explain_lookup(read)]
        case Job(root):
            columns = [(c.name, c.type) for c in root.schema.columns]
            sources, window = [relation.source for relation in relations(root)], root.window
            shown = [plan_text.explain_job(read), *archive_lines(root)]
    if (staleness_ms := shared_staleness_ms(context.config)) and is_shareable(read):
        shown.append(f"Execution: shared by the same statements within {staleness_ms} ms.")
    return QueryDescription(
        statement_text=masked(text),
        window_type=window.kind if window else None,
        fields=tuple(FieldInfo(name, schema_info(type_)) for name, type_ in columns),
        sources=tuple(dict.fromkeys(source.name for source in sources)),
        execution_plan="\n".join(shown),
        query_type="PULL",
    )
