"""Every table is closed: nothing is listed in one place and forgotten in the other."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib
import inspect
import pkgutil
import re
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
from ksql_spark.grammar.statements import show as show_statement
from ksql_spark.plan.nodes import BatchJoin, BatchOver, Distinct, FirstWithin, Limit, Node, Sort, Values
from ksql_spark.schema import Column, Role
from ksql_spark.shell.output import entities as shown
from ksql_spark.shell.prompt import completion
from ksql_spark.statements import HANDLERS, Immediate
from ksql_spark.statements.answers import show
from ksql_spark.tools.testing.files import Check, read
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
    missing = statements - handled - set(WITHOUT_HANDLER)
    assert not missing, f"add a handler with @handles to ksql_spark/statements: {missing}"
    assert not handled & set(WITHOUT_HANDLER), "remove from WITHOUT_HANDLER above what has a handler"
    assert handled <= statements, f"add to RULES of grammar/statements/<family>.py: {handled - statements}"


def _derived(cls: type) -> Iterator[type]:
    for derived in cls.__subclasses__():
        yield derived
        yield from _derived(derived)


def test_all_that_show_lists_has_a_handler() -> None:
    listed = set(show_statement.LISTED)
    assert listed == set(show.SHOWN), (
        "LISTED of grammar/statements/show.py and SHOWN of ksql_spark/statements/answers/show.py differ by "
        f"{listed ^ set(show.SHOWN)}"
    )


def test_every_entity_is_known_on_the_wire_and_has_a_text_in_the_shell() -> None:
    for module in pkgutil.iter_modules(entities.__path__, f"{entities.__name__}."):
        importlib.import_module(module.name)
    unknown = {cls.__module__ for cls in set(_derived(Entity)) - set(ENTITIES.values())}
    assert not unknown, f"add to _MODULES of ksql_spark/entities/wire.py: {unknown}"
    assert len(set(_derived(Entity))) == len(ENTITIES), "two classes of entities have the same type"
    mute = ENTITIES.keys() - shown.ENTITIES.keys()
    assert not mute, f"add a function to ENTITIES of shell/output/entities.py for {mute}"
    gone = shown.ENTITIES.keys() - ENTITIES.keys()
    assert not gone, f"remove from ENTITIES of shell/output/entities.py: {gone}"


def test_every_entity_is_in_the_reference() -> None:
    page = ROOT / "docs" / "reference" / "rest-protocol.md"
    named = set(re.findall(r"`(\w+)`", page.read_text(encoding="utf-8")))
    assert not ENTITIES.keys() - named, f"describe in {page.name}: {ENTITIES.keys() - named}"


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

    of_batches = {BatchJoin, BatchOver, Distinct, FirstWithin, Limit, Sort, Values}
    nodes = set(typing.get_args(Node)) - of_batches
    assert set(BUILDERS) == nodes, (
        "BUILDERS of ksql_spark/spark/build.py and Node of ksql_spark/plan/nodes.py differ by "
        f"{set(BUILDERS) ^ nodes}"
    )
    assert list(BUILDERS) == sorted(BUILDERS, key=lambda cls: cls.__name__)


def _code() -> Iterator[str]:
    """The text of each module, apart from the table of conditions itself."""
    for package in ("ksql_spark", "server"):
        for path in (ROOT / package).rglob("*.py"):
            if path != ROOT / "ksql_spark" / "errors.py":
                yield path.read_text(encoding="utf-8")


def test_every_condition_is_raised() -> None:
    unused = set(CONDITIONS) - {name for text in _code() for name in re.findall(r'"([A-Z0-9_]+)"', text)}
    assert not unused, f"raise, or remove from CONDITIONS of ksql_spark/errors.py: {unused}"


def test_every_condition_raised_is_listed() -> None:
    call = re.compile(r'\b(?:KsqlError|failure)\(\s*"(\w+)"')
    raised = {name for text in _code() for name in call.findall(text)}
    assert raised <= set(CONDITIONS), f"add to CONDITIONS of ksql_spark/errors.py: {raised - set(CONDITIONS)}"
    assert list(CONDITIONS) == sorted(CONDITIONS), "sort CONDITIONS of ksql_spark/errors.py"


def test_every_condition_that_a_case_expects_is_listed() -> None:
    checks = [s for path in (ROOT / "tests" / "cases").rglob("*.sql") for c in read(path) for s in c.steps]
    expected = {c.subject for c in checks if isinstance(c, Check) and c.kind == "error"}
    assert expected and expected <= set(CONDITIONS)


def test_every_format_is_completed_in_the_shell() -> None:
    differing = set(completion.FORMATS) ^ set(CAPABILITIES)
    assert not differing, (
        "FORMATS of shell/prompt/completion.py and CAPABILITIES of ksql_spark/formats/capabilities.py differ "
        f"by {differing}"
    )
    assert len(completion.FORMATS) == len(CAPABILITIES)


def test_every_format_can_be_read_and_written() -> None:
    differing = set(FORMATS) ^ set(CAPABILITIES)
    assert not differing, (
        "FORMATS of ksql_spark/formats/__init__.py and CAPABILITIES of ksql_spark/formats/capabilities.py "
        f"differ by {differing}"
    )


def test_every_format_is_described() -> None:
    page = ROOT / "docs" / "reference" / "formats-in-detail.md"
    overview = page.read_text(encoding="utf-8").partition("## 5.2")[0]
    missing = {name for name in CAPABILITIES if not re.search(rf"\b{name}\b", overview)}
    assert not missing, f"describe in section 5.1 of {page.name}: {missing}"


@pytest.mark.parametrize("name", sorted(FORMATS))
class TestFormats:
    def test_its_class_has_its_name(self, name: str) -> None:
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
        f"{step.text};"
        for path in (ROOT / "tests" / "cases").rglob("*.sql")
        for case in read(path)
        for step in case.steps
        if isinstance(step, grammar.StatementText)
    }
    for folder in ("statements", "integration"):
        for path in (ROOT / "tests" / folder).rglob("*.py"):
            ran |= {text for text in _texts(path) if ";" in text}
    seen, listed = set(), set()
    for text in ran:
        with contextlib.suppress(grammar.ParseFailed):
            for statement in grammar.parse(text):
                seen.add(type(statement))
                if isinstance(statement, show_statement.Show):
                    listed.add(statement.what)
    statements = {rule.node for rule in RULES if rule.statement_set is StatementSet.SERVER}
    missing = {cls.__name__ for cls in statements - seen}
    missing |= {f"SHOW {what}" for what in set(show_statement.LISTED) - listed}
    assert not missing, (
        f"test in tests/statements/ (in answers/test_answers.py, say) or tests/cases/: {missing}"
    )


def test_no_test_module_is_a_library() -> None:
    """What several of them share is in modules that are not tests, and fixtures in conftest.py."""
    statement = re.compile(r"^ *(?:from|import) [^(\n]*(?:\([^)]*\))?", re.M)
    importing = [
        f"{path.relative_to(ROOT)}: {found}"
        for path in (ROOT / "tests").rglob("*.py")
        for found in statement.findall(path.read_text(encoding="utf-8"))
        if re.search(r"\btest_", found)
    ]
    assert not importing
