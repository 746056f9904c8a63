"""The language server, driven over standard input and output by pygls' client; and its answers themselves."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from ksql_spark.shell.prompt.metadata import Metadata
from ksql_spark.tools.lint.rules import ERROR
from ksql_spark.tools.lsp import text
from ksql_spark.tools.lsp.main import MAX_CHARACTERS

SOON_S = 300
FILE = """\
CREATE STREAM rides (id STRING KEY, fare DOUBLE, place STRUCT<lat DOUBLE, lon DOUBLE>)
  WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON');
CREATE TABLE `Zones` (zone INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='zones', VALUE_FORMAT='JSON');
CREATE STREAM big AS SELECT id, fare, UCASE(id) AS name FROM rides WHERE fare > 10 EMIT CHANGES;
"""


def at(source: str, mark: str) -> int:
    """The offset of the end of ``mark``."""
    return source.index(mark) + len(mark)


@pytest.mark.parametrize(
    ("more", "first"),
    [
        ("SELECT * FROM bi", ["big"]),
        ("SELECT b. FROM big b WHERE b.", ["ID", "FARE", "NAME"]),
        ("SELECT * FROM rides r WHERE r.place->", ["LAT", "LON"]),
        ("SELECT * FROM rides WHERE uca", ["ucase("]),
        ("CREATE STREAM x (k INT KEY) WITH (VALUE_FORMAT='AV", ["AVRO'"]),
        ("PRINT ", ["BIG", "rides", "zones"]),
    ],
)
def test_completion_knows_what_the_file_declares(more: str, first: list[str]) -> None:
    source = FILE + more
    found = [one.text for one in text.completions(source, len(source), Metadata())]
    assert found[: len(first)] == first


@pytest.mark.parametrize(
    ("more", "first"),
    [
        ("SELECT b.| FROM big b EMIT CHANGES;\n", ["ID", "FARE", "NAME"]),
        ("SELECT | FROM `Zones`;\n", ["ZONE", "NAME"]),
        ("SELECT q.| FROM (SELECT fare AS much FROM rides r) q;\n", ["MUCH"]),
        ("WITH c AS (SELECT place FROM rides) SELECT c.place->| FROM c;\n", ["LAT", "LON"]),
        ("CREATE TABLE t AS SELECT r.| FROM rides r\n\nINSERT INTO a SELECT * FROM big r;\n", ["ID", "FARE"]),
    ],
)  # fmt: skip
def test_completion_reads_on_after_the_cursor(more: str, first: list[str]) -> None:
    before, after = f"{FILE}{more}SELECT x FROM rides b, r, q, c;".split("|")
    found = [one.text for one in text.completions(before + after, len(before), Metadata())]
    assert found[: len(first)] == first


def test_completion_knows_what_a_server_has() -> None:
    known = Metadata(streams={"THERE": ("K",)}, schemas={"THERE": {"K": {"type": "STRING"}}})
    found = [one.text for one in text.completions(f"{FILE}SELECT * FROM ", len(FILE) + 14, known)]
    assert {"THERE", "RIDES", "BIG", "Zones"} <= set(found)


def test_statements_may_name_what_a_server_has() -> None:
    known = Metadata(
        streams={"THERE": ("K", "V")},
        schemas={"THERE": {"K": {"type": "STRING"}, "V": {"type": "INTEGER"}}},
        keys={"THERE": ("K",)},
    )
    source = "CREATE STREAM mine AS SELECT k, v FROM there EMIT CHANGES;\nSELECT w FROM mine EMIT CHANGES;\n"
    assert [one.line for one in text.findings(source)] == [1]
    (wrong,) = text.findings(source, known)
    assert (wrong.line, "W" in wrong.message) == (2, True)
    assert text.metadata(source, known).streams["MINE"] == ("K", "V")
    # a file that creates it itself is no second one
    itself = "CREATE STREAM there (k STRING KEY) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');\n"
    assert text.findings(itself, known) == []


@pytest.mark.parametrize(
    ("mark", "says"),
    [
        ("FROM rid", "STREAM RIDES (\n  ID STRING,\n  FARE DOUBLE,"),
        ("`Zon", "TABLE Zones (\n  ZONE INTEGER,"),
        ("UCA", "UCASE(text STRING) → STRING"),
        ("SELECT id, fa", "FARE DOUBLE"),
        ("SEL", "query streams and tables"),
    ],
)
def test_hover(mark: str, says: str) -> None:
    found = text.hover(FILE, at(FILE, mark), Metadata())
    assert found is not None and says in found[0]


def test_hover_of_nothing() -> None:
    assert text.hover(FILE, at(FILE, "> 1"), Metadata()) is None
    assert text.hover("", 0, Metadata()) is None


def test_definition() -> None:
    assert text.definition(FILE, "RIDES") == text.Place(1, 15, 5)
    assert text.definition(FILE, "Zones") == text.Place(3, 14, 7)
    assert text.definition(FILE, "BIG") == text.Place(4, 15, 3)
    assert text.definition(FILE, "NOWHERE") is None
    assert text.definition("CREATE STREAM ( broken; " + FILE, "RIDES") is not None


def test_findings_and_layout_are_those_of_lint_and_fmt() -> None:
    (finding,) = text.findings("SELECT nothing FROM nowhere EMIT CHANGES;")
    assert finding.rule == "error" and "NOWHERE" in finding.message
    assert text.laid_out("show   streams;") == "SHOW STREAMS;\n"


@pytest.mark.parametrize("more", ["SELECT 'a", "SELECT `a", "SELECT 1 /* a", "CREATE FUNCTION f AS $$ a"])
def test_what_is_never_closed_keeps_the_layout(more: str) -> None:
    source = FILE.lower() + more
    assert text.laid_out(source) == source
    assert any(one.rule == ERROR for one in text.findings(source))


def test_half_a_statement_is_no_problem() -> None:
    for end in range(0, len(FILE), 7):
        text.completions(FILE, end, Metadata())
        text.hover(FILE[:end], end, Metadata())
        text.findings(FILE[:end])


def test_an_editor(tmp_path: Path) -> None:
    """As an editor does: open, complete, hover, go to the definition, format, change; in UTF-16 units."""
    asyncio.run(asyncio.wait_for(_edit((tmp_path / "a.ksql").as_uri()), SOON_S))


async def _edit(uri: str) -> None:
    client = LanguageClient("test", "1")
    published: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
    client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: published.put_nowait(params))
    code = "import sys; from ksql_spark.shell.main import main; sys.exit(main(['lsp', '--stdio']))"
    await client.start_io(sys.executable, "-c", code)
    try:
        initialized = await client.initialize_async(types.InitializeParams(types.ClientCapabilities()))
        able = initialized.capabilities
        assert able.hover_provider and able.definition_provider and able.document_formatting_provider
        client.initialized(types.InitializedParams())
        source = f"{FILE}SELECT '\N{TROPICAL FISH}', fa FROM rides EMIT CHANGES;\n"
        opened = types.TextDocumentItem(uri, "ksql", 1, source)
        client.text_document_did_open(types.DidOpenTextDocumentParams(opened))
        found = (await published.get()).diagnostics
        (error,) = [one for one in found if one.severity == types.DiagnosticSeverity.Error]
        assert "FA" in error.message and error.range.start == types.Position(4, 13), "a fish is two units"
        document = types.TextDocumentIdentifier(uri)
        # the offsets of what follows are in UTF-16 too
        after_fa = types.Position(4, 15)
        listed = await client.text_document_completion_async(types.CompletionParams(document, after_fa))
        assert isinstance(listed, types.CompletionList)
        (fare,) = [one for one in listed.items if one.label == "fare"]
        assert fare.detail == "DOUBLE" and isinstance(fare.text_edit, types.TextEdit)
        assert fare.text_edit.range == types.Range(types.Position(4, 13), after_fa)
        rides = types.Position(4, 22)
        hover = await client.text_document_hover_async(types.HoverParams(document, rides))
        assert hover is not None and "STREAM RIDES" in hover.contents.value  # type: ignore[union-attr]
        place = await client.text_document_definition_async(types.DefinitionParams(document, rides))
        assert isinstance(place, types.Location) and place.range.start == types.Position(0, 14)
        edits = await client.text_document_formatting_async(
            types.DocumentFormattingParams(document, types.FormattingOptions(2, True))
        )
        assert edits and edits[0].new_text == text.laid_out(source)
        changed = types.VersionedTextDocumentIdentifier(2, uri)
        client.text_document_did_change(
            types.DidChangeTextDocumentParams(changed, [types.TextDocumentContentChangeWholeDocument(FILE)])
        )
        left = (await published.get()).diagnostics
        assert all(one.severity == types.DiagnosticSeverity.Warning and one.code for one in left)
        # a file that would take minutes has one message, and nothing else
        long = f"{FILE}{'x ' * MAX_CHARACTERS}"
        changed = types.VersionedTextDocumentIdentifier(3, uri)
        client.text_document_did_change(
            types.DidChangeTextDocumentParams(changed, [types.TextDocumentContentChangeWholeDocument(long)])
        )
        (only,) = (await published.get()).diagnostics
        assert "Split it" in only.message
        assert await client.text_document_hover_async(types.HoverParams(document, rides)) is None
        await client.shutdown_async(None)
        client.exit(None)
    finally:
        await client.stop()


def test_the_extension_of_vs_code_is_whole() -> None:
    folder = Path(__file__).parent.parent.parent / "packaging" / "vscode"
    package = json.loads((folder / "package.json").read_text())
    assert (folder / package["main"]).exists()
    (language,) = package["contributes"]["languages"]
    json.loads((folder / language["configuration"]).read_text())
    used = set(re.findall(r'settings\.get\("(\w+)"\)', (folder / package["main"]).read_text()))
    assert {f"ksql-spark.{name}" for name in used} == set(
        package["contributes"]["configuration"]["properties"]
    )
