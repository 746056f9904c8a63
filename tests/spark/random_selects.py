"""Random SELECTs that mean the same to KSQL and to DuckDB, by seed.

NULL has the standard's meaning (``ksql.sql.nulls`` = ansi). Where the languages differ the two texts differ:
SUM and AVG of no values are 0 in KSQL.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

#: the columns of each table, the first is its key
COLUMNS = {
    "k": "INT", "i": "INT", "n": "BIGINT", "d": "DOUBLE", "m": "DECIMAL(9, 2)", "s": "STRING", "f": "BOOLEAN",
    "ts": "TIMESTAMP", "dt": "DATE", "t": "TIME",
}  # fmt: skip
TABLES = ("a", "b", "c")
LITERALS: dict[str, Sequence[str]] = {
    "INT": ("-1", "0", "1", "2", "3"),
    "BIGINT": ("CAST(1 AS BIGINT)", "CAST(2 AS BIGINT)"),
    "DOUBLE": ("0.5E0", "1E0", "-2E0"),
    "DECIMAL(9, 2)": ("CAST(1.25 AS DECIMAL(9, 2))", "CAST(0.50 AS DECIMAL(9, 2))"),
    "STRING": ("'a'", "'b'", "''", "'ab'"),
    "BOOLEAN": ("TRUE", "FALSE"),
    "TIMESTAMP": ("CAST('2024-01-02T03:04:05' AS TIMESTAMP)",),
    "DATE": ("CAST('2024-01-02' AS DATE)",),
    "TIME": ("CAST('03:04:05' AS TIME)",),
}
NUMBERS = ("INT", "BIGINT", "DOUBLE")


@dataclass(frozen=True)
class Both:
    """A text in KSQL and in DuckDB's SQL."""

    ksql: str
    duckdb: str

    @classmethod
    def of(cls, text: str) -> Both:
        """A text that both take."""
        return cls(text, text)

    @classmethod
    def made(cls, make: Callable[..., str], *parts: Both) -> Both:
        """A text of parts."""
        return cls(make(*(p.ksql for p in parts)), make(*(p.duckdb for p in parts)))


def joined(parts: Sequence[Both], separator: str = ", ") -> Both:
    return Both(separator.join(p.ksql for p in parts), separator.join(p.duckdb for p in parts))


@dataclass
class Columns:
    """The columns in FROM: type -> texts; and those of the query around a sub-query."""

    by_type: dict[str, list[str]] = field(default_factory=dict)
    outer: Columns | None = None

    def add(self, text: str, type_: str) -> None:
        self.by_type.setdefault(type_, []).append(text)

    @property
    def all(self) -> list[tuple[str, str]]:
        return [(text, type_) for type_, texts in self.by_type.items() for text in texts]


class Generator:
    """Makes SELECTs; equal seeds make equal ones."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def name(self) -> str:
        self.names += 1
        return f"x{self.names}"

    # ---- expressions ----------------------------------------------------------------------------------

    def value(self, type_: str, columns: Columns, depth: int = 2) -> Both:
        own = columns.by_type.get(type_, [])
        outer = columns.outer.by_type.get(type_, []) if columns.outer is not None else []
        choice = self.random.random()
        if outer and choice < 0.15:
            return Both.of(self.random.choice(outer))
        if own and (choice < 0.6 or depth == 0):
            return Both.of(self.random.choice(own))
        if depth == 0 or choice < 0.7:
            return Both.of(self.random.choice(LITERALS[type_]))
        if choice < 0.8:
            parts = [self.value(type_, columns, depth - 1) for _ in range(2)]
            return Both.made("COALESCE({}, {})".format, *parts)
        if choice < 0.9 or type_ not in NUMBERS:
            parts = [self.value(type_, columns, depth - 1) for _ in range(2)]
            condition = self.condition(columns, depth - 1)
            return Both.made("CASE WHEN {} THEN {} ELSE {} END".format, condition, *parts)
        if choice < 0.95:
            parts = [self.value(type_, columns, depth - 1) for _ in range(2)]
            return Both.made(f"({{}} {self.random.choice('+-')} {{}})".format, *parts)
        if columns.outer is None:
            return self.scalar_query(type_, columns)
        return Both.of(self.random.choice(LITERALS[type_]))

    def scalar_query(self, type_: str, columns: Columns) -> Both:
        alias = self.name()
        inner = Columns(outer=columns if self.chance(0.6) else None)
        for name, each in COLUMNS.items():
            inner.add(f"{alias}.{name}", each)
        argument = self.value(type_, Columns(inner.by_type), 0)
        function = "MAX" if type_ != "BOOLEAN" else "BOOL_AND"
        text = f"(SELECT {function}({{}}) FROM {self.random.choice(TABLES)} {alias} WHERE {{}})"
        return Both.made(text.format, argument, self.condition(inner, 1))

    def condition(self, columns: Columns, depth: int = 2) -> Both:
        choice = self.random.random()
        type_ = self.random.choice([t for t in columns.by_type]) if columns.by_type else "INT"
        if depth > 0 and choice < 0.3:
            parts = [self.condition(columns, depth - 1) for _ in range(2)]
            return Both.made(f"({{}} {self.random.choice(('AND', 'OR'))} {{}})".format, *parts)
        if depth > 0 and choice < 0.4:
            return Both.made("NOT ({})".format, self.condition(columns, depth - 1))
        if choice < 0.5:
            negation = "NOT " * self.chance(0.5)
            return Both.made(f"{{}} IS {negation}NULL".format, self.value(type_, columns, 0))
        if choice < 0.6 and type_ != "BOOLEAN":
            members = [self.value(type_, Columns(), 0) for _ in range(self.random.randint(1, 3))]
            negation = "NOT " * self.chance(0.3)
            return Both.made(
                f"{{}} {negation}IN ({{}})".format, self.value(type_, columns, 0), joined(members)
            )
        if choice < 0.67 and type_ not in ("BOOLEAN", "STRING"):
            parts = [self.value(type_, columns, 0) for _ in range(3)]
            return Both.made("{} BETWEEN {} AND {}".format, *parts)
        if choice < 0.78 and columns.outer is None and depth > 0:
            return self.sub_query_condition(type_, columns)
        if choice < 0.82:
            pattern = self.random.choice(("'a%'", "'%b'", "'_'"))
            return Both.made(f"{{}} LIKE {pattern}".format, self.value("STRING", columns, 0))
        operators = ("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
        operator = self.random.choice(("=", "<>") if type_ == "BOOLEAN" else operators)
        parts = [self.value(type_, columns, depth and depth - 1) for _ in range(2)]
        return Both.made(f"{{}} {operator} {{}}".format, *parts)

    def sub_query_condition(self, type_: str, columns: Columns) -> Both:
        alias = self.name()
        inner = Columns(outer=columns)
        for name, each in COLUMNS.items():
            inner.add(f"{alias}.{name}", each)
        negation = "NOT " * self.chance(0.4)
        table = self.random.choice(TABLES)
        where = self.condition(inner, 1)
        if self.chance(0.5):
            return Both.made(f"{negation}EXISTS (SELECT 1 FROM {table} {alias} WHERE {{}})".format, where)
        text = f"{{}} {negation}IN (SELECT {{}} FROM {table} {alias} WHERE {{}})"
        inner_value = self.value(type_, Columns(inner.by_type), 0)
        return Both.made(text.format, self.value(type_, columns, 0), inner_value, where)

    # ---- FROM -----------------------------------------------------------------------------------------

    def relation(self) -> tuple[Both, Columns]:
        alias, columns, choice = self.name(), Columns(), self.random.random()
        if choice < 0.7:
            for name, type_ in COLUMNS.items():
                columns.add(f"{alias}.{name}", type_)
            return Both.of(f"{self.random.choice(TABLES)} {alias}"), columns
        if choice < 0.8:
            types = [self.random.choice([*LITERALS]) for _ in range(2)]
            rows = [
                Both.of(f"({', '.join(self.random.choice(LITERALS[t]) for t in types)})")
                for _ in range(self.random.randint(1, 3))
            ]
            columns.add(f"{alias}.p", types[0])
            columns.add(f"{alias}.q", types[1])
            # rows that are equal have no order, and each window function would choose one
            distinct = list(dict.fromkeys(rows))
            return Both.made(f"(VALUES {{}}) AS {alias} (p, q)".format, joined(distinct)), columns
        inner, names = self.select(1)
        for name, type_ in names:
            columns.add(f"{alias}.{name}", type_)
        return Both.made(f"({{}}) {alias}".format, inner), columns

    def relations(self) -> tuple[Both, Columns]:
        text, columns = self.relation()
        for _ in range(self.random.choice((0, 0, 0, 1, 1, 2))):
            left = columns
            if self.chance(0.1):
                alias = self.name()
                inner, names = self.lateral(left)
                right = Columns()
                for name, type_ in names:
                    right.add(f"{alias}.{name}", type_)
                kind = self.random.choice(("CROSS", "LEFT"))
                on = " ON TRUE" * (kind == "LEFT")
                text = Both.made(f"{{}} {kind} JOIN LATERAL ({{}}) {alias}{on}".format, text, inner)
                columns = merged(left, right)
                continue
            other, right = self.relation()
            columns = merged(left, right)
            kind = self.random.choice(("INNER", "LEFT", "RIGHT", "FULL", "CROSS", ","))
            if kind == ",":
                text = Both.made("{} CROSS JOIN {}".format, text, other)
                continue
            if kind == "CROSS":
                text = Both.made("{} CROSS JOIN {}".format, text, other)
                continue
            shared = sorted(left.by_type.keys() & right.by_type.keys())
            if not shared or (kind in ("INNER", "LEFT") and self.chance(0.3)):
                kind = kind if shared else "INNER"
                on = self.plain_condition(columns)
            else:
                type_ = self.random.choice(shared)
                on = Both.of(
                    f"{self.random.choice(left.by_type[type_])} = {self.random.choice(right.by_type[type_])}"
                )
                if kind == "INNER" and self.chance(0.3):
                    on = Both.made("{} AND {}".format, on, self.plain_condition(columns))
            text = Both.made(f"{{}} {kind} JOIN {{}} ON {{}}".format, text, other, on)
        return text, columns

    def plain_condition(self, columns: Columns) -> Both:
        """A condition without sub-queries."""
        return self.condition(columns, 0)

    def lateral(self, left: Columns) -> tuple[Both, list[tuple[str, str]]]:
        alias = self.name()
        inner = Columns(outer=left)
        for name, each in COLUMNS.items():
            inner.add(f"{alias}.{name}", each)
        table, where = self.random.choice(TABLES), self.condition(inner, 1)
        if self.chance(0.5):
            text = f"SELECT COUNT(*) AS c0, MAX({alias}.i) AS c1 FROM {table} {alias} WHERE {{}}"
            return Both.made(text.format, where), [("c0", "BIGINT"), ("c1", "INT")]
        text = f"SELECT {alias}.k AS c0, {alias}.s AS c1 FROM {table} {alias} WHERE {{}}"
        return Both.made(text.format, where), [("c0", "INT"), ("c1", "STRING")]

    # ---- SELECT ---------------------------------------------------------------------------------------

    def aggregate(self, columns: Columns) -> tuple[Both, str]:
        condition = self.plain_condition(columns) if self.chance(0.2) else None
        only = Both.of("") if condition is None else Both.made(" FILTER (WHERE {})".format, condition)
        choice = self.random.random()
        if choice < 0.25:
            return Both.made("COUNT(*){}".format, only), "BIGINT"
        type_ = self.random.choice([*columns.by_type])
        argument = self.value(type_, columns, 1)
        if choice < 0.45:
            distinct = "DISTINCT " * self.chance(0.5)
            return Both.made(f"COUNT({distinct}{{}}){{}}".format, argument, only), "BIGINT"
        if choice < 0.7 or not set(NUMBERS) & columns.by_type.keys():
            if type_ == "BOOLEAN":
                return Both.made("BOOL_OR({}){}".format, argument, only), type_
            return Both.made(f"{self.random.choice(('MIN', 'MAX'))}({{}}){{}}".format, argument, only), type_
        type_ = self.random.choice([t for t in NUMBERS if t in columns.by_type])
        argument = self.value(type_, columns, 1)
        if choice < 0.85:
            call = Both.made("SUM({}){}".format, argument, only)
        else:
            call, type_ = Both.made("AVG({}){}".format, argument, only), "DOUBLE"
        if choice > 0.95:
            call = Both.made("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY {}){}".format, argument, only)
            return call, "DOUBLE"
        return Both(call.ksql, f"COALESCE({call.duckdb}, 0)"), type_

    def window(self, columns: Columns, keys: list[str]) -> tuple[Both, str]:
        """A call with OVER; ``keys``: columns that make an order whole."""
        partition = ""
        if self.chance(0.5):
            texts = [text for text, _ in columns.all]
            partition = f"PARTITION BY {self.random.choice(texts)} "
        first = self.random.choice([text for text, _ in columns.all])
        direction = self.random.choice(("", " DESC", " NULLS FIRST", " DESC NULLS FIRST"))
        order = f"ORDER BY {', '.join([first + direction, *keys])}"
        choice = self.random.random()
        if choice < 0.35:
            function = self.random.choice(
                ("ROW_NUMBER()", "RANK()", "DENSE_RANK()", "NTILE(3)", "CUME_DIST()", "PERCENT_RANK()")
            )
            type_ = "DOUBLE" if function[0] in "CP" else "BIGINT"
            return Both.of(f"{function} OVER ({partition}{order})"), type_
        type_ = self.random.choice([*columns.by_type])
        value = self.value(type_, columns, 0)
        if choice < 0.55:
            name = self.random.choice(("LAG", "LEAD"))
            more = self.random.choice(("", ", 2", f", 1, {self.random.choice(LITERALS[type_])}"))
            return Both.made(f"{name}({{}}{more}) OVER ({partition}{order})".format, value), type_
        frame = self.random.choice(
            (
                "", " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", " ROWS UNBOUNDED PRECEDING",
                " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
                " ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
                " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
            )
        )  # fmt: skip
        if choice < 0.7:
            name = self.random.choice(("FIRST_VALUE({})", "LAST_VALUE({})", "NTH_VALUE({}, 2)"))
            return Both.made(f"{name} OVER ({partition}{order}{frame})".format, value), type_
        call, type_ = self.aggregate(columns)
        if "DISTINCT" in call.ksql or "PERCENTILE" in call.ksql:
            call, type_ = Both.of("COUNT(*)"), "BIGINT"
        over = f" OVER ({partition}{order}{frame})"
        if call.duckdb.startswith("COALESCE("):
            return Both(call.ksql + over, f"COALESCE({call.duckdb[9:-4]}{over}, 0)"), type_
        return Both(call.ksql + over, call.duckdb + over), type_

    def select(self, depth: int = 0) -> tuple[Both, list[tuple[str, str]]]:
        """A SELECT, and the names and types of its columns."""
        if depth == 0 and self.chance(0.1):
            return self.set_operation()
        text, columns = self.relations()
        prefix = f"{self.name()}_"
        where = self.condition(columns, 2) if self.chance(0.6) else None
        choice = self.random.random()
        items: list[tuple[Both, str]] = []
        tail = Both.of("")
        distinct = ""
        if choice < 0.35:
            items, tail = self.grouped(columns, prefix)
        elif choice < 0.55:
            keys = [text for text, _ in columns.all]
            chosen = self.random.sample(columns.all, k=min(2, len(columns.all)))
            items = [(Both.of(text), type_) for text, type_ in chosen]
            items += [self.window(columns, keys) for _ in range(self.random.randint(1, 2))]
            if self.chance(0.3):
                over = f"PARTITION BY {chosen[0][0]} ORDER BY {', '.join(keys)}"
                tail = Both.of(f" QUALIFY ROW_NUMBER() OVER ({over}) <= 2")
        else:
            for _ in range(self.random.randint(1, 4)):
                type_ = self.random.choice([*columns.by_type])
                items.append((self.value(type_, columns), type_))
            distinct = "DISTINCT " * self.chance(0.3)
        names = [(f"{prefix}{i}", type_) for i, (_, type_) in enumerate(items)]
        listed = joined(
            [Both.made(f"{{}} AS {n}".format, item) for (n, _), (item, _) in zip(names, items, strict=True)]
        )
        head = Both.made(f"SELECT {distinct}{{}} FROM {{}}".format, listed, text)
        if where is not None:
            head = Both.made("{} WHERE {}".format, head, where)
        head = Both.made("{}{}".format, head, tail)
        if self.chance(0.3):
            order = ", ".join(f"{i + 1}{self.random.choice(('', ' DESC'))}" for i, _ in enumerate(items))
            offset = " OFFSET 1" * self.chance(0.3)
            head = Both.made(f"{{}} ORDER BY {order} LIMIT {self.random.randint(1, 5)}{offset}".format, head)
        if depth == 0 and self.chance(0.1):
            head = Both.made("WITH w AS ({}) SELECT * FROM w".format, head)
        return head, names

    def grouped(self, columns: Columns, prefix: str) -> tuple[list[tuple[Both, str]], Both]:
        items: list[tuple[Both, str]] = []
        tail = ""
        keys = self.random.sample(columns.all, k=self.random.randint(0, min(2, len(columns.all))))
        for text, type_ in keys:
            items.append((Both.of(text), type_))
        calls = [self.aggregate(columns) for _ in range(self.random.randint(1, 2))]
        if keys:
            plain = ", ".join(text for text, _ in keys)
            places = ", ".join(str(i + 1) for i, _ in enumerate(keys))
            names = ", ".join(f"{prefix}{i}" for i, _ in enumerate(keys))
            by = self.random.choice((plain, plain, places, names, f"ROLLUP ({plain})", f"CUBE ({plain})"))
            tail = f" GROUP BY {by}"
        having = Both.of("")
        if self.chance(0.3):
            having = Both.made(" HAVING {} > 1".format, Both.of("COUNT(*)"))
        return [*items, *calls], Both.made(f"{tail}{{}}".format, having)

    def set_operation(self) -> tuple[Both, list[tuple[str, str]]]:
        types = [self.random.choice([*LITERALS]) for _ in range(self.random.randint(1, 2))]
        sides = []
        for _ in range(2):
            text, columns = self.relations()
            items = [
                Both.made(f"{{}} AS c{i}".format, self.value(type_, columns, 1))
                for i, type_ in enumerate(types)
            ]
            sides.append(Both.made("SELECT {} FROM {}".format, joined(items), text))
        word = self.random.choice(
            ("UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL")
        )
        names = [(f"c{i}", type_) for i, type_ in enumerate(types)]
        return Both.made(f"{{}} {word} {{}}".format, *sides), names


def merged(left: Columns, right: Columns) -> Columns:
    """The columns of a join."""
    columns = Columns()
    for side in (left, right):
        for text, type_ in side.all:
            columns.add(text, type_)
    return columns
