"""The documentation is right: generated pages, links, files and modules it names, commands, statements."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import grammar
from ksql_spark.errors import CONDITIONS
from ksql_spark.functions import registry
from ksql_spark.functions.spec import Kind

ROOT = Path(__file__).parents[1]
WRITTEN = [
    *(
        ROOT / name
        for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "grammar/README.md", "docker/README.md")
    ),
    *sorted((ROOT / "docs").rglob("*.md")),
]
PACKAGES = ("grammar", "ksql_spark", "server", "shell", "tests", "docs", "docker", "examples", "bench")
#: where a file that is named without its folder may be
SUFFIXES = (".py", ".md", ".sql", ".java", ".toml", ".xml", ".yaml", ".jsonl")


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


generate = _load()


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("name", generate.PAGES)
def test_generated_pages_are_up_to_date(name: str) -> None:
    path = generate.REFERENCE / name
    assert path.exists() and path.read_text(encoding="utf-8") == generate.PAGES[name](), "run: make docs"


def test_no_page_is_left_over() -> None:
    assert {p.name for p in generate.REFERENCE.iterdir()} == set(generate.PAGES)


def test_examples_of_functions_are_ksql() -> None:
    for spec in registry.all_specs():
        for one in spec.examples:
            if spec.kind is not Kind.AGGREGATE:
                call, arrow, _ = generate.example(spec, one).rpartition(" → ")
                assert arrow
                grammar.parse_expression(call)


def test_conditions_are_sorted() -> None:
    assert list(CONDITIONS) == sorted(CONDITIONS)


# ---- links ---------------------------------------------------------------------------------------------


def _prose(path: Path) -> str:
    """The page without blocks of code."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    return re.sub(r"^    .*$", "", text, flags=re.M)


def _anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), flags=re.M)
    return {generate.anchor(h) for h in headings}


def _links(path: Path) -> Iterator[str]:
    for target in re.findall(r"\]\(([^)\s]+)\)", _prose(path)):
        if not re.match(r"[a-z]+:", target):
            yield target


@pytest.mark.parametrize("path", WRITTEN, ids=_name)
def test_links_lead_somewhere(path: Path) -> None:
    for link in _links(path):
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        assert target.exists(), f"{link}: there is no such file"
        assert not anchor or anchor in _anchors(target), f"{link}: there is no such heading"


# ---- files, modules and commands that are named --------------------------------------------------------


def _inline(path: Path) -> list[str]:
    return re.findall(r"`([^`\n]+)`", _prose(path))


def _is_path(text: str) -> bool:
    if not re.fullmatch(r"\.?[\w.-]+(/[\w.-]+)*/?", text):
        return False
    return text.endswith(SUFFIXES) or (text.endswith("/") and text.split("/")[0] in PACKAGES)


HAND_WRITTEN = [p for p in WRITTEN if p.parent != generate.REFERENCE]
FILES = {p.name for folder in PACKAGES for p in (ROOT / folder).rglob("*")} | {p.name for p in ROOT.iterdir()}


@pytest.mark.parametrize("path", HAND_WRITTEN, ids=_name)
def test_named_files_exist(path: Path) -> None:
    for text in filter(_is_path, _inline(path)):
        if "/" in text.rstrip("/"):
            places = (ROOT, ROOT / "ksql_spark", path.parent)
            assert any((place / text).exists() for place in places), f"there is no {text}"
        else:
            assert text.rstrip("/") in FILES, f"there is no file called {text}"


@pytest.mark.parametrize("path", HAND_WRITTEN, ids=_name)
def test_named_modules_exist(path: Path) -> None:
    for text in _inline(path):
        parts = text.split("(")[0].split(".")
        if parts[0] not in ("grammar", "ksql_spark", "server", "shell") or len(parts) < 2 or _is_path(text):
            continue
        if not all(part.isidentifier() for part in parts):
            continue
        at = ROOT
        while parts and (at / parts[0]).is_dir():
            at /= parts.pop(0)
        if parts and (at / f"{parts[0]}.py").exists():
            at /= f"{parts.pop(0)}.py"
        elif parts:
            at /= "__init__.py"
        assert not parts or re.search(rf"\b{parts[0]}\b", at.read_text(encoding="utf-8")), (
            f"there is no {text}"
        )


@pytest.mark.parametrize("path", HAND_WRITTEN, ids=_name)
def test_named_targets_of_make_exist(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    commands = re.findall(r"(?:`|^    )make ([a-z][a-z-]*)", path.read_text(encoding="utf-8"), flags=re.M)
    assert set(commands) <= targets


@pytest.mark.parametrize("path", HAND_WRITTEN, ids=_name)
def test_statements_parse(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    blocks = re.findall(r"^```sql\n(.*?)^```$", text, flags=re.S | re.M)
    for block in [*blocks, *re.findall(r"^ksql> (.*;)$", text, flags=re.M)]:
        assert grammar.parse(block)
