"""%ksql and %%ksql in IPython, and in a kernel of Jupyter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.live_server import LiveServer

IPython = pytest.importorskip("IPython")

from IPython.core.completer import provisionalcompleter  # noqa: E402
from IPython.core.interactiveshell import InteractiveShell  # noqa: E402
from IPython.utils.capture import capture_output  # noqa: E402

from ksql_spark import client  # noqa: E402
from ksql_spark.shell import notebook  # noqa: E402


@pytest.fixture
def ipython(server: LiveServer) -> Iterator[InteractiveShell]:
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "ksql_spark")
    shell.run_line_magic("ksql", f"--connect {server.url}")
    yield shell
    shell.run_line_magic("unload_ext", "ksql_spark")
    InteractiveShell.clear_instance()


def run(shell: InteractiveShell, text: str) -> tuple[Any, str, str]:
    """The result of a cell, what it displays, and what it prints as errors."""
    with capture_output() as captured:
        result = shell.run_cell(text).result
    shown = "\n".join(str(output.data.get("text/plain")) for output in captured.outputs)
    return result, captured.stdout + shown, captured.stderr


def test_a_pull_query_is_a_frame(ipython: InteractiveShell) -> None:
    pandas = pytest.importorskip("pandas")
    result, _, errors = run(ipython, "frame = %ksql SELECT * FROM users WHERE id = 1;\nframe")
    assert isinstance(result, pandas.DataFrame) and len(result) >= 1 and not errors


def test_a_pull_query_without_pandas(ipython: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "find_spec", lambda name: None)
    result, shown, _ = run(ipython, "%ksql SELECT * FROM users WHERE id = 1;")
    assert result is None and "|" in shown and "rows" in shown


def test_a_cell_of_statements(ipython: InteractiveShell) -> None:
    result, shown, errors = run(ipython, "%%ksql\nSHOW TABLES; -- and\nSHOW STREAMS;")
    assert "Table Name" in shown and "Stream Name" in repr(result) and not errors
    assert result.entities[0]["@type"] == "streams" and "<pre>" in result._repr_html_()


def test_a_push_query_is_a_live_table(ipython: InteractiveShell) -> None:
    result, shown, errors = run(ipython, "%%ksql --limit 2\nSELECT * FROM orders EMIT CHANGES;")
    assert result is None and "2 rows" in shown and not errors
    _, shown, errors = run(ipython, "%%ksql --timeout 0.5\nSELECT * FROM orders EMIT CHANGES;")
    assert "rows" in shown and not errors


@pytest.mark.parametrize(("chart", "drawn"), [("bars", "▇"), ("lines", "seconds")])
def test_a_push_query_is_a_chart(ipython: InteractiveShell, chart: str, drawn: str) -> None:
    cell = f"%%ksql --limit 2 --chart {chart}\nSELECT * FROM orders EMIT CHANGES;"
    _, shown, errors = run(ipython, cell)
    assert drawn in shown and "2 rows" in shown and "\x1b" not in shown and not errors


def test_errors_have_a_caret_and_no_stack_trace(
    ipython: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: client.Connection, text: str) -> None:
        raise client.ProgrammingError("line 1:1: Syntax Error\n  SELEC 1\n  ^^^^^")

    with monkeypatch.context() as patched:
        patched.setattr(client.Connection, "run", fail)
        with capture_output() as captured:
            failed = ipython.run_cell("%ksql SELEC 1;")
    shown, errors = captured.stdout, captured.stderr
    assert not failed.success and "  SELEC 1\n  ^^^^^" in shown + errors and "Traceback" not in shown + errors
    _, shown, errors = run(ipython, "%ksql --connect http://127.0.0.1:1")
    assert "No server answers" in shown + errors and "Traceback" not in shown + errors


@pytest.mark.parametrize(
    ("line", "cell", "limit", "text"),
    [
        ("SELECT 'a  --limit 3', \"b\" FROM t", None, None, "SELECT 'a  --limit 3', \"b\" FROM t"),
        ("--limit 3 SELECT -1 FROM t", None, 3, " SELECT -1 FROM t"),
        ("-- a comment", None, None, "-- a comment"),
        ("--limit=3 --timeout 2", "SELECT 1", 3, "SELECT 1"),
    ],
)
def test_options(line: str, cell: str | None, limit: int | None, text: str) -> None:
    options, found = notebook._options(line, cell)
    assert (options.limit, found) == (limit, text)


def test_wrong_options() -> None:
    for line in ("--limit x", "SELECT 1"):
        with pytest.raises(notebook.UsageError):
            notebook._options(line, "SELECT 1")


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("%ksql SEL", ["SELECT"]),
        ("a = 1\nframe = %ksql SELECT * FROM RI", ["RIDES"]),
        ("%ksql SELECT * FROM RI", ["RIDES"]),
        ("%%ksql --limit 3\nSHOW TABLES;\nSELECT ZON| FROM rides", ["ZONE"]),
        ("%%ksql\nSELECT *\n  FROM ZO", ["ZONES"]),
        ("print(SEL", []),
    ],
)
def test_completion(ipython: InteractiveShell, cell: str, found: list[str]) -> None:
    metadata = ipython.magics_manager.registry["KsqlMagics"]._metadata
    metadata.current = metadata.fetch()
    at = cell.find("|") if "|" in cell else len(cell)
    with provisionalcompleter():
        completed = ipython.Completer.completions(cell.replace("|", ""), at)
        assert [one.text for one in completed if one.text.isupper()] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("%ksql --", ["--connect", "--limit", "--timeout", "--chart"]),
        ("%%ksql --limit 3 --c", ["--connect", "--chart"]),
        ("%ksql SELECT 1 --", []),
    ],
)
def test_completion_of_options(ipython: InteractiveShell, text: str, found: list[str]) -> None:
    magics = ipython.magics_manager.registry["KsqlMagics"]
    assert [one for one in magics.complete(text) if one.startswith("--")] == found


def test_braces_are_a_statements_own(ipython: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    connection = ipython.magics_manager.registry["KsqlMagics"].database.connection
    monkeypatch.setattr(connection, "run", lambda text: ran.append(text) or [])
    insert = "INSERT INTO s VALUES ('{\"id\":1}', '${x}', '{x}');"
    for cell in (f"%ksql {insert}", f"%%ksql\n{insert}"):
        assert run(ipython, cell) == (None, "", "")
    assert [text.replace("\n", "") for text in ran] == [insert, insert]


def test_in_a_kernel(server: LiveServer) -> None:
    pytest.importorskip("ipykernel")
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    cells = [
        "%load_ext ksql_spark",
        f"%ksql --connect {server.url}",
        "%ksql SHOW TABLES",
        "%%ksql --limit 1\nSELECT * FROM orders EMIT CHANGES;",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    shown = [str(cell.outputs) for cell in book.cells]
    assert "Table Name" in shown[2] and "1 rows" in shown[3] and "text/html" in shown[3]


def test_without_ipython_the_package_imports() -> None:
    code = "import sys; sys.modules['IPython'] = None; import ksql_spark; ksql_spark.connect"
    subprocess.run([sys.executable, "-c", code], check=True)
