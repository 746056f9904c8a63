"""Write the pages below docs/reference from the tables of the code: ``python docs/generate.py [--check]``.

Each page is a function in PAGES; whatever a page says stands in the code first. Two hand-written pages have a
generated part (PARTS): the packages in docs/architecture.md, and how much Java there is in docs/internals/java.md.
No JVM, no Kafka; run by ``make docs``, and tests/test_docs.py holds that nothing differs.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import math
import re
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi.routing import APIRoute

from ksql_spark.authorization import role_for_statement
from ksql_spark.config import CLIENTS_MAY_SET, PROPERTIES, Property
from ksql_spark.errors import CONDITIONS
from ksql_spark.expressions import Lambda, Literal
from ksql_spark.formats import CAPABILITIES, FORMATS
from ksql_spark.functions import registry
from ksql_spark.functions.examples import example
from ksql_spark.functions.lowering import lower
from ksql_spark.functions.spec import NAMELESS, Category, Kind, Spec, expression
from ksql_spark.grammar import KEYWORDS, class_of, split
from ksql_spark.grammar.rules import StatementSet
from ksql_spark.grammar.statements import RULES
from ksql_spark.grammar.statements.print_topic import PrintTopic
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.grammar.statements.show import LISTED, Show
from ksql_spark.server.app import MODULES
from ksql_spark.server.routes import websocket
from ksql_spark.shell.commands import COMMANDS
from ksql_spark.shell.main import SCRIPTS
from ksql_spark.shell.prompt import completion
from ksql_spark.statements import HANDLERS
from ksql_spark.tools.lint.rules import RULES as RULES_OF_LINT
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
    VARIANT,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
)

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"
#: what the console completes; a change of it needs `make console`
CONSOLE_WORDS = ROOT / "console" / "src" / "sql" / "words.json"
DOCS = ROOT / "docs"
JAVA = ROOT / "ksql_spark" / "jvm" / "org" / "ksqlspark"


# ---- Markdown ------------------------------------------------------------------------------------------


def page(title: str, intro: str, *sections: str) -> str:
    """A whole page: title, note on its origin, sections."""
    note = "<!-- Made by docs/generate.py: change the code, then run `make docs`. -->"
    return "\n\n".join([f"# {title}", note, textwrap.dedent(intro).strip(), *sections]) + "\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; ``|`` in cells is escaped, line breaks become ``<br>``."""
    cells = [header, ["---"] * len(header), *rows]
    clean = [[c.replace("|", "\\|").replace("\n", "<br>") for c in row] for row in cells]
    return "\n".join(f"| {' | '.join(row)} |" for row in clean)


def code(text: str) -> str:
    """Inline code."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def yes(condition: bool) -> str:
    """A check mark or nothing."""
    return "✓" if condition else ""


# ---- functions -----------------------------------------------------------------------------------------


def runs_on(spec: Spec) -> str:
    """``Catalyst`` (Spark's own expressions), ``JVM`` (a function of KsqlCatalog.java) or what is missing."""
    if spec.spark is None:
        return f"not yet: {spec.gap}" if spec.gap else "not yet"
    for shown in spec.examples:
        arguments = [expression(a) for a in shown.args]
        if spec.kind is Kind.AGGREGATE:
            given = zip(shown.args, arguments, strict=True)
            types = [
                a.type.element if isinstance(g, list) and isinstance(a.type, Array) else a.type
                for g, a in given
            ]
            texts = ["x"] * len(types)
        else:
            types = [a.type for a in arguments]
            # constants and lambdas as they are: the text may depend on them
            texts = [lower(a) if isinstance(a, Literal | Lambda) else "x" for a in arguments]
        literals = [a.value if isinstance(a, Literal) else None for a in arguments]
        found = registry.resolve(spec.name, types, literals)
        if "ksql." in spec.spark(texts, found.parameter_types):
            return "JVM"
    return "Catalyst"


def anchor(name: str) -> str:
    """The anchor that GitHub gives the heading of a function."""
    return re.sub(r"[^a-z0-9_ -]", "", name.lower()).replace(" ", "-")


def _function(spec: Spec) -> str:
    parts = [f"### {spec.name}", spec.description]
    parts.append("```\n" + "\n".join(f"{spec.name}{s}" for s in spec.signatures) + "\n```")
    named = {p.name for s in spec.signatures for p in s.parameters}
    if shown := [f"- {code(name)}: {text}" for name, text in spec.parameters.items() if name in named]:
        parts.append("\n".join(shown))
    if spec.beyond:
        parts.append(f"*({spec.beyond[0].lower()}{spec.beyond[1:-1]})*")
    if spec.limits:
        parts.append(f"Limited by {' and '.join(map(code, spec.limits))}.")
    if not spec.is_deterministic:
        parts.append("Each call may give another result.")
    if spec.examples:
        parts.append("```\n" + "\n".join(example(spec, e) for e in spec.examples) + "\n```")
    return "\n\n".join(parts)


def functions() -> str:
    """Every function, by category."""
    listed = [s for s in registry.all_specs() if s.kind not in NAMELESS]
    categories = sorted({s.category for s in listed})
    rows = [
        (
            f"[{s.name}](#{anchor(s.name)})",
            s.category,
            runs_on(s),
            yes(s.undo) if s.kind is Kind.AGGREGATE else "–",
            yes(s.merge) if s.kind is Kind.AGGREGATE else "–",
            str(len(s.examples)),
        )
        for s in listed
    ]
    intro = f"""
        This page lists all {len(listed)} functions; the operators have [a page of their own](operators.md).
        `DESCRIBE FUNCTION name;` shows the same in the shell.

        *Runs on*: Catalyst functions are Spark's own expressions, compiled with the rest of the query; JVM
        functions are our Java code, which the compiled query calls. *Undo*: the aggregate can retract a row, as
        aggregations of tables require. *Merge*: the aggregate can combine two states, as session windows
        require. Single capital letters in a signature are type variables; arguments before `...` may repeat. In
        examples of aggregates, letters are columns, followed by their values. Every example is a test
        (`tests/functions/test_examples.py`).

        Lengths, positions and the order of text are those of UTF-16 units, as in ksqlDB. Where a function
        cuts a character beyond U+FFFF in two, each half becomes `?`: Spark's text is UTF-8 and has no halves.
    """
    sections = [table(("function", "category", "runs on", "undo", "merge", "examples"), rows)]
    for category in categories:
        sections.append(f"## {category}")
        sections += [_function(s) for s in listed if s.category == category]
    return page("Functions", intro, *sections)


def operators() -> str:
    """Every operator."""
    listed = [s for s in registry.all_specs() if s.category == Category.OPERATOR]
    rows = [
        (
            code(s.name),
            s.description,
            "\n".join(code(str(sig)) for sig in s.signatures),
            "\n".join(code(example(s, e)) for e in s.examples),
        )
        for s in listed
    ]
    intro = """
        Operators are specs in the same registry as functions. `NEG` is the minus before a value, `[]` the
        subscript of arrays (from 1; negative from the end) and maps, `ARRAY` and `MAP` the constructors.
    """
    return page("Operators", intro, table(("operator", "what", "types", "examples"), rows))


# ---- statements ----------------------------------------------------------------------------------------


def first_paragraph(thing: Any) -> str:
    """The first paragraph of a docstring, as one line, without where a rule comes from."""
    text = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    return re.sub(r" \(reference [^)]*\)", "", text)


def only_raises(handler: Callable[..., Any]) -> bool:
    """Whether the function does nothing but refuse."""
    (function,) = ast.parse(textwrap.dedent(inspect.getsource(handler))).body
    assert isinstance(function, ast.FunctionDef)
    return all(isinstance(s, ast.Raise) for s in function.body[1:])


def statements_page() -> str:
    """Every statement class of the grammar, and who carries it out."""
    rows = []
    for rule in RULES:
        handler = HANDLERS.get(rule.node)
        if rule.statement_set is not StatementSet.SERVER:
            where = {StatementSet.SCRIPT: "shell", StatementSet.TEST: "parsed only"}[rule.statement_set]
        elif rule.node in (Query, PrintTopic):
            where = "✓ `/query-stream`"
        elif handler is None or only_raises(handler):
            where = "parsed, not done yet"
        else:
            where = "✓ `/ksql`"
        family = rule.node.__module__.rsplit(".", 1)[-1]
        text = f"SHOW (or LIST) {', '.join(LISTED)}"
        syntax = (text if rule.node is Show else first_paragraph(rule.node)).split(";")[0].removesuffix(".")
        rows.append((code(rule.node.__name__), code(family), code(syntax), where))
    intro = """
        This page lists every statement of the grammar; the module is `grammar/statements/<family>.py`. *Where*
        is the endpoint that runs the statement (✓). If a part of a statement does not run yet, the error is
        `NOT_DONE_YET` ([errors](error-codes.md)) and says what to do instead. `…`, `[ ]` and `|` are not part of the
        syntax; [grammar/README.md](../../grammar/README.md) describes the nodes.
    """
    return page("Statements", intro, table(("class", "family", "statement", "where"), rows))


# ---- properties ----------------------------------------------------------------------------------------


def _default(entry: Property) -> str:
    if entry.default is None or entry.default == "" or entry.default == []:
        return ""
    default = entry.default
    if isinstance(default, list):
        return code(",".join(map(str, default)))
    return code(str(default).lower() if isinstance(default, bool) else str(default))


def _allowed(entry: Property) -> str:
    if entry.choices:
        return ", ".join(map(code, entry.choices))
    return f"≥ {entry.minimum:g}" if entry.minimum is not None else ""


def properties() -> str:
    """Every property of our own, and whether anything reads it."""
    rows = []
    for entry in PROPERTIES.values():
        rows.append(
            (
                code(entry.name),
                entry.type,
                _default(entry),
                _allowed(entry),
                yes(entry.editable),
                yes(entry.in_force),
                entry.description,
            )
        )
    intro = """
        The server takes properties from `--properties FILE`, then from the environment (`KSQL_` and the
        name in capitals, `_` for a dot, `__` for an underscore, `___` for a dash), then from its options;
        the later one wins. A session overrides those marked *SET* with `SET 'name' = 'value';`, and a REST
        request with `streamsProperties` or `properties`.

        Properties that are not *in force* change nothing. The server knows them so that it accepts
        configurations of ksqlDB and still finds typing mistakes. It warns about them: in the answer to SET, in
        the first entity of a request, and, for its configuration, in its log. You may omit the prefix `ksql.streams.`.
        Settings of Kafka's clients (`ssl.*`, `sasl.*`, `security.protocol` …) go to all clients; those that
        begin with `ksql.streams.consumer.` and `ksql.streams.producer.` go to the clients that read and write records.
        These report their metrics to JMX only with `ksql.streams.metric.reporters =
        org.apache.kafka.common.metrics.JmxReporter`, and to brokers with `ksql.streams.enable.metrics.push = true`.
        The server does not start with a value that a client would reject.
        `spark.*` goes to Spark. So does `fs.*`, as `spark.hadoop.fs.*`, for Hadoop's file systems.
        The server ends its start if a value is not what Spark expects, or if a name is not Spark's but looks like one.
    """
    header = ("property", "type", "default", "allowed", "SET", "in force", "what")
    clients = """
        ## What a client may set

        With SET, ALTER SYSTEM, `streamsProperties` or `properties`, a client may set the properties marked *SET*
        above, and these of Kafka's settings, bare or with a prefix (`ksql.streams.`, `consumer.`, `producer.`,
        `topic.` …). All others are refused, above all what names a class, a host, a file, an identity or a
        secret: `sasl.*`, `ssl.*`, `security.protocol`, `interceptor.classes`, `metric.reporters`,
        `rocksdb.config.setter`, serializers. The server's own configuration may set them all, and
        `ksql.properties.overrides.denylist` takes away more.
    """
    names = ", ".join(code(name) for name in sorted(CLIENTS_MAY_SET))
    return page("Properties", intro, table(header, rows), textwrap.dedent(clients).strip(), names)


# ---- errors --------------------------------------------------------------------------------------------


def errors() -> str:
    """Every error condition."""
    rows = [
        (code(name), str(c.code), HTTPStatus(c.code // 100).phrase, c.message)
        for name, c in sorted(CONDITIONS.items())
    ]
    intro = """
        This page lists every error that a user can get. The code is the `error_code` of the REST API; its first
        three digits are the HTTP status. The server fills in `{names}`. If it knows the place in the statement,
        it shows the place with a caret, and a hint what to do. Codes for requests that never reach a statement
        are in `server/errors.py`.
    """
    return page("Error codes", intro, table(("condition", "code", "HTTP", "message"), rows))


# ---- formats -------------------------------------------------------------------------------------------

_SHOWN_TYPES: dict[str, SqlType] = {
    **{str(t): t for t in (BOOLEAN, INTEGER, BIGINT, DOUBLE)},
    "DECIMAL(p, s)": Decimal(10, 2),
    **{str(t): t for t in (STRING, BYTES, DATE, TIME, TIMESTAMP, VARIANT)},
    "ARRAY": Array(STRING),
    "MAP<STRING, …>": Map(STRING, STRING),
    "MAP of other keys": Map(INTEGER, STRING),
    "STRUCT": Struct((Field("F", STRING),)),
}


def formats() -> str:
    """Every format, and which types it carries."""
    listed = [(name, CAPABILITIES[name]) for name in sorted(CAPABILITIES)]
    single = {
        (True, True): "record, or bare on demand",
        (True, False): "bare",
        (False, True): "record",
        (False, False): "",
    }
    rows = [
        ("records can be read and written", *(yes(n in FORMATS) or "not yet" for n, _ in listed)),
        ("as key", *(yes(True) for _ in listed)),
        ("as value", *(yes(c.values) for _, c in listed)),
        ("columns at most", *("" if c.max_columns is None else str(c.max_columns) for _, c in listed)),
        ("a single value column", *(single[c.unwrapped, c.wrapped] for _, c in listed)),
        ("columns from a schema registry", *(yes(c.registry) for _, c in listed)),
        *((name, *(yes(c.carries(t)) for _, c in listed)) for name, t in _SHOWN_TYPES.items()),
    ]
    intro = """
        What KEY_FORMAT and VALUE_FORMAT may name, and what each can carry. A key never holds a MAP. A
        source without key columns has the key format NONE.
    """
    return page("Formats", intro, table(("", *(name for name, _ in listed)), rows))


# ---- REST and shell ------------------------------------------------------------------------------------


def rest() -> str:
    """Every endpoint."""
    routes = [
        r
        for m in MODULES
        for r in m.router.routes
        if isinstance(r, APIRoute)
    ]
    rows = [("GET", code("/ws/query"), first_paragraph(websocket.ws_query).replace("``", "`"))]
    rows += [
        (" ".join(sorted(r.methods or ())), code(r.path), first_paragraph(r.endpoint).replace("``", "`"))
        for r in sorted(routes, key=lambda r: ("GET" in (r.methods or ()), r.path))
    ]
    intro = """
        This page lists the endpoints; [REST protocol](rest-protocol.md) describes requests and responses. Bodies
        have ksqlDB's form: `{"ksql": …, "streamsProperties": …}` for `/ksql` and `/query`, `{"sql": …,
        "properties": …}` for `/query-stream`. Every error has a code ([list](error-codes.md)), even for an unknown
        path (40400) or method (40500). `GET /openapi.json` describes bodies and media types, `GET /docs` shows
        that as a page.
    """
    return page("REST API", intro, table(("method", "path", "what"), rows))


def shell_commands() -> str:
    """The commands of the shell, and how scripts run."""
    rows = [(code(c.usage), c.help) for c in COMMANDS]
    intro = """
        What the shell understands beside statements, whatever the case, with or without `;`. Its options
        are in `ksql-spark --help`.
    """
    ways = [
        (code("ksql-spark -e STATEMENTS"), code("-e")),
        (code("ksql-spark -f FILE"), "the file"),
        (code("ksql-spark run FILE…"), "the file; all files are read before the first statement runs"),
        (code("… | ksql-spark"), f"{code('<stdin>')}; each statement runs as soon as it is there"),
        (code("RUN SCRIPT 'FILE';"), "the file; in the shell, the prompt goes on after the error"),
    ]
    return page(
        "Shell commands",
        intro,
        table(("command", "what"), rows),
        "## Scripts",
        " ".join(SCRIPTS.split()),
        table(("way", "FILE in errors"), ways),
    )


def lint() -> str:
    """The rules of ``ksql-spark lint``."""
    intro = """
        What `ksql-spark lint FILE…` finds ([how to](command-line.md#88-lint)). A comment `-- lint: ignore(RULE)` in
        a statement, or in the line before it, ignores the rule there.
    """
    rows = [(f"[{rule.name}](#{rule.name})", rule.title) for rule in RULES_OF_LINT]
    sections = []
    for rule in RULES_OF_LINT:
        sections += [f"## {rule.name}", f"{rule.title}.", rule.why]
        sections += ["Found:", f"```sql\n{rule.bad}\n```", "Not found:", f"```sql\n{rule.good}\n```"]
    return page("Lint", intro, table(("rule", "what it finds"), rows), *sections)


# ---- generated parts of hand-written pages -------------------------------------------------------------


def _first_sentence(module: str) -> str:
    """The first sentence of a module's or package's docstring, as Markdown."""
    path = ROOT / module.replace(".", "/")
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    sentence = re.split(r"(?<=[^.])\.(?: |$)", " ".join(text.split("\n\n")[0].split()))[0]
    return re.sub(r" \(reference [^)]*\)", "", sentence).replace("``", "`")


def packages() -> str:
    """The layers that import-linter checks, from top to bottom, with what each module says of itself."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(c["layers"] for c in contracts if c.get("containers") == ["ksql_spark"])
    rows = [
        (str(number), code(module), _first_sentence(module))
        for number, layer in enumerate(layers, 1)
        for module in (f"ksql_spark.{name.strip()}" for name in layer.split("|"))
    ]
    return table(("layer", "module", "what it is for"), rows)


def _lines(paths: Iterable[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def _package_doc(package: Path) -> str:
    """The text of package-info.java's comment."""
    comment = (package / "package-info.java").read_text(encoding="utf-8").split("*/")[0]
    return " ".join(line.strip("/* ") for line in comment.splitlines()).strip()


def java() -> str:
    """The packages of the JVM classes with their lines, up to the next hundred; Java's share of all."""
    packages = sorted(info.parent for info in JAVA.rglob("package-info.java"))
    lines = {package: _lines(package.glob("*.java")) for package in packages}
    python = _lines(
        path for name in ("grammar", "ksql_spark", "server", "shell") for path in (ROOT / name).rglob("*.py")
    )
    share = sum(lines.values()) / (sum(lines.values()) + python)
    rows = [
        (f"`{'.'.join(at.relative_to(JAVA).parts)}`", _package_doc(at), f"{math.ceil(lines[at] / 100) * 100}")
        for at in packages
    ]
    text = f"About {share:.0%} of the product's lines are Java, the rest is Python."
    return f"{text}\n\n{table(('package', 'what it contains', 'lines, up to'), rows)}"


#: page -> the name of its generated part, and what makes that
PARTS: dict[Path, tuple[str, Callable[[], str]]] = {
    DOCS / "architecture.md": ("packages", packages),
    DOCS / "internals" / "java.md": ("java", java),
}


def with_part(path: Path) -> str:
    """A hand-written page with its generated part as it should be."""
    name, build = PARTS[path]
    begins, ends = f"<!-- {name}: written by make docs -->\n", f"<!-- end of {name} -->\n"
    before, _, rest = path.read_text(encoding="utf-8").partition(begins)
    _, _, after = rest.partition(ends)
    return f"{before}{begins}{build().strip()}\n{ends}{after}"


#: file below docs/reference -> what makes it
PAGES: dict[str, Callable[[], str]] = {
    "error-codes.md": errors,
    "formats.md": formats,
    "functions.md": functions,
    "lint.md": lint,
    "operators.md": operators,
    "properties.md": properties,
    "rest.md": rest,
    "shell.md": shell_commands,
    "statements.md": statements_page,
}


def console_words() -> str:
    """The words that the console's editor completes and colours: the shell's."""
    statements = {**{start: start for start in completion.STARTS}, **completion.SKELETONS}
    words = {
        "keywords": sorted(KEYWORDS),
        "starts": completion.STARTS,
        "shown": completion.SHOWN,
        "types": completion.DATA_TYPES,
        "properties": completion.WITH_PROPERTIES,
        "clauses": completion.CLAUSES,
        "formats": completion.FORMATS,
        "skeletons": completion.SKELETONS,
        "roles": {label: _role(text) for label, text in statements.items()},
    }
    return json.dumps(words, indent=1) + "\n"


def _role(text: str) -> str:
    """The least role that may run the statement that begins with ``text``."""
    return role_for_statement(class_of(split(text)[0])).label


def differing() -> dict[Path, str]:
    """The pages that are not as the code would have them, with what they should be."""
    made = {REFERENCE / name: build() for name, build in PAGES.items()}
    made |= {path: with_part(path) for path in PARTS}
    made[CONSOLE_WORDS] = console_words()
    return {p: t for p, t in made.items() if not p.exists() or p.read_text(encoding="utf-8") != t}


def main(argv: Sequence[str]) -> int:
    """Write the pages, or with --check only name those that differ (exit code 1)."""
    parser = argparse.ArgumentParser(
        prog="docs/generate.py", description="Write docs/reference from the code."
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a page differs")
    options = parser.parse_args(argv)
    changed = differing()
    for path, text in changed.items():
        print(f"{path.relative_to(ROOT)}: {'differs' if options.check else 'written'}")
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if options.check and changed:
        print("Run `make docs`.", file=sys.stderr)
    return int(options.check and bool(changed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
