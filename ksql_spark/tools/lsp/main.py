"""``ksql-spark lsp``: the language server, over standard input and output."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from ksql_spark import __version__
from ksql_spark.shell.client import Client
from ksql_spark.shell.prompt.metadata import Metadata, MetadataCache
from ksql_spark.tools.lint.linter import Finding
from ksql_spark.tools.lint.rules import ERROR
from ksql_spark.tools.lsp import text

#: how long the first errors of a file wait for what a server has
ANSWER_S = 10.0
#: a longer file would keep the editor waiting for minutes, after each key
MAX_CHARACTERS = 1_000_000
_TOO_LONG = f"This file has more than {MAX_CHARACTERS:,} characters. Split it to get errors and completion."
_KINDS = {
    "column": types.CompletionItemKind.Field,
    "field": types.CompletionItemKind.Field,
    "function": types.CompletionItemKind.Function,
    "keyword": types.CompletionItemKind.Keyword,
    "source": types.CompletionItemKind.Class,
    "type": types.CompletionItemKind.TypeParameter,
    "property": types.CompletionItemKind.Property,
    "value": types.CompletionItemKind.EnumMember,
    "format": types.CompletionItemKind.EnumMember,
}


def main(argv: Sequence[str]) -> int:
    """Serve an editor until it ends; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="ksql-spark lsp",
        description="A language server for editors, over standard input and output: completion, errors, "
        "hover, go to definition, formatting. It knows what a file declares and, with --server, what a "
        "server has.",
    )
    parser.add_argument("--server", metavar="URL", help="a server whose streams and tables are known too")
    parser.add_argument("--stdio", action="store_true", help=argparse.SUPPRESS)  # some editors always give it
    options = parser.parse_args(argv)
    cache = MetadataCache(Client(options.server)) if options.server else None
    if cache is not None:
        cache.refresh()
    create(cache).start_io()
    return 0


def create(cache: MetadataCache | None = None) -> LanguageServer:
    """Create the language server.

    Args:
        cache: what a server of ours has, or None.
    """
    server = LanguageServer("ksql-spark", __version__)

    def metadata() -> Metadata:
        return cache.current if cache is not None else Metadata()

    def document(uri: str) -> TextDocument:
        found = server.workspace.get_text_document(uri)
        # too long: an empty one, about which there is nothing to say
        return found if len(found.source) <= MAX_CHARACTERS else TextDocument(uri, "", found.version)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened_file(params: types.DidOpenTextDocumentParams) -> None:
        # what our server has belongs to the first errors; it may have answered late, or not at all
        until = time.monotonic() + ANSWER_S
        while cache is not None and not cache.current.functions and time.monotonic() < until:
            await asyncio.sleep(0.1)
        check(params)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def check(params: types.DidOpenTextDocumentParams | types.DidChangeTextDocumentParams) -> None:
        opened = document(params.text_document.uri)
        diagnostics = [_diagnostic(one, opened) for one in text.findings(opened.source, metadata())]
        if len(server.workspace.get_text_document(opened.uri).source) > MAX_CHARACTERS:
            diagnostics = [types.Diagnostic(_range(text.Place(1, 1, 1), opened), _TOO_LONG)]
        server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(opened.uri, diagnostics, opened.version)
        )

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        if cache is not None:
            cache.refresh()

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[".", ">", "'", "("])
    )
    def completion(params: types.CompletionParams) -> types.CompletionList:
        opened = document(params.text_document.uri)
        offset = opened.offset_at_position(params.position)
        items = []
        for number, one in enumerate(text.completions(opened.source, offset, metadata())):
            begin = opened.position_codec.position_to_client_units(
                opened.lines, _position(opened.source, offset - one.length)
            )
            items.append(
                types.CompletionItem(
                    one.text,
                    kind=_KINDS.get(one.kind, types.CompletionItemKind.Text),
                    detail=one.meta or one.kind,
                    sort_text=f"{number:05}",
                    text_edit=types.TextEdit(types.Range(begin, params.position), one.text),
                )
            )
        return types.CompletionList(is_incomplete=False, items=items)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        opened = document(params.text_document.uri)
        hovered = text.hover(opened.source, opened.offset_at_position(params.position), metadata())
        if hovered is None:
            return None
        content, place = hovered
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, content), _range(place, opened))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: types.DefinitionParams) -> types.Location | None:
        here = document(params.text_document.uri)
        word = text.word_at(here.source, here.offset_at_position(params.position))
        if word is None:
            return None
        # the file itself first, then the other open ones
        others = (other for uri, other in server.workspace.text_documents.items() if uri != here.uri)
        for opened in (here, *others):
            place = text.definition(opened.source, text.name_of(word[0]))
            if place is not None:
                return types.Location(opened.uri, _range(place, opened))
        return None

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        opened = document(params.text_document.uri)
        new = text.laid_out(opened.source)
        if new == opened.source:
            return []
        whole = types.Range(types.Position(0, 0), types.Position(len(opened.lines) + 1, 0))
        return [types.TextEdit(whole, new)]

    return server


def _diagnostic(finding: Finding, opened: TextDocument) -> types.Diagnostic:
    place = text.Place(finding.line, finding.column, finding.length)
    is_error = finding.rule == ERROR
    return types.Diagnostic(
        _range(place, opened),
        finding.message,
        severity=types.DiagnosticSeverity.Error if is_error else types.DiagnosticSeverity.Warning,
        code=None if is_error else finding.rule,
        source="ksql-spark",
    )


def _range(place: text.Place, opened: TextDocument) -> types.Range:
    """A place in the units of the editor."""
    begin = types.Position(place.line - 1, place.column - 1)
    end = types.Position(place.line - 1, place.column - 1 + place.length)
    return opened.position_codec.range_to_client_units(opened.lines, types.Range(begin, end))


def _position(source: str, offset: int) -> types.Position:
    return types.Position(source.count("\n", 0, offset), offset - source.rfind("\n", 0, offset) - 1)
