"""Every table is closed: nothing is listed in one place and forgotten in the other."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib
import inspect
import pkgutil
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest

from ksql_spark import entities, grammar
from ksql_spark.engine import Engine
from ksql_spark.engine.cluster import Cluster
from ksql_spark.engine.execution import StatementExecutor
from ksql_spark.engine.health import Health
from ksql_spark.entities import Body, Entity
from ksql_spark.entities.wire import ENTITIES
from ksql_spark.errors import CONDITIONS
from ksql_spark.formats import CAPABILITIES, FORMATS
from ksql_spark.grammar import StatementSet
from ksql_spark.grammar.statements import RULES
from ksql_spark.plan.nodes import BatchJoin, BatchOver, Distinct, FirstWithin, Limit, Node, Sort
from ksql_spark.schema import Column, Role
from ksql_spark.shell.output import entities as shown
from ksql_spark.shell.prompt import completion
from ksql_spark.statements import HANDLERS, Immediate
from ksql_spark.statements.answers import show
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
)
from tests.cases.case_file import Check, Sql, read
from tests.formats.samples import serde as bound

ROOT = Path(__file__).parents[1]

#: statements of the server's grammar that have no handler, and why
WITHOUT_HANDLER = {
    "PrintTopic": "Engine.query answers it",
    "Query": "Engine.query answers it",
}

TYPES: tuple[SqlType, ...] = (
    BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP, Decimal(5, 2), Array(INTEGER),
    Map(STRING, BIGINT), Struct((Field("A", INTEGER), Field("B", Array(STRING)))),
)  # fmt: skip


def test_every_statement_has_a_handler_or_a_reason() -> None:
    statements = {rule.node.__name__ for rule in RULES if rule.statement_set is StatementSet.SERVER}
    handled = {cls.__name__ for cls in HANDLERS}
    assert statements - handled == set(WITHOUT_HANDLER)
    assert handled <= statements


def _derived(cls: type) -> Iterator[type]:
    for derived in cls.__subclasses__():
        yield derived
        yield from _derived(derived)


def test_every_entity_has_its_name_on_the_wire_and_a_text_in_the_shell() -> None:
    for module in pkgutil.iter_modules(entities.__path__, f"{entities.__name__}."):
        importlib.import_module(module.name)
    assert set(ENTITIES.values()) == set(_derived(Entity))
    assert list(ENTITIES) == sorted(ENTITIES) and ENTITIES.keys() == shown.ENTITIES.keys()


def test_bodies_are_frozen() -> None:
    for cls in _derived(Body):
        assert dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen, cls  # type: ignore[attr-defined]


def test_the_engine_answers_with_types() -> None:
    """Its methods, and the parts that do their work; no Any, no bare dict."""
    for cls in (Engine, Cluster, Health, StatementExecutor):
        for name, method in inspect.getmembers(cls):
            if not name.startswith("_") and inspect.isfunction(method):
                answer = str(inspect.signature(method).return_annotation)
                assert answer not in ("dict", "list") and "Any" not in answer, f"{cls}.{name} -> {answer}"
    assert "Entity | None" in str(Immediate.__annotations__["run"])
    assert {inspect.signature(f).return_annotation for f in show.SHOWN.values()} == {"Entity"}
    assert {inspect.signature(f).return_annotation for f in HANDLERS.values()} == {"Action"}


def test_every_node_has_a_builder() -> None:
    from ksql_spark.spark.build import BUILDERS

    of_batches = {BatchJoin, BatchOver, Distinct, FirstWithin, Limit, Sort}
    assert set(BUILDERS) == set(typing.get_args(Node)) - of_batches
    assert list(BUILDERS) == sorted(BUILDERS, key=lambda cls: cls.__name__)


def _words() -> Iterator[str]:
    """All text constants in the code, apart from the table of conditions itself."""
    for package in ("ksql_spark", "server"):
        for path in (ROOT / package).rglob("*.py"):
            if path != ROOT / "ksql_spark" / "errors.py":
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                    if isinstance(node, ast.Constant) and isinstance(node.value, str):
                        yield node.value


def test_every_condition_is_raised() -> None:
    assert set(CONDITIONS) <= set(_words())


def test_every_condition_raised_is_listed() -> None:
    raised = set()
    for package in ("ksql_spark", "server"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                match node:
                    case ast.Call(ast.Name("KsqlError" | "failure"), [ast.Constant(str(name)), *_]):
                        raised.add(name)
    assert raised <= set(CONDITIONS)
    assert list(CONDITIONS) == sorted(CONDITIONS)


def test_every_condition_that_a_case_expects_is_listed() -> None:
    checks = [s for path in (ROOT / "tests" / "cases").rglob("*.sql") for c in read(path) for s in c.steps]
    expected = {c.subject for c in checks if isinstance(c, Check) and c.kind == "error"}
    assert expected and expected <= set(CONDITIONS)


def test_every_format_is_completed_in_the_shell() -> None:
    assert sorted(completion.FORMATS) == sorted(CAPABILITIES)


@pytest.mark.parametrize("name", sorted(FORMATS))
class TestFormats:
    def test_the_table_says_what_it_carries(self, name: str) -> None:
        assert name in CAPABILITIES
        assert FORMATS[name].name == name

    def test_what_it_carries_comes_back_also_as_null(self, name: str) -> None:
        for type_ in TYPES:
            column = Column("C", type_, Role.VALUE)
            if CAPABILITIES[name].carries(type_):
                serde = bound(name, [column])
                data = serde.encode([None])
                null = {} if isinstance(type_, Map) else [] if isinstance(type_, Array) else None
                # PROTOBUF has no NULL instead of lists and maps
                expected = [[null]] if name.startswith("PROTOBUF") else [[None], None]
                assert data is None or serde.decode(data) in expected

    def test_it_writes_spark_text_for_what_it_carries(self, name: str) -> None:
        columns = [Column("C", t, Role.VALUE) for t in TYPES if CAPABILITIES[name].carries(t)]
        columns = columns[: CAPABILITIES[name].max_columns]
        if columns:
            texts = [f"`{c.name}`" for c in columns]
            serde = bound(name, columns, len(columns) > 1)
            assert "`C`" in serde.encode_sql(texts)
            assert "data" in serde.decode_sql("data")


def _texts(path: Path) -> Iterator[str]:
    """The text constants of a Python file; what an f-string fills in is ``x``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else "x" for p in node.values)


def test_every_statement_is_carried_out_in_a_test() -> None:
    """In a case file, or in a test of handlers on an engine."""
    ran = {
        s.text
        for path in (ROOT / "tests" / "cases").rglob("*.sql")
        for c in read(path)
        for s in c.steps
        if isinstance(s, Sql)
    }
    for folder in ("statements", "integration"):
        for path in (ROOT / "tests" / folder).rglob("*.py"):
            ran |= {text for text in _texts(path) if ";" in text}
    seen = set()
    for text in ran:
        with contextlib.suppress(grammar.ParseFailed):
            seen |= {type(statement) for statement in grammar.parse(text)}
    statements = {rule.node for rule in RULES if rule.statement_set is StatementSet.SERVER}
    assert statements <= seen, {s.__name__ for s in statements - seen}


def test_no_test_module_is_a_library() -> None:
    """What several of them share is in modules that are not tests, and fixtures in conftest.py."""
    importing = []
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.ImportFrom(module=module):
                    names = [*(module or "").split("."), *(alias.name for alias in node.names)]
                case ast.Import(names=aliases):
                    names = [part for alias in aliases for part in alias.name.split(".")]
                case _:
                    continue
            importing += [f"{path.relative_to(ROOT)}: {name}" for name in names if name.startswith("test_")]
    assert not importing
