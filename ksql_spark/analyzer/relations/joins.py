"""Joins: which kinds exist, and what each requires (reference §2.7, §6.4).

``RULES`` has one row per pair of sides and kind; the functions below check one join against its row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from ksql_spark.analyzer.base.failures import check_comparable, failure, invalid
from ksql_spark.analyzer.base.scope import BoundRelation, Scope
from ksql_spark.analyzer.expressions.binding import bind_expression, bind_predicate
from ksql_spark.analyzer.expressions.calls import call
from ksql_spark.analyzer.relations.time_bounds import within_of
from ksql_spark.expressions import ColumnRef, Expression, columns_in, transform
from ksql_spark.grammar import nodes
from ksql_spark.metastore.sources import STREAM, TABLE
from ksql_spark.plan.clauses import WithinSpec
from ksql_spark.plan.nodes import FOREIGN_KEY, REPLICATED, STREAM_STREAM, STREAM_TABLE, TABLE_TABLE
from ksql_spark.schema import ROWTIME
from ksql_spark.types import contains_variant


@dataclass(frozen=True)
class JoinRule:
    """The rule for one kind of join: the logical join's type or an error.

    ``within``: it may have WITHIN. ``is_mirrored``: it is a LEFT join with its sides exchanged.
    """

    type: str | None
    within: bool = False
    error: str | None = None
    is_mirrored: bool = False


_STREAMS = JoinRule(STREAM_STREAM, within=True)
_LOOKUP = JoinRule(STREAM_TABLE)
_TABLES = JoinRule(TABLE_TABLE)
_ORDER = JoinRule(None, error="table-stream joins are not supported; only stream-table joins.")


def _outer(kind: str) -> JoinRule:
    return JoinRule(None, error=f"{kind}-outer joins between streams and tables are not supported.")


#: (left side, right side, kind of join) -> rule
RULES: dict[tuple[str, str, str], JoinRule] = {
    (STREAM, STREAM, "INNER"): _STREAMS,
    (STREAM, STREAM, "LEFT"): _STREAMS,
    (STREAM, STREAM, "RIGHT"): _STREAMS,
    (STREAM, STREAM, "FULL"): _STREAMS,
    (STREAM, TABLE, "INNER"): _LOOKUP,
    (STREAM, TABLE, "LEFT"): _LOOKUP,
    (STREAM, TABLE, "RIGHT"): _outer("right"),
    (STREAM, TABLE, "FULL"): _outer("full"),
    (TABLE, TABLE, "INNER"): _TABLES,
    (TABLE, TABLE, "LEFT"): _TABLES,
    (TABLE, TABLE, "RIGHT"): _TABLES,
    (TABLE, TABLE, "FULL"): _TABLES,
    (TABLE, STREAM, "INNER"): _ORDER,
    (TABLE, STREAM, "LEFT"): _ORDER,
    (TABLE, STREAM, "RIGHT"): JoinRule(STREAM_TABLE, is_mirrored=True),
    (TABLE, STREAM, "FULL"): _ORDER,
}
#: FOR SYSTEM_TIME AS OF it: the table as far as it has been written
CURRENT_TIMESTAMP = "CURRENT_TIMESTAMP"
#: kinds of foreign-key joins
FOREIGN_KEY_KINDS = ("INNER", "LEFT")
_SPELLED = {
    "INNER": "[INNER] JOIN",
    "LEFT": "LEFT [OUTER] JOIN",
    "RIGHT": "RIGHT [OUTER] JOIN",
    "FULL": "FULL [OUTER] JOIN",
}


@dataclass(frozen=True)
class Joined:
    """A bound join; the projection determines the name of its key.

    Args:
        candidates: unique names of columns that have the join value, the preferred one first.
        synthetic: the name of the key if no column has the value (ROWKEY …), else None.
        keys: unique names of the key columns, if the left side's keys stay (foreign keys, replicated tables).
        within: WITHIN of a stream-stream join.
        grace_ms: the grace period of FOR SYSTEM_TIME AS OF.
        residual: the conditions of ON besides the equality.
        is_loaded_first: FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP.
    """

    left: Joined | BoundRelation
    right: BoundRelation
    type: str
    join: str
    left_key: Expression
    right_key: Expression
    candidates: tuple[str, ...]
    synthetic: str | None
    keys: tuple[str, ...] = ()
    within: WithinSpec | None = None
    grace_ms: int | None = None
    residual: Expression | None = None
    is_loaded_first: bool = False

    @property
    def kind(self) -> str:
        """STREAM or TABLE."""
        return TABLE if self.type in (TABLE_TABLE, FOREIGN_KEY) else STREAM

    @property
    def default_key(self) -> str:
        """The name of the key unless the projection chooses one; "" without a key of its own."""
        return self.synthetic or next(iter(self.candidates or self.keys), "")

    @property
    def key_expressions(self) -> frozenset[Expression]:
        """The operands of ON, here and below, that have the value of the key where their side has a row."""
        below: frozenset[Expression] = frozenset()
        if isinstance(self.left, Joined) and self.left_key in self.left.key_expressions:
            below = self.left.key_expressions
        return below | {self.left_key, self.right_key}

    @property
    def keeps_keys(self) -> bool:
        """Whether the key columns are those of the leftmost relation."""
        is_below = isinstance(self.left, BoundRelation) or self.left.keeps_keys
        return self.type == FOREIGN_KEY or (self.type == REPLICATED and is_below)


@dataclass(frozen=True)
class CompleteJoin:
    """A bound join of complete inputs; ``condition``: its ON."""

    left: CompleteJoin | BoundRelation
    right: CompleteJoin | BoundRelation
    join: str
    condition: Expression

    @property
    def kind(self) -> str:
        """TABLE where both sides are tables, as of plan.nodes.BatchJoin."""
        return TABLE if self.left.kind == self.right.kind == TABLE else STREAM


def relations_of(side: Joined | CompleteJoin | BoundRelation) -> tuple[BoundRelation, ...]:
    """The relations of one side, left to right."""
    if isinstance(side, BoundRelation):
        return (side,)
    return (*relations_of(side.left), *relations_of(side.right))


def bind_join(
    node: nodes.Join, left: Joined | BoundRelation, right: BoundRelation, scope: Scope, rowkey: str
) -> Joined:
    """A join, with its condition bound and checked against its rule.

    Args:
        node: the JOIN.
        left: the left side.
        right: the right side.
        scope: the names of all relations of FROM.
        rowkey: the name for a synthetic key.

    Raises:
        KsqlError: JOIN_INVALID and others, with their position.
    """
    kind = node.kind
    rule = RULES[left.kind, right.kind, kind]
    got = f"Got {relations_of(left)[0].alias} {_SPELLED[kind]} {right.alias}."
    equality, rest = _equality(node, left, right, scope)
    left_key, right_key, shown = _condition(node, equality, left, right, scope)
    grace_ms = _grace_ms(node, left, right)
    is_loaded_first = node.system_time is not None and grace_ms is None
    if isinstance(left, BoundRelation) and (
        rule.is_mirrored or _is_foreign_key_of_right(kind, left, right, left_key, right_key)
    ):
        kind, left, right, left_key, right_key = "LEFT", right, left, right_key, left_key
        rule = RULES[left.kind, right.kind, kind]
    elif rule.is_mirrored:
        rule = _ORDER
    residual = _residual(node, kind, rest, left, right, scope)
    if rule.type is None:
        order = "order" if rule is _ORDER else "type"
        raise invalid(f"Invalid join {order}: {rule.error} {got}", node)
    join_type = rule.type
    _check_types(node, left_key, right_key, scope)
    if join_type == STREAM_TABLE and not _is_key(right_key, right):
        raise failure(
            "JOIN_INVALID", node.on,
            reason=f"stream-table joins require to join on the table's primary key. Got {shown}.",
        )  # fmt: skip
    if join_type == TABLE_TABLE:
        join_type = _table_join(node, kind, left, right, left_key, right_key, shown, got)
    if join_type == STREAM_TABLE and right.source is not None and right.source.is_replicated:
        join_type = REPLICATED
    if join_type not in (FOREIGN_KEY, REPLICATED):
        check_partitions(node, relations_of(left)[0], right)
    within = None
    if rule.within and node.within is None and isinstance(left, BoundRelation):
        within, residual = within_of(residual, left.internal(ROWTIME), right.internal(ROWTIME))
    within = within or _within(node, rule, left.kind, right.kind)
    _check_windows(node, left, right, left_key, right_key)
    candidates = [e.name for e in (left_key, right_key) if isinstance(e, ColumnRef)]
    if isinstance(left, Joined):
        if left_key in left.key_expressions:
            candidates = [*left.candidates, *(n for n in candidates if n not in left.candidates)]
        if (
            join_type == TABLE_TABLE
            and isinstance(left_key, ColumnRef)
            and left_key.name not in left.candidates
        ):
            # a FULL join below: this column lacks the key if its side has no row
            left_key = ColumnRef(left.default_key, left_key.type)
    keys: tuple[str, ...] = ()
    if join_type == REPLICATED and isinstance(left, Joined):
        return Joined(
            left, right, join_type, kind, left_key, right_key, left.candidates, left.synthetic, left.keys,
            None, grace_ms, residual, is_loaded_first,
        )  # fmt: skip
    if join_type in (FOREIGN_KEY, REPLICATED):
        keys, candidates = (
            tuple(relations_of(left)[0].internal(c.name) for c in relations_of(left)[0].schema.key),
            [],
        )
    elif kind == "FULL":
        candidates = []
    synthetic = rowkey if not candidates and not keys and join_type != REPLICATED else None
    return Joined(
        left, right, join_type, kind, left_key, right_key, tuple(candidates), synthetic, keys, within,
        grace_ms, residual, is_loaded_first,
    )  # fmt: skip


def _equality(
    node: nodes.Join, left: Joined | BoundRelation, right: BoundRelation, scope: Scope
) -> tuple[exp.Expr, list[exp.Expr]]:
    """The comparison of ON by which rows meet, and the other conditions that AND joins with it.

    Raises:
        KsqlError: JOIN_INVALID: several conditions of which not just one equates both sides.
    """
    parts = conjuncts(node.on)
    if len(parts) == 1:
        return parts[0], []
    on = scope.at("JOIN ON")
    aliases = {relation.alias for relation in relations_of(left)}
    equalities: list[tuple[exp.Expr, Expression]] = []
    for part in parts:
        if not isinstance(part, exp.EQ):
            continue
        sides = [bind_expression(side, on) for side in (part.this, part.expression)]
        for one, other in (sides, sides[::-1]):
            of_left = _sources(one, scope)
            if of_left and of_left <= aliases and _sources(other, scope) == {right.alias}:
                equalities.append((part, other))
    if right.kind == TABLE and len(equalities) > 1:
        equalities = [pair for pair in equalities if _is_key(pair[1], right)]
    if len(equalities) != 1:
        assert node.on is not None  # CROSS JOIN and USING are refused before
        shown = show(bind_expression(node.on, on), scope)
        reason = f"joins on multiple conditions are not yet supported. Got {shown}."
        raise failure(
            "JOIN_INVALID", node.on, reason=reason,
            hint="ON takes one = between the sides; AND may add other conditions to it.",
        )  # fmt: skip
    return equalities[0][0], [part for part in parts if part is not equalities[0][0]]


def _residual(
    node: nodes.Join, kind: str, parts: list[exp.Expr], left: Joined | BoundRelation, right: BoundRelation,
    scope: Scope,
) -> Expression | None:  # fmt: skip
    """The conditions of ON besides the equality, as one; of outer joins of tables, on the missing side.

    Raises:
        KsqlError: JOIN_INVALID: an outer join of tables, or a column of another relation; those of
            bind_predicate.
    """
    if not parts:
        return None
    bound = [bind_predicate(part, scope.at("JOIN ON")) for part in parts]
    allowed = {relation.alias for relation in (*relations_of(left), right)}
    for part, expression in zip(parts, bound, strict=True):
        if not _sources(expression, scope) <= allowed:
            raise failure("JOIN_INVALID", part, reason="ON may name the sources that are joined up to there.")
        if right.kind == left.kind == TABLE:
            _check_outer(kind, part, _sources(expression, scope), left, right)
    return reduce(lambda a, b: call("AND", (a, b), None), bound)


def _check_outer(
    kind: str, part: exp.Expr, named: set[str], left: Joined | BoundRelation, right: BoundRelation
) -> None:
    """Refuse a second condition of an outer join of tables, unless it is on the side that may be missing."""
    missing = {"LEFT": (right,), "RIGHT": relations_of(left)}.get(kind, ())
    if kind == "INNER" or (missing and named <= {relation.alias for relation in missing}):
        return
    names = " and ".join(relation.alias for relation in missing)
    which = f"of a {kind} JOIN of tables names only {names}" if missing else "of a FULL JOIN is not supported"
    raise failure(
        "JOIN_INVALID", part, reason=f"a second condition {which}.",
        hint="INNER JOIN takes any other conditions.",
    )  # fmt: skip


def conjuncts(condition: exp.Expr | None) -> list[exp.Expr]:
    """The operands of AND in a condition, left to right; a loop, because a chain may be long."""
    parts: list[exp.Expr] = []
    pending = [condition] if condition is not None else []
    while pending:
        part = pending.pop()
        while isinstance(part, exp.Paren) and isinstance(part.this, exp.And | exp.EQ | exp.Paren):
            part = part.this
        if isinstance(part, exp.And):
            pending += (part.this, part.expression)
        else:
            parts.append(part)
    return parts[::-1]


def _condition(
    node: nodes.Join, condition: exp.Expr, left: Joined | BoundRelation, right: BoundRelation, scope: Scope
) -> tuple[Expression, Expression, str]:
    """The operands of the equality of ON, the left side's first, and it as text for messages."""
    on = scope.at("JOIN ON")
    if not isinstance(condition, exp.EQ):
        raise failure("JOIN_INVALID", node.on, reason="ON must be one comparison with =.")
    bound = [bind_expression(part, on) for part in (condition.this, condition.expression)]
    texts = [show(b, scope) for b in bound]
    shown = f"{texts[0]} = {texts[1]}"
    sources = [_sources(b, scope) for b in bound]
    for aliases, text in zip(sources, texts, strict=True):
        if len(aliases) != 1:
            raise invalid(
                f"Invalid comparison expression '{text}' in join '({shown})'. "
                "Each side of the join comparision must contain references from exactly one source.",
                node.on,
            )
    first, second = (next(iter(s)) for s in sources)
    if first == second:
        raise invalid(
            "Each side of the join must reference exactly one source and not the same source. "
            f"Left side references `{first}` and right references `{second}`.",
            node.on,
        )
    left_aliases = {relation.alias for relation in relations_of(left)}
    if second == right.alias and first in left_aliases:
        return bound[0], bound[1], shown
    if first == right.alias and second in left_aliases:
        return bound[1], bound[0], shown
    raise invalid(
        f"A join criteria is expected to reference the source (`{right.alias}`) in the FROM clause, instead "
        f"the right source references `{second}` and the left source references `{first}`.",
        node.on,
    )


def show(node: Expression, scope: Scope) -> str:
    """``node`` with its columns as ALIAS.COLUMN, for messages."""

    def rename(part: Expression) -> Expression | None:
        return _Shown(scope.display(part.name), part.type) if isinstance(part, ColumnRef) else None

    return str(transform(node, rename))


@dataclass(frozen=True)
class _Shown(ColumnRef):
    """A column with another text, for messages."""

    def __str__(self) -> str:
        return self.name


def _sources(node: Expression, scope: Scope) -> set[str]:
    names = columns_in(node)
    return {
        relation.alias
        for relation in scope.relations
        if names
        & {relation.internal(n) for n in (*(c.name for c in relation.schema.columns), *relation.hidden)}
    }


def _is_key(node: Expression, relation: BoundRelation) -> bool:
    """Whether ``node`` is exactly the single key column of ``relation``."""
    key = relation.schema.key
    return len(key) == 1 and isinstance(node, ColumnRef) and node.name == relation.internal(key[0].name)


def _primary_keys(side: Joined | BoundRelation) -> frozenset[str]:
    """The columns with the primary key of a table, or of a join of tables, where these have a row."""
    if isinstance(side, BoundRelation):
        key = side.schema.key
        return frozenset({side.internal(key[0].name)} if len(key) == 1 else ())
    right = frozenset() if side.type == FOREIGN_KEY else _primary_keys(side.right)
    return _primary_keys(side.left) | right


def _check_types(node: nodes.Join, left: Expression, right: Expression, scope: Scope) -> None:
    for key in (left, right):
        if contains_variant(key.type):
            check_comparable(key.type, "JOIN", f"{show(key, scope)} ({key.type})", node.on)
    if left.type != right.type:
        got = f"{show(left, scope)}{{{left.type}}} = {show(right, scope)}{{{right.type}}}"
        raise failure(
            "JOIN_INVALID", node.on, reason=f"types don't match. Got {got}.",
            hint="Cast one side: CAST(... AS ...).",
        )  # fmt: skip


def _is_foreign_key_of_right(
    kind: str, left: BoundRelation, right: BoundRelation, left_key: Expression, right_key: Expression
) -> bool:
    """Whether the right one of two tables has the foreign key, and keeps its rows."""
    are_tables = left.kind == right.kind == TABLE
    return kind == "RIGHT" and are_tables and _is_key(left_key, left) and not _is_key(right_key, right)


def _table_join(
    node: nodes.Join, kind: str, left: Joined | BoundRelation, right: BoundRelation,
    left_key: Expression, right_key: Expression,
    shown: str, got: str,
) -> str:  # fmt: skip
    """TABLE_TABLE or FOREIGN_KEY, depending on the keys by which two tables are joined."""
    if not _is_key(right_key, right):
        raise failure(
            "JOIN_INVALID", node.on,
            reason="table-table joins require to join on the primary key of the right input table. "
            f"Got {shown}.",
        )  # fmt: skip
    if isinstance(left_key, ColumnRef) and left_key.name in _primary_keys(left):
        return TABLE_TABLE
    if isinstance(left, Joined) and left.type != FOREIGN_KEY:
        raise failure(
            "JOIN_INVALID", node.on,
            reason=f"foreign-key table-table joins are not supported as part of n-way joins. Got {shown}.",
            hint="Write them first, or put the joins before them into a sub-query in FROM.",
        )  # fmt: skip
    if kind not in FOREIGN_KEY_KINDS:
        raise invalid(
            f"Invalid join type: {kind.lower()}-outer join not supported for foreign-key table-table "
            f"join. {got}",
            node,
        )
    if relations_of(left)[0].window or right.window:
        raise invalid("Foreign-key table-table joins are not supported on windowed tables.", node)
    return FOREIGN_KEY


def _grace_ms(node: nodes.Join, left: Joined | BoundRelation, right: BoundRelation) -> int | None:
    """The grace period of FOR SYSTEM_TIME AS OF, ms; None without the clause, and with CURRENT_TIMESTAMP."""
    clause = node.system_time
    if clause is None:
        return None
    if (left.kind, right.kind) != (STREAM, TABLE):
        raise invalid("FOR SYSTEM_TIME AS OF is for joins of a stream with a table on the right.", clause)
    if clause.this.name == CURRENT_TIMESTAMP and not clause.this.table:
        if clause.grace is not None:
            raise invalid(
                "FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP takes no GRACE PERIOD: rows only wait for what the "
                "table's topic has.", clause.grace,
            )  # fmt: skip
        return None
    alias = _row_time_of(left)
    if alias is None:
        raise invalid(
            "FOR SYSTEM_TIME AS OF cannot follow a stream-stream join: its rows have the later time of both.",
            clause, hint="Put that join into a sub-query x, and use x.ROWTIME.",
        )  # fmt: skip
    if clause.this.name != ROWTIME or clause.this.table not in ("", alias):
        raise invalid(
            f"FOR SYSTEM_TIME AS OF takes the time of the stream's rows, {alias}.{ROWTIME}, "
            f"or {CURRENT_TIMESTAMP}.",
            clause.this, hint="TIMESTAMP of the stream's WITH makes a column its ROWTIME.",
        )  # fmt: skip
    if clause.grace is None:
        raise invalid(
            "FOR SYSTEM_TIME AS OF needs a GRACE PERIOD: how long rows wait for the row of their time.",
            clause, hint="For instance: GRACE PERIOD 10 SECONDS.",
        )  # fmt: skip
    return clause.grace.milliseconds


def _row_time_of(side: Joined | BoundRelation) -> str | None:
    """The alias of the stream whose time a row of ``side`` has; None if it is the later one of two."""
    if isinstance(side, BoundRelation):
        return side.alias
    return _row_time_of(side.left) if side.type in (STREAM_TABLE, REPLICATED) else None


def _within(node: nodes.Join, rule: JoinRule, left: str, right: str) -> WithinSpec | None:
    within = node.within
    if not rule.within:
        if within is not None:
            pair = f"{left.title()}-{right.title()}"
            raise invalid(
                f"A window definition was provided for a {pair} join. These joins are not windowed. "
                "Please remove the window definition (ie. the WITHIN clause).",
                within,
            )
        return None
    if within is None and node.kind == "INNER":
        return None  # all rows are kept (ADR 73)
    if within is None:
        raise invalid(
            f"Stream-Stream joins must have a WITHIN clause specified. None was provided. Only INNER JOIN "
            f"needs none: in a {node.kind} JOIN, no row would ever be known to have no partner.", node,
            hint="For instance: WITHIN 1 HOUR.",
        )  # fmt: skip
    grace = within.grace.milliseconds if within.grace is not None else None
    before, after = within.before.milliseconds, within.after.milliseconds
    # a RIGHT join is a LEFT join with its inputs exchanged, but not (before, after): they are relative to the
    # right record (reference §6.5)
    return WithinSpec(after, before, grace) if node.kind == "RIGHT" else WithinSpec(before, after, grace)


def mirrored_withins(statement: nodes.Node) -> tuple[str, ...]:
    """A sentence for each WITHIN (before, after) of a RIGHT join, which is relative to the right record."""
    return tuple(
        "WITHIN (before, after) of a RIGHT JOIN counts from the record of the right side, as in ksqlDB: the "
        "left one may come so much before and after it. Conditions on both ROWTIMEs in ON instead of WITHIN "
        "leave no doubt."
        for join in statement.find_all(nodes.Join)
        if join.kind == "RIGHT" and join.within is not None and _is_uneven(join.within)
    )


def _is_uneven(within: nodes.Within) -> bool:
    return within.before.milliseconds != within.after.milliseconds


def check_partitions(node: exp.Expr, left: BoundRelation, right: BoundRelation) -> None:
    """Check that both topics have the same number of partitions, if both are known (reference §6.4).

    Raises:
        KsqlError: INVALID_STATEMENT at ``node``.
    """
    first = left.source
    second = right.source
    if first is None or second is None or None in (first.partitions, second.partitions):
        return
    if first.partitions != second.partitions:
        raise invalid(
            f"Can't join `{first.name}` with `{second.name}` since the number of partitions don't match. "
            f"`{first.name}` partitions = {first.partitions}; "
            f"`{second.name}` partitions = {second.partitions}. "
            "Please repartition either one so that the number of partitions match.",
            node,
            hint="For instance: CREATE STREAM copy WITH (PARTITIONS = n) AS SELECT ...",
        )


def _check_windows(
    node: nodes.Join,
    left: Joined | BoundRelation,
    right: BoundRelation,
    left_key: Expression,
    right_key: Expression,
) -> None:
    """Check that a windowed side joins another windowed side by its keys (reference §2.7)."""
    first = relations_of(left)[0]

    def described(relation: BoundRelation) -> str:
        windowed = f"{relation.window.kind} windowed" if relation.window else "not windowed"
        return f"`{relation.alias}` is {windowed}"

    if bool(first.window) != bool(right.window):
        raise invalid(
            f"Can not join windowed source to non-windowed source.\n{described(first)}\n{described(right)}",
            node,
        )
    if first.window is None or right.window is None:
        return
    if (first.window.kind == "SESSION") != (right.window.kind == "SESSION"):
        raise invalid(
            "Incompatible windowed sources: SESSION windows can only be joined with SESSION windows.\n"
            f"{described(first)}\n{described(right)}",
            node,
        )
    if first.window != right.window:
        raise invalid(
            "Implicit repartitioning of windowed sources is not supported.", node,
            hint="Both sides need windows of the same type and size.",
        )  # fmt: skip
    left_is_key = any(_is_key(left_key, relation) for relation in relations_of(left))
    if not left_is_key or not _is_key(right_key, right):
        raise invalid("Implicit repartitioning of windowed sources is not supported.", node.on)
