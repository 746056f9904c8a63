"""Rules for queries (reference §2.2, §2.5 to §2.7) and for common parts of statements.

The rules of statements are in `grammar.statements`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from ksql_spark.grammar import nodes
from ksql_spark.grammar.cursor import CLOSERS, MAX_DEPTH
from ksql_spark.grammar.match_recognize import MatchRecognizeParser
from ksql_spark.grammar.nodes import Position
from ksql_spark.grammar.words import NON_RESERVED, RESERVED

#: nodes that `->*` may follow
_POSTFIX_OPERANDS = (
    exp.Column,
    exp.Paren,
    exp.Case,
    exp.Cast,
    nodes.Dereference,
    nodes.Subscript,
    nodes.FunctionCall,
    nodes.StructConstructor,
)

#: the largest LIMIT, as in ksqlDB; with OFFSET, their sum
MAX_ROWS = 2**31 - 1
_SOURCE_NAME = re.compile(r"[A-Za-z0-9_-]*")


class KsqlParser(MatchRecognizeParser):
    """The dialect's parser."""

    def begin(self) -> None:
        """Start with the first token of a text."""
        self._base, self.names = self._tokens[0], set()
        self._whole, self._origin, self._sought = self.sql, Position(1, 1, 0), []

    # ------------------------------------------------------------------------------ queries

    def query(self) -> nodes.QueryNode:
        """[WITH …] SELECT … [UNION … SELECT …] with the clauses that follow it (reference §2.5)."""
        return self.nested(self._query)

    def _query(self) -> nodes.QueryNode:
        start = self._index
        ctes = self._common_tables() if self.word("WITH") else []
        bare = not self.is_symbol(TokenType.L_PAREN)
        node, is_joined = self._set_operations("UNION", "EXCEPT")
        if bare or is_joined:  # a single query in parentheses cannot be followed by clauses
            self._tail(node)
            for item in node.order_by:
                self._set_windows(item, node.meta.get("windows", {}))
            if self._at_set_operation():
                word = self._curr.text
                article = "a" if word == "UNION" else "an"
                self.fail(f"EMIT, ORDER BY, LIMIT and OFFSET come after the last SELECT of {article} {word}")
        if ctes:
            if node.ctes:
                self.fail("A query can have only one WITH clause", start)
            node.set("ctes", ctes)
        node.meta["position"] = self.span(start)
        return node

    def _set_operations(self, *words: str) -> tuple[nodes.QueryNode, bool]:
        """Queries joined by ``words``, and whether there are several; INTERSECT binds more tightly."""
        start, is_innermost = self._index, "INTERSECT" in words

        def branch() -> tuple[nodes.QueryNode, bool]:
            return (self._branch(), False) if is_innermost else self._set_operations("INTERSECT")

        node, is_joined = branch()
        branches = 1
        while self.is_word(*words):
            operator = self._set_operator()
            branches += 1
            if branches > MAX_DEPTH:
                self.fail(f"Too many {words[0]}s in one query")
            right, _ = branch()
            node = self.build(nodes.SetOperation, start, operator=operator, left=node, right=right)
            is_joined = True
        return node, is_joined

    def _set_operator(self) -> str:
        word = self._curr.text
        self.skip(1)
        if self.word("ALL"):
            return f"{word} ALL"
        self.word("DISTINCT")
        return word

    def _branch(self) -> nodes.QueryNode:
        if self.is_symbol(TokenType.L_PAREN):
            return self.bracketed(self.query)
        return self._values() if self.is_word("VALUES") else self._select()

    def _values(self) -> nodes.Values:
        start = self._index
        self.expect_word("VALUES")

        def row() -> nodes.ValuesRow:
            begin = self._index
            expressions = self.bracketed(lambda: self.listed(self.any_expression))
            return self.build(nodes.ValuesRow, begin, expressions=expressions)

        return self.build(nodes.Values, start, rows=self.listed(row))

    def _common_tables(self) -> list[nodes.CommonTable]:
        if self.is_word("RECURSIVE") and self.is_name(1):
            self.fail("WITH RECURSIVE is not supported: a query of WITH reads those before it, not itself")
        return self.listed(self._common_table)

    def _common_table(self) -> nodes.CommonTable:
        start = self._index
        name = self.name()
        columns = self._column_aliases()
        self.expect_word("AS")
        if self.word("NOT", "MATERIALIZED") or self.word("MATERIALIZED"):
            pass  # PostgreSQL's hints: the optimizer decides
        query = self.bracketed(self.query)
        return self.build(nodes.CommonTable, start, this=name, columns=columns, query=query)

    def _column_aliases(self) -> list[exp.Identifier]:
        """``(name, …)`` if it is there, else []."""
        if not self.is_symbol(TokenType.L_PAREN):
            return []
        return self.bracketed(lambda: self.listed(self.name))

    def _select(self) -> nodes.Select:
        start = self._index
        self.expect_word("SELECT")
        args: dict[str, Any] = {}
        if self.word("DISTINCT"):
            if self.is_word("ON"):
                self.skip(1)
                args["distinct_on"] = self.bracketed(lambda: self.listed(self.value))
            else:
                args["distinct"] = True
        args["items"] = self.listed(self._select_item)
        if self._ends_select():
            return self.build(nodes.Select, start, **args)
        if not self.is_word("WHERE"):
            self.expect_word("FROM")
            args["relation"] = self._relation()
        if self.word("WITHIN"):
            within = self._within()
            if within.before == within.after and within.grace is None:
                args["within"] = within.before
            else:
                args["join_within"] = within
        if self.is_word("WINDOW") and not self.is_word("AS", ahead=2):
            self.skip(1)
            args["window"] = self._window()
        if self.word("WHERE"):
            args["where"] = self.any_expression()
        if self.word("GROUP"):
            self.expect_word("BY")
            args["group_by"] = self._values_by(self._group)
        if self.word("PARTITION"):
            self.expect_word("BY")
            args["partition_by"] = self._values_by()
        if self.word("HAVING"):
            args["having"] = self.any_expression()
        if self.word("QUALIFY"):
            args["qualify"] = self.any_expression()
        windows = self._named_windows() if self.is_word("WINDOW") and self.is_word("AS", ahead=2) else {}
        if self.is_word("QUALIFY") and "qualify" not in args:
            self.skip(1)
            args["qualify"] = self.any_expression()
        select = self.build(nodes.Select, start, **args)
        self._set_windows(select, windows)
        if windows:
            select.meta["windows"] = windows
        return select

    def _named_windows(self) -> dict[str, dict[str, Any]]:
        """``name AS ([PARTITION BY …] [ORDER BY …] [ROWS …]), …`` as the parts of OVER, by name."""
        windows: dict[str, dict[str, Any]] = {}
        self.skip(1)

        def one() -> None:
            name = self.name()
            self.expect_word("AS")
            windows[str(name.this)] = self.bracketed(self.window_parts)

        self.listed(one)
        return windows

    def _set_windows(self, node: exp.Expr, windows: dict[str, dict[str, Any]]) -> None:
        """Give each ``OVER name`` in a node what the name stands for."""
        if not self.has_named_windows:
            return
        for call in node.find_all(nodes.WindowFunction):
            name, place = call.meta.pop("window", (None, 0))
            if name is None:
                continue
            if (window := windows.get(name)) is None:
                self.fail(f"There is no WINDOW {name} AS (…)", place)
            for part, value in window.items():
                call.set(part, [one.copy() for one in value] if isinstance(value, list) else value)

    def _ends_select(self) -> bool:
        """Whether a SELECT without FROM ends here."""
        is_end = self.at_end() or self.is_symbol(TokenType.R_PAREN) or self._at_set_operation()
        return is_end or (self.is_word("ORDER", "LIMIT", "OFFSET") and not self.is_symbol(TokenType.COMMA, 1))

    def _tail(self, node: nodes.QueryNode) -> None:
        if self.word("ORDER"):
            self.expect_word("BY")
            node.set("order_by", self.listed(self.order_item))
        if self.word("EMIT"):
            node.set("emit", self.expect_one_of("CHANGES", "FINAL"))
            if node.emit == "CHANGES" and self.word("EVERY"):
                node.set("every", self.time_span())
        self._limits(node)

    def _limits(self, node: nodes.QueryNode) -> None:
        """``LIMIT n``, ``OFFSET n`` and ``FETCH FIRST n ROWS ONLY``, in any order."""
        most = MAX_ROWS
        is_limited = is_offset = False
        while True:
            if not is_limited and self.word("LIMIT"):
                if not self.word("ALL"):
                    node.set("limit", self.whole_number(most))
                is_limited = True
            elif not is_offset and self.word("OFFSET"):
                node.set("offset", self.whole_number(most))
                is_offset = self.word("ROW") or self.word("ROWS") or True
            elif not is_limited and self.is_word("FETCH") and self.is_word("FIRST", "NEXT", ahead=1):
                self.skip(2)
                is_one = self.is_word("ROW", "ROWS")
                node.set("limit", 1 if is_one else self.whole_number(most))
                self.expect_one_of("ROW", "ROWS")
                self.expect_word("ONLY")
                is_limited = True
            else:
                return
            most = MAX_ROWS - (node.limit or 0) - (node.offset or 0)

    def _select_item(self) -> nodes.SelectItem | nodes.AllColumns | nodes.AllFields:
        start = self._index
        if self.is_symbol(TokenType.STAR):
            self._advance()
            return self.build(nodes.AllColumns, start)
        if self.is_name() and self.is_symbol(TokenType.DOT, 1) and self.is_symbol(TokenType.STAR, 2):
            source = self.name()
            self._advance(2)
            return self.build(nodes.AllColumns, start, source=source)
        value = self.any_expression()
        if self.is_symbol(TokenType.ARROW) and self.is_symbol(TokenType.STAR, 1):
            if not isinstance(value, _POSTFIX_OPERANDS):
                self.fail()
            self._advance(2)
            return self.build(nodes.AllFields, start, this=value)
        is_named = self.word("AS") or (self.is_name() and not self._starts_clause())
        alias = self.name() if is_named else None
        return self.build(nodes.SelectItem, start, this=value, alias_identifier=alias)

    def _values_by(self, item: Callable[[], exp.Expr] | None = None) -> list[exp.Expr]:
        """The list of GROUP BY or PARTITION BY, with or without parentheses around it.

        ``item`` parses one without parentheses; default: a value.
        """
        if self.is_symbol(TokenType.L_PAREN) and self._brackets_hold_list():
            return self.bracketed(lambda: self.listed(self.value))
        return self.listed(item or self.value)

    def _group(self) -> exp.Expr:
        """``expression``, ``GROUPING SETS (…)``, ``ROLLUP (…)`` or ``CUBE (…)``."""
        start = self._index
        if self.word("GROUPING", "SETS"):
            kind = "GROUPING SETS"
        elif self.is_word("ROLLUP", "CUBE") and self.is_symbol(TokenType.L_PAREN, 1):
            kind = self.expect_one_of("ROLLUP", "CUBE")
        else:
            return self.value()
        sets = self.bracketed(lambda: self.listed(self._grouping_set))
        return self.build(nodes.GroupingSets, start, kind=kind, sets=sets)

    def _grouping_set(self) -> nodes.GroupingSet:
        start = self._index
        if self.is_symbol(TokenType.L_PAREN) and self.is_symbol(TokenType.R_PAREN, 1):
            self._advance(2)
            return self.build(nodes.GroupingSet, start)
        if self.is_symbol(TokenType.L_PAREN) and self._brackets_hold_list():
            expressions = self.bracketed(lambda: self.listed(self.value))
        else:
            expressions = [self.value()]
        return self.build(nodes.GroupingSet, start, expressions=expressions)

    def _brackets_hold_list(self) -> bool:
        """Whether the parenthesis here contains a comma at its top level: ``(a, b)``, not ``(a) + 1``."""
        depth = 0
        for token in self._tokens[self._index :]:
            if token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET):
                depth += 1
            elif token.token_type in CLOSERS:
                depth -= 1
                if depth <= 0:
                    return False
            elif token.token_type == TokenType.COMMA and depth == 1:
                return True
        return False

    def _relation(self) -> nodes.Relation:
        start = self._index
        left = self._aliased()
        joins = 0
        while True:
            if self._at_unnest():
                left = self._unnest(left, start)
                joins += 1
                if joins > MAX_DEPTH:
                    self.fail("Too many joins in one query")
                continue
            place = self._index
            is_natural = self.word("NATURAL")
            kind = "CROSS" if not is_natural and (self.comma() or self.word("CROSS", "JOIN")) else None
            if kind is None:
                kind = self.one_of("INNER", "LEFT", "RIGHT", "FULL")
                if kind in ("LEFT", "RIGHT", "FULL"):
                    self.word("OUTER")
                if kind is None:
                    if is_natural:
                        self.expect_word("JOIN")
                    elif not self.word("JOIN"):
                        return left
                else:
                    self.expect_word("JOIN")
            if isinstance(left, nodes.Unnest):
                self.fail("CROSS JOIN UNNEST comes after all other joins, or in a sub-query", place)
            joins += 1
            if joins > MAX_DEPTH:
                self.fail("Too many joins in one query")
            right = self._aliased()
            system_time = self._system_time(right) if self._at_system_time() else None
            within = self._within() if self.word("WITHIN") else None
            args: dict[str, Any] = {"left": left, "right": right, "kind": kind or "INNER", "within": within}
            args["system_time"] = system_time
            if is_natural:
                args["natural"] = True
            elif kind != "CROSS" and self.is_word("USING") and self.is_symbol(TokenType.L_PAREN, 1):
                self.skip(1)
                args["using"] = self.bracketed(lambda: self.listed(self.name))
            elif kind != "CROSS":
                self.expect_word("ON")
                args["on"] = self.any_expression()
            left = self.build(nodes.Join, start, **args)

    def _aliased(self) -> nodes.Relation:
        start = self._index
        relation = self._plain_relation()
        return self.match_recognize(relation, start) if self.at_match_recognize() else relation

    def _plain_relation(self) -> nodes.Relation:
        start = self._index
        lateral = self.is_word("LATERAL") and self.is_symbol(TokenType.L_PAREN, 1)
        if lateral:
            self.skip(1)
        if self.symbol(TokenType.L_PAREN, "("):
            query = self.query()
            self.expect_symbol(TokenType.R_PAREN, ")")
            alias = self.alias()
            columns = self._column_aliases() if alias is not None else []
            return self.build(
                nodes.SubQuery, start, query=query, alias_identifier=alias, columns=columns, lateral=lateral
            )
        for kind in (nodes.ErrorsOf, nodes.LateRowsOf):
            words = kind.words.split()
            if all(self.is_word(word, ahead=i) for i, word in enumerate(words)) and self.is_name(len(words)):
                self.skip(len(words))
                query_id = self.source_name()
                return self.build(kind, start, this=query_id, alias_identifier=self.alias())
        if self.is_word("OLD", "NEW", "CHANGES") and self.is_symbol(TokenType.L_PAREN, 1):
            return self._past(start)
        name = self.name()  # of any characters: it may be one of WITH
        if (
            self.is_word("AS")
            and self.is_word("OF", ahead=1)
            and self.is_word("TIMESTAMP", "POSITION", ahead=2)
        ):
            self.skip(2)
            args: dict[str, Any] = {"this": name, "which": "AS OF"}
            if self.expect_one_of("TIMESTAMP", "POSITION") == "TIMESTAMP":
                args["moments"] = [self.moment()]
            else:
                args["position"] = self.string()
            return self.build(nodes.PastSource, start, **args, alias_identifier=self.alias())
        return self.build(nodes.AliasedSource, start, this=name, alias_identifier=self.alias())

    def _past(self, start: int) -> nodes.PastSource:
        which = self.expect_one_of("OLD", "NEW", "CHANGES")
        self.expect_symbol(TokenType.L_PAREN, "(")
        name = self.source_name()
        self.expect_symbol(TokenType.R_PAREN, ")")
        moments = []
        if which == "CHANGES":
            self.expect_word("BETWEEN")
            moments.append(self.moment())
            self.expect_word("AND")
            moments.append(self.moment())
        args = {"this": name, "which": which, "moments": moments}
        return self.build(nodes.PastSource, start, **args, alias_identifier=self.alias())

    def moment(self) -> exp.Expr:
        """A time as text, or epoch milliseconds."""
        start = self._index
        if self.is_symbol(TokenType.NUMBER):
            return self.build(nodes.IntegerLiteral, start, this=str(self.whole_number()), is_string=False)
        return self.string()

    def alias(self) -> exp.Identifier | None:
        """``[AS] name`` if it is there."""
        if self.word("AS"):
            return self.name()
        if not self.is_name() or self._starts_clause():
            return None
        return self.name()

    def _starts_clause(self) -> bool:
        """Whether a word that may be a name begins a clause, judging by the next word."""
        return (
            # even with a typo (EMIT CHANGE), the clause is meant
            (self.is_word("EMIT") and (self.at_end(1) or self.is_name(1)))
            or (self.is_word("PARTITION", "ORDER") and (self.is_word("BY", ahead=1) or self.is_name(1)))
            or (self.is_word("OFFSET") and self.is_symbol(TokenType.NUMBER, 1))
            or (self.is_word("FETCH") and self.is_word("FIRST", "NEXT", ahead=1))
            or (self.is_word("CROSS") and self.is_word("JOIN", ahead=1))
            or (self.is_word("NATURAL") and self.is_word("JOIN", "INNER", "LEFT", "RIGHT", "FULL", ahead=1))
            or (self.is_word("USING") and self.is_symbol(TokenType.L_PAREN, 1))
            or (self.is_word("QUALIFY") and self._starts_condition())
            or (self.is_word("GRACE") and self.is_word("PERIOD", ahead=1))
            or self._at_system_time()
            or self.at_match_recognize()
            or self._at_set_operation()
        )

    def _at_set_operation(self) -> bool:
        """Whether UNION, EXCEPT or INTERSECT joins two queries here."""
        return self.is_word("UNION", "EXCEPT", "INTERSECT") and (
            self.is_word("SELECT", "VALUES", "ALL", "DISTINCT", ahead=1)
            or self.is_symbol(TokenType.L_PAREN, 1)
        )

    def _at_unnest(self) -> bool:
        words = self.is_word("CROSS") and self.is_word("JOIN", ahead=1) and self.is_word("UNNEST", ahead=2)
        return words and self.is_symbol(TokenType.L_PAREN, 3)

    def _unnest(self, left: nodes.Relation, start: int) -> nodes.Unnest:
        """``CROSS JOIN UNNEST(array) [WITH ORDINALITY] [AS] alias (column, …)``."""
        self.skip(3)
        array = self.bracketed(self.any_expression)
        ordinality = self.word("WITH")
        if ordinality:
            self.expect_word("ORDINALITY")
        self.word("AS")
        alias = self.source_name()
        place = self._index
        columns = self.bracketed(lambda: self.listed(self.name))
        if len(columns) != 1 + ordinality:
            expected = "two columns: u (element, number)" if ordinality else "one column: u (element)"
            self.fail(f"UNNEST of one array{' WITH ORDINALITY' * ordinality} has {expected}", place)
        args = {"ordinality": ordinality, "alias_identifier": alias, "columns": columns}
        return self.build(nodes.Unnest, start, left=left, array=array, **args)

    def _at_system_time(self) -> bool:
        return self.is_word("FOR") and self.is_word("SYSTEM_TIME", ahead=1)

    def _system_time(self, table: nodes.Relation) -> nodes.SystemTime:
        """``FOR SYSTEM_TIME AS OF column [[AS] alias] [GRACE PERIOD time]``; the alias goes to ``table``."""
        start = self._index
        if type(table) is not nodes.AliasedSource:
            self.fail("FOR SYSTEM_TIME AS OF follows the name of a table")
        self.skip(2)
        self.expect_word("AS", "OF")
        column = self._call_or_column()
        if not isinstance(column, exp.Column):
            self.fail("FOR SYSTEM_TIME AS OF takes a column, as in s.ROWTIME", start)
        if table.alias_identifier is None:
            table.set("alias_identifier", self.alias())
        grace = self.time_span() if self.word("GRACE", "PERIOD") else None
        return self.build(nodes.SystemTime, start, this=column, grace=grace)

    def _starts_condition(self) -> bool:
        """Whether a condition follows QUALIFY: a call, a name with an operator, a parenthesis or a number."""
        operators = (
            TokenType.L_PAREN, TokenType.DOT, TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE,
            TokenType.GT, TokenType.GTE, TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH,
            TokenType.MOD,
        )  # fmt: skip
        follows = any(self.is_symbol(kind, 2) for kind in operators)
        return (
            (self.is_name(1) and (follows or self.is_word("IN", "BETWEEN", "IS", "LIKE", "NOT", ahead=2)))
            or self.is_word("NOT", "CASE", ahead=1)
            or self.is_symbol(TokenType.L_PAREN, 1)
            or self.is_symbol(TokenType.NUMBER, 1)
        )

    def _within(self) -> nodes.Within:
        start = self._index - 1
        if self.symbol(TokenType.L_PAREN, "("):
            before = self.time_span()
            self.expect_symbol(TokenType.COMMA, ",")
            after = self.time_span()
            self.expect_symbol(TokenType.R_PAREN, ")")
        else:
            before = after = self.time_span()
        grace = self.time_span() if self.word("GRACE", "PERIOD") else None
        return nodes.Within(before, after, grace, self.span(start))

    def _window(self) -> nodes.Window:
        start = self._index - 1
        kinds = ("TUMBLING", "HOPPING", "SESSION", "CUMULATIVE", "SLIDING")
        if self.is_name() and self.is_word(*kinds, ahead=1):
            self._advance()  # ksqlDB accepts a name for the window here, and ignores it
        kind = self.expect_one_of(*kinds)
        self.expect_symbol(TokenType.L_PAREN, "(")
        if kind != "SESSION":
            self.expect_word("SIZE")
        size = self.time_span(by_calendar=kind != "SESSION")
        advance = step = zone = offset = retention = grace = None
        if kind == "HOPPING":
            self.expect_symbol(TokenType.COMMA, ",")
            self.expect_word("ADVANCE", "BY")
            advance = self.time_span(by_calendar=True)
        elif kind == "CUMULATIVE":
            self.expect_symbol(TokenType.COMMA, ",")
            self.expect_word("STEP")
            step = self.time_span(by_calendar=True)
        if kind != "SESSION":
            if self._option("TIME", "ZONE"):
                zone = self.string()
            if self._option("OFFSET"):
                offset = self.time_span(by_calendar=True)
        if self.is_symbol(TokenType.COMMA) and self.is_word("RETENTION", ahead=1):
            self._advance(2)
            retention = self.time_span()
        if self.symbol(TokenType.COMMA, ","):
            if retention is None:
                self._seek("RETENTION")
            self.expect_word("GRACE", "PERIOD")
            grace = self.time_span()
            if retention is None and self._option("RETENTION"):
                retention = self.time_span()
        self.expect_symbol(TokenType.R_PAREN, ")")
        return nodes.Window(kind, size, advance, retention, grace, self.span(start), step, zone, offset)

    def _option(self, *words: str) -> bool:
        """Take a comma and the keywords after it, all or none."""
        if not (self.is_symbol(TokenType.COMMA) and self.is_word(words[0], ahead=1)):
            return False
        self._advance()
        self.expect_word(*words)
        return True

    # --------------------------------------------------------- parts that statements share

    def source_name(self) -> exp.Identifier:
        """The name of a stream or table: fewer characters than other names (reference §1.1)."""
        name = self.name()
        if not _SOURCE_NAME.fullmatch(str(name.this)):
            self.fail(
                f"{name.this!r} cannot name a stream or table: use letters, digits, _ and -", self.at - 1
            )
        return name

    def column_definition(self) -> nodes.ColumnDefinition:
        """``name type [KEY | PRIMARY KEY | HEADERS | HEADER('k') | TOPIC]``."""
        start = self._index
        if self.is_word("PRIMARY") and self.is_word("KEY", ahead=1) and self.is_symbol(TokenType.L_PAREN, 2):
            self.fail("PRIMARY KEY follows each key column, as in id INT PRIMARY KEY")
        name = self.name()
        data_type = self.type_()
        constraint, header = None, None
        if self.word("PRIMARY"):
            self.expect_word("KEY")
            constraint = "PRIMARY KEY"
        elif self.word("HEADER"):
            constraint, header = "HEADER", self.bracketed(self.string)
        else:
            constraint = self.one_of("KEY", "HEADERS", "TOPIC")
        args = {"data_type": data_type, "constraint": constraint, "header": header}
        return self.build(nodes.ColumnDefinition, start, this=name, **args)

    def source_elements(self) -> tuple[list[nodes.ColumnDefinition], list[nodes.CheckConstraint]]:
        """``(column [constraint] …, CHECK (condition), …)`` if it is there, else nothing."""
        columns: list[nodes.ColumnDefinition] = []
        checks: list[nodes.CheckConstraint] = []

        def one() -> None:
            if self._at_check():
                checks.append(self._check())
            else:
                columns.append(self._constrained_column())

        if self.is_symbol(TokenType.L_PAREN):
            self.bracketed(lambda: self.listed(one))
        else:
            self._seek("'('")
        return columns, checks

    def _constrained_column(self) -> nodes.ColumnDefinition:
        """A column with its constraints."""
        column = self.column_definition()
        checks: list[nodes.CheckConstraint] = []
        while True:
            if not column.not_null and self.word("NOT", "NULL"):
                column.set("not_null", True)
            elif self._at_check():
                checks.append(self._check())
            else:
                break
        column.set("checks", checks)
        return column

    def _at_check(self) -> bool:
        """Whether a CHECK begins here; CHECK and CONSTRAINT may also be names of columns."""
        if self.is_word("CONSTRAINT"):
            return self.is_word("CHECK", ahead=2) and self.is_symbol(TokenType.L_PAREN, 3)
        return self.is_word("CHECK") and self.is_symbol(TokenType.L_PAREN, 1)

    def _check(self) -> nodes.CheckConstraint:
        start = self._index
        label = self.name() if self.word("CONSTRAINT") else None
        self.expect_word("CHECK")
        return self.build(nodes.CheckConstraint, start, this=self.bracketed(self.any_expression), label=label)

    def column_definitions(self) -> list[nodes.ColumnDefinition]:
        """``(column, …)`` if it is there, else []."""
        if not self.is_symbol(TokenType.L_PAREN):
            self._seek("'('")
            return []
        return self.bracketed(lambda: self.listed(self.column_definition))

    def properties(self, *, keep_case: bool = False) -> list[nodes.Property]:
        """``WITH (name = literal, …)`` if it is there, else []; no name twice.

        Args:
            keep_case: names are case-sensitive (connectors).
        """
        if not self.word("WITH"):
            return []
        names: set[str] = set()

        def one() -> nodes.Property:
            start = self._index
            name = self.string() if self.is_symbol(TokenType.STRING) else self._property_name()
            key = str(name.this) if keep_case else str(name.this).upper()
            if key in names:
                self.fail(f"Property {name.this} is set twice", start)
            names.add(key)
            self.expect_symbol(TokenType.EQ, "=")
            return self.build(nodes.Property, start, this=name, literal=self.literal())

        return self.bracketed(lambda: self.listed(one))

    def _property_name(self) -> exp.Identifier:
        """A name; before ``=`` even a reserved word: the grammar does not know the properties."""
        if not self.word_ahead(0) or not self.is_symbol(TokenType.EQ, 1):
            return self.name()
        self.names.add(self._index)
        self._advance()
        return self.build(exp.Identifier, self._index - 1, this=self._prev.text, quoted=False)

    def column_names(self) -> list[exp.Identifier]:
        """``(name, …)`` if it is there, else []."""
        if not self.is_symbol(TokenType.L_PAREN) or self.is_word("SELECT", "WITH", ahead=1):
            self._seek("'('")
            return []
        return self.bracketed(lambda: self.listed(self.name))

    def values(self) -> list[exp.Expr]:
        """``(value, …)``, possibly empty."""
        if self.is_symbol(TokenType.L_PAREN) and self.is_symbol(TokenType.R_PAREN, 1):
            self._advance(2)
            return []
        return self.bracketed(lambda: self.listed(self.value))

    def code(self) -> str:
        """Text between ``$$`` and ``$$``, unchanged, or a string literal."""
        if self.symbol(TokenType.HEREDOC_STRING, "$$ code $$"):
            return self._prev.text
        self.expect_symbol(TokenType.STRING, "a string")
        return self._prev.text

    def plain_name(self) -> exp.Identifier:
        """A variable's name: a bare word that is not a keyword (reference §1.3)."""
        token = self._curr
        if token.token_type != TokenType.VAR or token.text[0].isdigit():
            self._seek("a variable name")
            self.fail()
        if token.text in RESERVED or token.text in NON_RESERVED:
            self.fail(f"{token.text} is a keyword and cannot be the name of a variable")
        return self.name()

    def equals(self) -> None:
        """Takes ``=`` or fails."""
        self.expect_symbol(TokenType.EQ, "=")

    def comma(self) -> bool:
        """Takes a comma if it is there."""
        return self.symbol(TokenType.COMMA, ",")

    def at_item_end(self, ahead: int = 0) -> bool:
        """Whether an item of a list ends ``ahead`` of the current token: with a comma, or at the end."""
        return self.at_end(ahead) or self.is_symbol(TokenType.COMMA, ahead)

    def if_exists(self) -> bool:
        """Takes IF EXISTS if it is there."""
        return self.word("IF", "EXISTS")

    def if_not_exists(self) -> bool:
        """Takes IF NOT EXISTS if it is there."""
        return self.word("IF", "NOT", "EXISTS")
