"""The syntax tree of KSQL: every node class that `grammar.parse` can return.

Expressions are sqlglot's own classes where possible; relations, queries and statements are
our own classes. All are immutable by convention. `grammar/README.md` lists the whole tree.
Statement classes live in `grammar/statements/<family>.py`; they all derive from `Statement` below.

Trees know no sources, column types or functions: a name is just a name.
"""

from __future__ import annotations

import decimal
import re
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, cast, overload

from sqlglot import exp

T = TypeVar("T")
ArgT = TypeVar("ArgT")


class Position(NamedTuple):
    """A position in a text: line and column from 1, length in characters (it may span lines)."""

    line: int
    column: int
    length: int = 1


class Arg(Generic[T]):
    """Declares one argument of a `Node` and reads it: ``left = Arg[Relation](required=True)``.

    The declaration order is the order of `arg_types`. A missing argument reads as `default`;
    ``default=list`` as a fresh empty list.
    """

    def __init__(self, *, required: bool = False, default: Any = None) -> None:
        self.required = required
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self: Arg[ArgT], node: None, owner: type) -> Arg[ArgT]: ...
    @overload
    def __get__(self: Arg[ArgT], node: exp.Expression, owner: type) -> ArgT: ...
    def __get__(self, node: exp.Expression | None, owner: type) -> Any:
        if node is None:
            return self
        value = node.args.get(self.name)
        if value is not None:
            return value
        return [] if self.default is list else self.default


class Node(exp.Expression):
    """Base of our node classes; `Arg` declarations (also of base classes) are the `arg_types`."""

    arg_types: ClassVar[dict[str, bool]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        bases = reversed(cls.__mro__)
        declared = {k: v for base in bases for k, v in vars(base).items() if isinstance(v, Arg)}
        cls.arg_types = {name: arg.required for name, arg in declared.items()}
        super().__init_subclass__(**kwargs)


def position(node: exp.Expr | TypeNode | TypeField | TimeSpan | Window | Within | Frame) -> Position | None:
    """The position of ``node`` in its statement's text (`Statement.source_text`), or None if it was
    not parsed. `Statement.absolute` converts it to a position in the whole text."""
    if isinstance(node, exp.Expr):
        meta = node._meta
        return None if meta is None else cast("Position | None", meta.get("position"))
    return node.position


# ------------------------------------------------------------------------------------- types


@dataclass(frozen=True)
class TypeField:
    """One field of a STRUCT type."""

    name: str
    type: TypeNode
    quoted: bool = field(default=False, compare=False)
    position: Position | None = field(default=None, compare=False)


@dataclass(frozen=True)
class TypeNode:
    """A type as written (reference §3.1). Nothing is resolved: a custom type is just its name.

    Attributes:
        name: in upper case (INT stays INT, VARCHAR stays VARCHAR), as typed if it was quoted.
            ARRAY, MAP, STRUCT and DECIMAL have a structure of their own.
        parameters: what was in parentheses: DECIMAL(p, s) -> (p, s), VARCHAR(10) -> (10,),
            VARCHAR(STRING) -> ("STRING",).
        arguments: ARRAY<T> -> (T,), MAP<K, V> -> (K, V), else ().
        fields: of a STRUCT, else ().
        quoted: the name was quoted, so it is a custom type even when it spells a built-in one.
    """

    name: str
    parameters: tuple[int | str, ...] = ()
    arguments: tuple[TypeNode, ...] = ()
    fields: tuple[TypeField, ...] = ()
    quoted: bool = False
    position: Position | None = field(default=None, compare=False)

    @property
    def element(self) -> TypeNode:
        """The element type of an ARRAY."""
        return self.arguments[0]

    @property
    def key(self) -> TypeNode:
        """The key type of a MAP."""
        return self.arguments[0]

    @property
    def value(self) -> TypeNode:
        """The value type of a MAP."""
        return self.arguments[1]


# ------------------------------------------------------------------------- times and windows

_UNIT_MS = {
    "MILLISECONDS": 1, "SECONDS": 1_000, "MINUTES": 60_000, "HOURS": 3_600_000, "DAYS": 86_400_000,
    "WEEKS": 7 * 86_400_000, "MONTHS": 31 * 86_400_000, "YEARS": 366 * 86_400_000,
}  # fmt: skip


@dataclass(frozen=True)
class TimeSpan:
    """``10 SECONDS``: an amount (>= 0) and a unit, always in the plural (reference §2.6)."""

    amount: int
    unit: str
    position: Position | None = field(default=None, compare=False)

    @property
    def milliseconds(self) -> int:
        """The length in milliseconds; of months and years, that of the longest."""
        return self.amount * _UNIT_MS[self.unit]


@dataclass(frozen=True)
class Window:
    """The WINDOW clause (reference §2.6); ``kind`` is TUMBLING, HOPPING, CUMULATIVE, SLIDING or SESSION.

    ``size`` is a session's inactivity gap; ``advance`` is set for HOPPING only, ``step`` for CUMULATIVE.
    ``zone`` and ``offset`` are TIME ZONE and OFFSET (beyond ksqlDB).
    """

    kind: str
    size: TimeSpan
    advance: TimeSpan | None = None
    retention: TimeSpan | None = None
    grace: TimeSpan | None = None
    position: Position | None = field(default=None, compare=False)
    step: TimeSpan | None = None
    zone: exp.Literal | None = None
    offset: TimeSpan | None = None


@dataclass(frozen=True)
class Within:
    """WITHIN of a join: ``WITHIN n u`` has ``before == after``; ``grace`` from GRACE PERIOD."""

    before: TimeSpan
    after: TimeSpan
    grace: TimeSpan | None = None
    position: Position | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Frame:
    """``ROWS BETWEEN n PRECEDING AND m PRECEDING``: None is UNBOUNDED, 0 the CURRENT ROW, -n n FOLLOWING.

    Or ``RANGE …`` with the same bounds, or ``RANGE INTERVAL time PRECEDING``, if there is ``time``.
    """

    first: int | None
    last: int | None = 0
    position: Position | None = field(default=None, compare=False)
    time: TimeSpan | None = None
    is_range: bool = False


# ------------------------------------------------------------------------------- expressions
# sqlglot's: Identifier, Column, Literal (string), Boolean, Null, Star, Paren, Neg, Add, Sub, Mul,
# Div, Mod, DPipe, EQ, NEQ, LT, LTE, GT, GTE, NullSafeNEQ (IS DISTINCT FROM), NullSafeEQ (IS NOT
# DISTINCT FROM), Is (with Null), In, Between, Not, And, Or, Case (ifs of If), Cast (to: TypeNode).


class IntegerLiteral(exp.Literal):
    """``42``: at most 2**63 (that one only below a Neg); the binder chooses INT or BIGINT."""

    @property
    def value(self) -> int:
        """The number."""
        return int(self.args["this"])


class DecimalLiteral(exp.Literal):
    """``1.5``, ``1.``, ``.5``; with ``typed``: ``DECIMAL '1.5'``. The text is kept as written."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "is_string": True, "typed": False}

    @property
    def value(self) -> decimal.Decimal:
        """The number, with all its digits."""
        return decimal.Decimal(self.args["this"])


class FloatLiteral(exp.Literal):
    """``1.5E0``: a DOUBLE, finite."""

    @property
    def value(self) -> float:
        """The number."""
        return float(self.args["this"])


class Pos(exp.Unary):
    """``+x``."""


class Like(exp.Like):
    """``this LIKE expression [ESCAPE 'c']``; ``escape`` is a string literal or None."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True, "escape": False}

    @property
    def escape(self) -> exp.Literal | None:
        """The ESCAPE literal."""
        return cast("exp.Literal | None", self.args.get("escape"))


class FunctionCall(Node, exp.Condition):
    """Any call: ``name(arguments… [ORDER BY …]) [WITHIN GROUP (ORDER BY …)] [FILTER (WHERE condition)]``.

    COUNT(*) has one argument, exp.Star. Lambdas are arguments like any other. Interval units as bare
    arguments (DAYS) are columns. ``within_group``: the ORDER BY follows WITHIN GROUP.
    """

    this = Arg[exp.Identifier](required=True)
    arguments = Arg[list[exp.Expr]](default=list)
    distinct = Arg[bool](default=False)
    order_by = Arg["list[OrderItem]"](default=list)
    within_group = Arg[bool](default=False)
    condition = Arg[exp.Expr | None]()

    @property
    def name(self) -> str:
        """The function's name in upper case."""
        return str(self.args["this"].this).upper()


class WindowFunction(Node, exp.Condition):
    """``call OVER ([PARTITION BY e, …] [ORDER BY e, …] [ROWS …])`` (beyond ksqlDB)."""

    this = Arg[FunctionCall](required=True)
    partition_by = Arg[list[exp.Expr]](default=list)
    order_by = Arg["list[OrderItem]"](default=list)
    frame = Arg[Frame | None]()


class Exists(Node, exp.Condition):
    """``EXISTS (query)`` (beyond ksqlDB); NOT is an exp.Not around it."""

    query = Arg["QueryNode"](required=True)


class InQuery(Node, exp.Condition):
    """``this IN (query)`` (beyond ksqlDB); NOT is an exp.Not around it."""

    this = Arg[exp.Expr](required=True)
    query = Arg["QueryNode"](required=True)


class ScalarQuery(Node, exp.Condition):
    """``(query)`` as a value (beyond ksqlDB)."""

    query = Arg["QueryNode"](required=True)


class Dereference(Node, exp.Condition):
    """``this->field``."""

    this = Arg[exp.Expr](required=True)
    field = Arg[exp.Identifier](required=True)

    @property
    def field_name(self) -> str:
        """The field's name (folded unless quoted)."""
        return str(self.field.this)


class Subscript(Node, exp.Condition):
    """``this[index]``."""

    this = Arg[exp.Expr](required=True)
    index_expression = Arg[exp.Expr](required=True)


class Interval(Node, exp.Condition):
    """``INTERVAL 1 DAY``, ``INTERVAL '1 DAY 2 HOURS'``: amounts and their units, as plurals."""

    amounts = Arg[list[int]](required=True)
    units = Arg[list[str]](required=True)


def _step_text(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    is_bare = re.fullmatch("[A-Za-z_][A-Za-z0-9_@]*", step)
    return f".{step}" if is_bare else "['" + step.replace("'", "''") + "']"


class JsonPath(Node, exp.Condition):
    """``this:name.name[0]['name']``: a value in JSON text; steps are names and indexes of arrays."""

    this = Arg[exp.Expr](required=True)
    steps = Arg[list[str | int]](required=True)

    @property
    def path(self) -> str:
        """The path as KSQL."""
        parts = [_step_text(step) for step in self.steps]
        return "".join(parts).removeprefix(".")


class ArrayConstructor(Node, exp.Condition):
    """``ARRAY[e, …]``."""

    elements = Arg[list[exp.Expr]](default=list)


class MapEntry(Node):
    """``key := value`` in MAP(…)."""

    map_key = Arg[exp.Expr](required=True)
    value = Arg[exp.Expr](required=True)


class MapConstructor(Node, exp.Condition):
    """``MAP(k := v, …)``."""

    entries = Arg[list[MapEntry]](default=list)


class StructField(Node):
    """``name := value`` in STRUCT(…)."""

    this = Arg[exp.Identifier](required=True)
    value = Arg[exp.Expr](required=True)


class StructConstructor(Node, exp.Condition):
    """``STRUCT(f := e, …)``."""

    fields = Arg[list[StructField]](default=list)


class Lambda(Node, exp.Condition):
    """``(x, y) => body``; the parameters appear in ``body`` as unqualified columns."""

    parameters = Arg[list[exp.Identifier]](required=True)
    body = Arg[exp.Expr](required=True)


# --------------------------------------------------------------------------------- relations


class Relation(Node):
    """A relation of FROM: AliasedSource, LogOf, Join, MatchRecognize or SubQuery."""


class AliasedSource(Relation):
    """``name [[AS] alias]``."""

    this = Arg[exp.Identifier](required=True)
    alias_identifier = Arg[exp.Identifier | None]()

    @property
    def source_name(self) -> str:
        """The stream's or table's (or CTE's) name."""
        return str(self.args["this"].this)

    @property
    def alias_name(self) -> str:
        """The alias, or the source's name if there is none."""
        return str((self.alias_identifier or self.args["this"]).this)


class PastSource(AliasedSource):
    """Rows of a table that are not its current ones (beyond ksqlDB), each with ``[[AS] alias]``:
    ``name AS OF TIMESTAMP moment``, ``name AS OF POSITION position``, ``CHANGES(name) BETWEEN moment AND
    moment``, and in VERIFY ``OLD(name)`` and ``NEW(name)``. ``which`` is AS OF, CHANGES, OLD or NEW; a moment
    is a text or epoch milliseconds, a position a text.
    """

    which = Arg[str](required=True)
    moments = Arg[list[exp.Expr]]()
    position = Arg[exp.Expr | None]()

    @property
    def alias_name(self) -> str:
        """The alias, or else OLD or NEW, or the table's name."""
        if self.alias_identifier is not None:
            return str(self.alias_identifier.this)
        return self.which if self.which in ("OLD", "NEW") else self.source_name


class SubQuery(Relation):
    """``[LATERAL] (query) [[AS] alias [(column, …)]]`` (beyond ksqlDB)."""

    query = Arg["QueryNode"](required=True)
    alias_identifier = Arg[exp.Identifier | None]()
    columns = Arg[list[exp.Identifier]](default=list)
    lateral = Arg[bool](default=False)

    @property
    def alias_name(self) -> str | None:
        """The alias, if there is one."""
        return None if self.alias_identifier is None else str(self.alias_identifier.this)


class LogOf(Relation):
    """Entries of the processing log about a query: ErrorsOf or LateRowsOf (beyond ksqlDB)."""

    #: the words before the query's id
    words: ClassVar[str]
    #: the relation's name without an alias
    default_alias: ClassVar[str]
    this = Arg[exp.Identifier](required=True)
    alias_identifier = Arg[exp.Identifier | None]()

    @property
    def query_id(self) -> str:
        """The query's id, as it was typed."""
        return str(self.args["this"].this)

    @property
    def alias_name(self) -> str:
        """The alias, or a name for the kind of entries if there is none."""
        return self.default_alias if self.alias_identifier is None else str(self.alias_identifier.this)


class ErrorsOf(LogOf):
    """``ERRORS OF query_id [[AS] alias]``."""

    words, default_alias = "ERRORS OF", "ERRORS"


class LateRowsOf(LogOf):
    """``LATE ROWS OF query_id [[AS] alias]``."""

    words, default_alias = "LATE ROWS OF", "LATE_ROWS"


class Pattern(Node):
    """A pattern of MATCH_RECOGNIZE: a PatternSymbol, PatternSequence, PatternChoice or PatternRepeat."""


class PatternSymbol(Pattern):
    """``A``: one row."""

    this = Arg[exp.Identifier](required=True)

    @property
    def symbol(self) -> str:
        """The symbol's name (folded unless quoted)."""
        return str(self.args["this"].this)


class PatternSequence(Pattern):
    """``A B``: one part after the other."""

    parts = Arg[list[Pattern]](default=list)


class PatternChoice(Pattern):
    """``A | B``: the first part that leads to a match."""

    parts = Arg[list[Pattern]](default=list)


class PatternRepeat(Pattern):
    """``A{2,3}``, ``A*``, ``A+``, ``A?``, with ``?`` after it as rarely as possible; ``most`` None: any."""

    this = Arg[Pattern](required=True)
    least = Arg[int](required=True)
    most = Arg[int | None]()
    reluctant = Arg[bool](default=False)


class Definition(Node):
    """``A AS condition`` of DEFINE."""

    this = Arg[exp.Identifier](required=True)
    condition = Arg[exp.Expr](required=True)

    @property
    def symbol(self) -> str:
        """The symbol's name."""
        return str(self.args["this"].this)


class MatchValue(Node, exp.Condition):
    """``FINAL call`` or ``RUNNING call`` in MEASURES."""

    this = Arg[FunctionCall](required=True)
    is_final = Arg[bool](default=False)


class MatchRecognize(Relation):
    """``relation MATCH_RECOGNIZE (…) [[AS] alias]`` (beyond ksqlDB).

    ``skip`` is PAST LAST ROW, TO NEXT ROW, TO FIRST or TO LAST, the last two with the symbol ``skip_to``.
    """

    relation = Arg[Relation](required=True)
    partition_by = Arg[list[exp.Expr]](default=list)
    order_by = Arg["list[OrderItem]"](default=list)
    measures = Arg["list[SelectItem]"](default=list)
    all_rows = Arg[bool](default=False)
    skip = Arg[str](required=True)
    skip_to = Arg[exp.Identifier | None]()
    pattern = Arg[Pattern](required=True)
    within = Arg[TimeSpan | None]()
    definitions = Arg[list[Definition]](default=list)
    alias_identifier = Arg[exp.Identifier | None]()

    @property
    def alias_name(self) -> str:
        """The alias, or MATCHES if there is none."""
        return "MATCHES" if self.alias_identifier is None else str(self.alias_identifier.this)


class SystemTime(Node):
    """``FOR SYSTEM_TIME AS OF column [GRACE PERIOD time]`` of a joined table (beyond ksqlDB)."""

    this = Arg[exp.Column](required=True)
    grace = Arg[TimeSpan | None]()


class Join(Relation):
    """``left kind JOIN right [WITHIN …] ON condition``, or ``USING (column, …)``; they nest on the left.

    ``natural``: it is ``NATURAL JOIN``, of all columns with names that both sides have.

    ``kind`` is INNER, LEFT, RIGHT, FULL or CROSS, which alone has neither ``on`` nor ``using``. With
    ``system_time``, ``right`` is an AliasedSource.
    """

    left = Arg[Relation](required=True)
    right = Arg[Relation](required=True)
    kind = Arg[str](required=True)
    within = Arg[Within | None]()
    on = Arg[exp.Expr | None]()
    using = Arg[list[exp.Identifier]](default=list)
    natural = Arg[bool](default=False)
    system_time = Arg[SystemTime | None]()


class Unnest(Relation):
    """``left CROSS JOIN UNNEST(array) [WITH ORDINALITY] AS alias (column, …)`` (beyond ksqlDB).

    ``columns``: the name of the elements, then with ``ordinality`` that of their numbers.
    """

    left = Arg[Relation](required=True)
    array = Arg[exp.Expr](required=True)
    ordinality = Arg[bool](default=False)
    alias_identifier = Arg[exp.Identifier](required=True)
    columns = Arg[list[exp.Identifier]](required=True)

    @property
    def alias_name(self) -> str:
        """The alias."""
        return str(self.alias_identifier.this)


# ----------------------------------------------------------------------------------- queries


class SelectItem(Node):
    """``expression [[AS] alias]``."""

    this = Arg[exp.Expr](required=True)
    alias_identifier = Arg[exp.Identifier | None]()

    @property
    def alias_name(self) -> str | None:
        """The alias as typed (folded unless quoted), or None."""
        return None if self.alias_identifier is None else str(self.alias_identifier.this)


class AllColumns(Node):
    """``*`` or ``source.*``."""

    source = Arg[exp.Identifier | None]()

    @property
    def source_name(self) -> str | None:
        """The qualifier, or None for a bare ``*``."""
        return None if self.source is None else str(self.source.this)


class AllFields(Node):
    """``struct->*``."""

    this = Arg[exp.Expr](required=True)


class CommonTable(Node):
    """``name [(column, …)] AS (query)`` in WITH (beyond ksqlDB)."""

    this = Arg[exp.Identifier](required=True)
    columns = Arg[list[exp.Identifier]](default=list)
    query = Arg["QueryNode"](required=True)

    @property
    def table_name(self) -> str:
        """The query's name."""
        return str(self.args["this"].this)


class OrderItem(Node):
    """``expression [ASC | DESC] [NULLS FIRST | LAST]``; ``nulls`` is FIRST, LAST or None."""

    this = Arg[exp.Expr](required=True)
    descending = Arg[bool](default=False)
    nulls = Arg[str | None]()


class QueryNode(Node):
    """A Select, SetOperation or Values, with WITH, EMIT, ORDER BY, LIMIT and OFFSET.

    ``emit`` is None, "CHANGES" or "FINAL".
    """

    ctes = Arg[list[CommonTable]](default=list)
    order_by = Arg[list[OrderItem]](default=list)
    emit = Arg[str | None]()
    every = Arg[TimeSpan | None]()
    limit = Arg[int | None]()
    offset = Arg[int | None]()


class GroupingSet(Node):
    """A grouping set, or what ROLLUP and CUBE treat as one column: ``a``, ``(a, b)`` or ``()``."""

    expressions = Arg[list[exp.Expr]](default=list)


class GroupingSets(Node):
    """``GROUPING SETS (…)``, ``ROLLUP (…)`` or ``CUBE (…)`` in GROUP BY (beyond ksqlDB).

    ``kind`` is GROUPING SETS, ROLLUP or CUBE.
    """

    kind = Arg[str](required=True)
    sets = Arg[list[GroupingSet]](required=True)


class Select(QueryNode):
    """One SELECT (reference §2.5); absent clauses are None or empty, FROM too (beyond ksqlDB).

    ``distinct_on``: the list of DISTINCT ON; ``within``: the WITHIN after FROM; ``join_within``: one with two
    bounds or GRACE PERIOD, which only the sub-query of EXISTS or IN can have (all beyond ksqlDB).
    """

    distinct = Arg[bool](default=False)
    distinct_on = Arg[list[exp.Expr]](default=list)
    items = Arg["list[SelectItem | AllColumns | AllFields]"](required=True)
    relation = Arg[Relation | None]()
    within = Arg[TimeSpan | None]()
    join_within = Arg[Within | None]()
    window = Arg[Window | None]()
    where = Arg[exp.Expr | None]()
    group_by = Arg[list[exp.Expr]](default=list)
    partition_by = Arg[list[exp.Expr]](default=list)
    having = Arg[exp.Expr | None]()
    qualify = Arg[exp.Expr | None]()


class SetOperation(QueryNode):
    """``left UNION ALL right`` (beyond ksqlDB); its EMIT, ORDER BY and LIMIT apply to the whole.

    ``operator`` is UNION, EXCEPT or INTERSECT, with or without ALL.
    """

    operator = Arg[str](required=True)
    left = Arg[QueryNode](required=True)
    right = Arg[QueryNode](required=True)


class ValuesRow(Node):
    """``(value, …)`` of VALUES."""

    expressions = Arg[list[exp.Expr]](default=list)


class Values(QueryNode):
    """``VALUES (value, …), …`` (beyond ksqlDB)."""

    rows = Arg[list[ValuesRow]](required=True)


# -------------------------------------------------------------------------------- statements


class Statement(Node):
    """One whole statement. Concrete classes live in `grammar.statements`."""

    @property
    def source_text(self) -> str:
        """The statement's own text after variable substitution, without the ``;``; "" if not parsed."""
        return str(self.meta_get("text", ""))

    @property
    def origin(self) -> Position:
        """The position of `source_text` in the whole text that was parsed."""
        return cast(Position, self.meta_get("origin", Position(1, 1, 0)))

    def absolute(self, place: Position) -> Position:
        """A position in `source_text` as a position in the whole text."""
        return shifted(place, self.origin)


def shifted(place: Position, origin: Position) -> Position:
    """``place``, relative to a text that starts at ``origin``, as a position in the text around it."""
    column = place.column + origin.column - 1 if place.line == 1 else place.column
    return Position(place.line + origin.line - 1, column, place.length)


class NamedStatement(Statement):
    """A statement with a name; ``name`` is in upper case unless quoted."""

    this = Arg[exp.Identifier](required=True)

    @property
    def name(self) -> str:
        """The name (source, type, connector …)."""
        return str(self.args["this"].this)


class Assignment(Node):
    """``column = value`` of UPDATE … SET."""

    this = Arg[exp.Identifier](required=True)
    value = Arg[exp.Expr](required=True)


class CheckConstraint(Node):
    """``[CONSTRAINT label] CHECK (condition)``; beyond ksqlDB."""

    this = Arg[exp.Expr](required=True)
    label = Arg[exp.Identifier | None]()


class ColumnDefinition(Node):
    """``name type [KEY | PRIMARY KEY | HEADERS | HEADER('k') | TOPIC] [NOT NULL] [CHECK (condition)] …``.

    ``constraint`` is None or one of KEY, PRIMARY KEY, HEADERS, HEADER, TOPIC; ``header`` is the
    string literal of HEADER('k'). TOPIC, NOT NULL and CHECK are beyond ksqlDB.
    """

    this = Arg[exp.Identifier](required=True)
    data_type = Arg[TypeNode](required=True)
    constraint = Arg[str | None]()
    header = Arg[exp.Literal | None]()
    not_null = Arg[bool](default=False)
    checks = Arg[list[CheckConstraint]](default=list)

    @property
    def name(self) -> str:
        """The column's name."""
        return str(self.args["this"].this)

    @property
    def header_key(self) -> str | None:
        """The k of HEADER('k')."""
        return None if self.header is None else str(self.header.this)


PropertyValue = str | int | float | decimal.Decimal | bool | None


class Property(Node):
    """``name = literal`` in WITH (…)."""

    this = Arg[exp.Identifier | exp.Literal](required=True)
    literal = Arg[exp.Expr](required=True)

    @property
    def name(self) -> str:
        """The name: a bare one in upper case, a quoted or string one as typed."""
        return str(self.args["this"].this)

    @property
    def value(self) -> PropertyValue:
        """The literal as a Python value."""
        return literal_value(self.literal)


def literal_value(node: exp.Expr) -> PropertyValue:
    """The Python value of a literal node: str, int, Decimal, float, bool or None.

    Raises:
        ValueError: ``node`` is not a literal.
    """
    match node:
        case IntegerLiteral() | DecimalLiteral() | FloatLiteral():
            return node.value
        case exp.Literal():
            return str(node.this)
        case exp.Boolean():
            return bool(node.this)
        case exp.Null():
            return None
        case exp.Neg():
            value = literal_value(node.this)
            if isinstance(value, int | float | decimal.Decimal):
                return -value
    raise ValueError(f"{node.key} is not a literal")


def property_values(properties: list[Property]) -> dict[str, PropertyValue]:
    """Properties as a dict, names in upper case (they are case-insensitive, reference §2.1).

    Duplicates are refused by the parser, except in connectors, whose names keep their case.
    """
    return {p.name.upper(): p.value for p in properties}
