"""The documentation is right: generated pages, links, names of files and modules, statements, sections."""

from __future__ import annotations

import functools
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from ksql_spark import analyzer, grammar
from ksql_spark.config import Config
from ksql_spark.errors import CONDITIONS, KsqlError
from ksql_spark.functions import registry
from ksql_spark.functions.spec import Kind
from ksql_spark.grammar.statements.indexes import CreateIndex
from ksql_spark.grammar.statements.inserts import InsertSelect, InsertValues
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.grammar.statements.rows import RowChange
from ksql_spark.grammar.statements.session import DefineVariable, UndefineVariable
from ksql_spark.grammar.statements.sources import AlterSource, CreateAsSelect, CreateSource, DropSource
from ksql_spark.grammar.statements.types import CreateType, DropType
from ksql_spark.grammar.statements.views import CreateView
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.planner import check_runnable, lower, lower_transient
from ksql_spark.plan.queries import Feed
from ksql_spark.shell.main import SUBCOMMANDS
from tests.analyzer.registry import FakeRegistry

ROOT = Path(__file__).parents[1]
WRITTEN = [
    *(
        ROOT / name
        for name in (
            "README.md",
            "CHANGELOG.md",
            "CONTRIBUTING.md",
            "SECURITY.md",
            "grammar/README.md",
            "docker/README.md",
        )
    ),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
PACKAGES = ("grammar", "ksql_spark", "server", "shell", "tests", "docs", "docker", "examples", "bench")
#: where a file that is named without its folder may be
SUFFIXES = (".py", ".md", ".sql", ".java", ".toml", ".xml", ".yaml", ".jsonl")


def _load(name: str) -> ModuleType:
    path = ROOT / "docs" / name
    spec = importlib.util.spec_from_file_location(f"docs_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


generate = _load("generate.py")
site = _load("site/hooks.py")


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", generate.PARTS, ids=_name)
def test_generated_parts_are_up_to_date(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "written by make docs" in text and text == generate.with_part(path), "run: make docs"


@pytest.mark.parametrize("name", generate.PAGES)
def test_generated_pages_are_up_to_date(name: str) -> None:
    path = generate.REFERENCE / name
    assert path.exists() and path.read_text(encoding="utf-8") == generate.PAGES[name](), "run: make docs"


def test_generated_pages_are_marked_and_no_others() -> None:
    marked = {p.name for p in generate.REFERENCE.iterdir() if "docs/generate.py" in p.read_text("utf-8")}
    assert marked == set(generate.PAGES)


def test_examples_of_functions_are_ksql() -> None:
    for spec in registry.all_specs():
        for shown in spec.examples:
            if spec.kind is not Kind.AGGREGATE:
                call, arrow, _ = generate.example(spec, shown).rpartition(" → ")
                assert arrow
                grammar.parse_expression(call)


def test_groups_are_the_layers_in_their_order() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    groups = re.findall(r"^\| [A-Z]\w+ \| [^|]+ \| (`.*`) \|$", text, flags=re.M)
    layers = re.findall(r"^\| \d+ \| `ksql_spark\.(\w+)` \|", text, flags=re.M)
    assert len(groups) == 9 and re.findall(r"`(\w+)`", " ".join(groups)) == layers


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


@pytest.mark.parametrize("path", WRITTEN, ids=_name)
def test_links_hold_on_the_site(path: Path) -> None:
    uri = site.site_uri(_name(path))
    pages = {site.site_uri(_name(p)) for p in WRITTEN}
    for _, target in site._LINK.findall(site.linked(_prose(path), uri)):
        file = target.partition("#")[0]
        if file and not re.match(r"[a-z]+:", file):
            assert (Path("/") / uri).parent.joinpath(file).resolve().relative_to("/").as_posix() in pages


def test_the_site_has_all_pages() -> None:
    def uris(entry: object) -> Iterator[str]:
        match entry:
            case str():
                yield entry
            case dict() | list():
                for part in entry.values() if isinstance(entry, dict) else entry:
                    yield from uris(part)

    shown = list(uris(site.navigation()))
    assert len(shown) == len(set(shown)) and set(shown) == {site.site_uri(_name(p)) for p in WRITTEN}


# ---- files, modules and commands that are named --------------------------------------------------------


def _inline(path: Path) -> list[str]:
    return re.findall(r"`([^`\n]+)`", _prose(path))


def _is_path(text: str) -> bool:
    if not re.fullmatch(r"\.?[\w.-]+(/[\w.-]+)*/?", text):
        return False
    return text.endswith(SUFFIXES) or (text.endswith("/") and text.split("/")[0] in PACKAGES)


HAND_WRITTEN = [p for p in WRITTEN if p.parent != generate.REFERENCE or p.name not in generate.PAGES]
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


def _file(text: str, page: Path) -> Path | None:
    """The file that a page names, if there is one and only one of this name."""
    places = (ROOT, ROOT / "ksql_spark", page.parent)
    found = [place / text for place in places if (place / text).is_file()]
    if not found and "/" not in text:
        found = [p for folder in CODE for p in (ROOT / folder).rglob(text)]
    return found[0] if len({p.resolve() for p in found}) == 1 else None


#: where the code is; links from the package lead to some of it
CODE = ("ksql_spark", "grammar", "server", "shell", "tests", "bench", "docs")
#: the pages for those who read the code
OF_CODE = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs" / "architecture.md",
    ROOT / "grammar" / "README.md",
    *sorted((ROOT / "docs" / "internals").glob("*.md")),
]


@functools.cache
def _code() -> list[str]:
    """The text of each file of the code, after its name."""
    files = [ROOT / "Makefile", ROOT / "pyproject.toml"]
    files += [p for f in CODE for p in (ROOT / f).rglob("*") if p.suffix in (".py", ".java", ".sql", ".txt")]
    files += (ROOT / "console" / "src").rglob("*.ts*")
    return [f"{path.stem} {path.read_text(encoding='utf-8')}" for path in files]


@functools.cache
def _words_of_code() -> frozenset[str]:
    return frozenset(word for text in _code() for word in re.findall(r"\w+", text))


@functools.cache
def _texts_of_classes() -> dict[str, list[str]]:
    """Class -> the texts of the files that have it."""
    texts: dict[str, list[str]] = {}
    for text in _code():
        for cls in set(re.findall(r"\b(?:class|interface|record) (\w+)", text)):
            texts.setdefault(cls, []).append(text)
    return texts


def _has_member(cls: str, member: str) -> bool:
    """Whether a file has both, as far as the class is ours."""
    texts = _texts_of_classes().get(cls, [])
    return not texts or any(re.search(rf"\b{member}\b", text) for text in texts)


@pytest.mark.parametrize("path", OF_CODE, ids=_name)
def test_named_classes_functions_and_tables_exist(path: Path) -> None:
    """All words in backticks are somewhere in the code: what was renamed there is renamed here."""
    words = {w for text in _inline(path) for w in re.findall(r"[A-Za-z_]\w{3,}", text)}
    unknown = words - _words_of_code()
    assert not unknown, f"the code does not have {unknown}"
    for text in _inline(path):
        for cls, member in re.findall(r"\b([A-Z]\w*[a-z]\w*)\.(?!py\b|java\b)(\w+)", text):
            assert _has_member(cls, member), f"there is no {cls}.{member}"


@pytest.mark.parametrize("path", OF_CODE, ids=_name)
def test_what_is_named_with_its_file_is_there(path: Path) -> None:
    """``NAME`` of ``folder/file.py``, or ``NAME`` (``folder/file.py``)."""
    for name, file in re.findall(r"`(\w+)`,? (?:of|in|\() ?`([\w./-]+\.(?:py|java))`", _prose(path)):
        found = _file(file, path)
        if found is not None:
            text = found.read_text(encoding="utf-8")
            assert re.search(rf"\b{name}\b", text), f"there is no {name} in {_name(found)}"


@pytest.mark.parametrize("path", HAND_WRITTEN, ids=_name)
def test_named_targets_of_make_exist(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    commands = re.findall(r"(?:`|^    )make ([a-z][a-z-]*)", path.read_text(encoding="utf-8"), flags=re.M)
    assert set(commands) <= targets


def test_what_targets_of_make_run_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    paths = re.findall(r"(?<=\s)tests/[\w/.]+", makefile)
    modules = [name.replace(".", "/") for name in re.findall(r"-m ((?:tests|bench)[\w.]+)", makefile)]
    found = [*paths, *(f"{name}.py" if (ROOT / f"{name}.py").exists() else name for name in modules)]
    assert len(found) > 20 and [path for path in found if not (ROOT / path).exists()] == []


# ---- statements ----------------------------------------------------------------------------------------

#: pages whose statements build on each other, from top to bottom
RUNNABLE = [
    *(p for p in HAND_WRITTEN if p.parent == generate.REFERENCE),
    ROOT / "docs" / "how-to" / "change-a-query.md",
    ROOT / "docs" / "how-to" / "cookbook.md",
    ROOT / "docs" / "how-to" / "streaming-queries.md",
    ROOT / "docs" / "tutorial.md",
]
#: the README of each story, whose statements are for someone who runs it
STORIES = [p for p in HAND_WRITTEN if (ROOT / "examples") in p.parents]


def _blocks(path: Path) -> list[tuple[str, bool]]:
    """The SQL blocks of a page, and whether their statements are refused.

    A page shows such statements as ``sql refused``, or has them in ``tests/refused``, below the heading after
    whose statements they are tried.
    """
    text = path.read_text(encoding="utf-8")
    aside = ROOT / "tests" / "refused" / f"{path.stem}.sql"
    for heading, refused in _refused(aside) if path.parent == generate.REFERENCE and aside.exists() else []:
        begin = text.index(f"\n{heading}\n")
        end = re.compile(r"^#|\Z", flags=re.M).search(_without_code(text), begin + len(heading) + 1)
        assert end is not None
        text = f"{text[: end.start()]}\n```sql refused\n{refused}```\n{text[end.start() :]}"
    found = re.findall(r"^```sql( refused)?\n(.*?)^```$", text, flags=re.S | re.M)
    return [(text, bool(refused)) for refused, text in found]


def _refused(path: Path) -> list[tuple[str, str]]:
    """Headings, and statements that are refused below them."""
    return re.findall(r"^-- (#+ .*)\n((?:(?!-- #).*\n)+)", path.read_text(encoding="utf-8"), flags=re.M)


def _without_code(text: str) -> str:
    """The text with other characters in place of its blocks of code."""
    return re.sub(r"^```.*?^```$", lambda block: "x" * len(block[0]), text, flags=re.S | re.M)


@pytest.mark.parametrize("path", HAND_WRITTEN, ids=_name)
def test_statements_parse(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    blocks = [block for block, is_refused in _blocks(path) if not is_refused]
    for block in [*blocks, *re.findall(r"^ksql> (.*;)$", text, flags=re.M)]:
        assert grammar.parse(block)


@pytest.mark.parametrize("path", RUNNABLE, ids=_name)
def test_statements_mean_what_the_page_says(path: Path) -> None:
    page = ReferencePage()
    for block, is_refused in _blocks(path):
        for piece in grammar.split(block):
            if is_refused:
                with pytest.raises((KsqlError, grammar.ParseFailed)):
                    page.run(piece.text)
                    pytest.fail(f"{path.name}: this is not refused: {piece.text}")
            else:
                page.run(piece.text)


@pytest.mark.parametrize("path", STORIES, ids=_name)
def test_statements_of_stories_mean_what_the_page_says(path: Path) -> None:
    page = ReferencePage()
    story = (path.parent / f"{path.parent.name}.sql").read_text(encoding="utf-8")
    if "AVRO" in story:
        return  # its columns come from a registry
    for piece in grammar.split(story):
        page.run(piece.text)
    for block, _ in _blocks(path):
        for piece in grammar.split(block):
            page.run(piece.text)


@pytest.mark.parametrize("path", HAND_WRITTEN, ids=_name)
def test_commands_exist(path: Path) -> None:
    named = re.findall(
        r"(?:^    |^\$ |`)(?:\.venv/bin/)?ksql-spark ([a-z]+)", path.read_text("utf-8"), flags=re.M
    )
    assert set(named) <= set(SUBCOMMANDS)


class ReferencePage:
    """The statements of one page, bound and planned one after the other."""

    def __init__(self) -> None:
        self._store = MetaStore()
        self._variables: dict[str, str] = {}

    def run(self, text: str) -> None:
        """Bind one statement, plan it where it is a query, and keep what it declares.

        Raises:
            KsqlError, ParseFailed: the statement is refused.
        """
        statement = grammar.parse_one(text, self._variables)
        store, config = self._store, Config({})
        match statement:
            case DefineVariable():
                self._variables[statement.name] = statement.value
            case UndefineVariable():
                del self._variables[statement.name]
            case CreateType():
                store.add_type(statement.name, analyzer.bind_type(statement.data_type, store))
            case DropType():
                store.drop_type(statement.name)
            case CreateView():
                analyzer.check_view(statement, store, config)
                store.add_view(statement.name, grammar.render(statement.query))
            case CreateIndex():
                store.add_index(analyzer.bind_create_index(statement, store, config))
            case DropSource():
                store.drop(store.require(statement.name).name)
            case CreateSource() | CreateAsSelect() if statement.if_not_exists and store.find(statement.name):
                pass
            case CreateSource():
                store.add(analyzer.bind_create_source(statement, store, config))
            case AlterSource():
                store.add(analyzer.bind_alter_source(statement, store))
            case InsertValues():
                analyzer.bind_insert_values(statement, store, config)
            case RowChange():
                analyzer.bind_row_change(statement, store, config)
            case CreateAsSelect() if analyzer.evolve_of(statement):
                bound = analyzer.bind_evolution(statement, store, config)
                analyzer.check_evolution(store.require(statement.name), bound.sink, (), may_move=True)
                store.add(bound.sink)
            case CreateAsSelect() | InsertSelect():
                bound = analyzer.bind_persistent(statement, store, config)
                by_time = bound.by_event_time
                plan = lower(bound.root, bound.sink, config, "query", by_event_time=by_time)
                check_runnable(plan, FakeRegistry())
                if bound.creates_sink:
                    store.add(bound.sink)
            case Query():
                read = analyzer.bind_read(statement.query, store, config)
                if isinstance(read, Feed):
                    lower_transient(read.root, read.output, "transient", config, "query")


# ---- sections ------------------------------------------------------------------------------------------

INDEX = generate.REFERENCE / "index.md"
#: § -> what the index says of it
SECTIONS = dict(re.findall(r"^\| ([\d.]+) \| (.*) \|$", INDEX.read_text(encoding="utf-8"), flags=re.M))
#: where a § may be named
CODE_SUFFIXES = (".py", ".java", ".sql", ".md", ".toml")


def test_headings_have_the_numbers_that_the_index_says() -> None:
    numbered: dict[str, str] = {}
    for path in RUNNABLE:
        headings = re.findall(r"^## (\d+\.\d+) (.*)$", path.read_text(encoding="utf-8"), flags=re.M)
        for number, title in headings:
            assert number not in numbered, f"{number} is in {path.name} and in {numbered[number]}"
            numbered[number] = f"{path.name}#{generate.anchor(f'{number} {title}')}"
    for number, link in numbered.items():
        assert f"]({link})" in SECTIONS.get(number, ""), f"{INDEX.name} has no {number} that leads to {link}"


def test_sections_that_are_named_exist() -> None:
    files = [p for folder in PACKAGES for p in (ROOT / folder).rglob("*") if p.suffix in CODE_SUFFIXES]
    missing = {
        f"{_name(path)}: §{number}"
        for path in files
        for number in re.findall(r"§\s?(\d+(?:\.\d+)?)", path.read_text(encoding="utf-8"))
        if number not in SECTIONS
    }
    assert len(SECTIONS) > 50 and not missing


#: number -> page
DECISIONS = {int(page.name[:4]): page for page in (ROOT / "docs" / "adr").glob("[0-9]*.md")}


def test_decisions_have_their_numbers_and_are_in_the_index_once() -> None:
    for number, page in DECISIONS.items():
        assert page.read_text(encoding="utf-8").startswith(f"# {number}. "), page.name
    index = (ROOT / "docs" / "adr" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(\d+)\]\((.*?)\) ", index, flags=re.M)
    assert sorted((int(number), name) for number, name in listed) == sorted(
        (number, page.name) for number, page in DECISIONS.items()
    )
    merged = dict(re.findall(r"(\d+) → (\d+)", index))
    assert {int(new) for new in merged.values()} <= set(DECISIONS)
    assert not {int(old) for old in merged} & set(DECISIONS)


def test_decisions_that_are_named_exist() -> None:
    """``ADR 5`` in code and pages is a page, and its link, if it has one, leads to that page."""
    folders = [*PACKAGES, "console/src", "packaging"]
    files = {p for folder in folders for p in (ROOT / folder).rglob("*") if p.suffix in CODE_SUFFIXES}
    named = 0
    for path in [*files, *WRITTEN]:
        text = path.read_text(encoding="utf-8")
        for number, link in re.findall(r"\bADR[\s*#/]+(\d+)(?:\]\([^)]*?(\d{4})-)?", text):
            named += 1
            assert int(number) in DECISIONS, f"{_name(path)}: there is no ADR {number}"
            assert not link or int(link) == int(number), f"{_name(path)}: ADR {number} leads to {link}"
    assert named > 100
