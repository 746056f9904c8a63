"""``ksql-spark mcp``, asked by the SDK's own client; the engine is a fake one."""

from __future__ import annotations

import asyncio
import base64
import shlex
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client as Assistant
from mcp import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver.exceptions import ToolError

from ksql_spark import grammar
from ksql_spark.authorization import Role, check_statement, role_for_statement
from ksql_spark.config import Config
from ksql_spark.engine import Request, ResultColumn, Row
from ksql_spark.entities import Entity
from ksql_spark.grammar.statements import RULES, session
from ksql_spark.server.security import passwords
from ksql_spark.shell.client import Client
from ksql_spark.shell.main import main
from ksql_spark.tools import assistants, branches
from ksql_spark.tools.assistants import NOTE, Limits, Tools
from ksql_spark.tools.importer.items import Item
from tests.server.fake_engine import FakeEngine, FakeStream
from tests.server.live_server import LiveServer

ORDERS = Item("STREAM", "ORDERS", "CREATE STREAM ORDERS (ID INT) WITH (…)", {}, topic="orders")
REGULARS = Item("TABLE", "REGULARS", "CREATE TABLE REGULARS AS SELECT ID FROM ORDERS;", {}, topic="REGULARS")


async def called(server: Any, tool: str, arguments: dict[str, Any]) -> Any:
    async with Assistant(server) as assistant:
        return await assistant.call_tool(tool, arguments)


def tools(url: str, limits: Limits | None = None, allows_changes: bool = False) -> Tools:
    return Tools(Client(url), url, {}, limits or Limits(), allows_changes)


def asked(made: Tools, tool: str, **arguments: Any) -> Any:
    """The structured answer of a tool."""
    result = asyncio.run(called(assistants.create(made), tool, arguments))
    assert not result.is_error, result.content
    return result.structured_content


def refused(made: Tools, tool: str, **arguments: Any) -> str:
    """The text of an error of a tool."""
    result = asyncio.run(called(assistants.create(made), tool, arguments))
    assert result.is_error
    return str(result.content[0].text)


@pytest.fixture
def here(server: LiveServer) -> Iterator[Tools]:
    made = tools(server.url)
    yield made
    made._client.close()


def test_what_reads_is_what_a_reader_may_send() -> None:
    ours = {type_ for type_ in vars(session).values() if isinstance(type_, type)}
    of_readers = {rule.node for rule in RULES if role_for_statement(rule.node) is Role.READER}
    assert {*assistants.READS} == of_readers - ours


def test_the_tools_say_that_they_only_read(here: Tools) -> None:
    async def listed(made: Tools) -> dict[str, bool]:
        async with Assistant(assistants.create(made)) as assistant:
            assert NOTE in (assistant.instructions or "")
            found = (await assistant.list_tools()).tools
            assert all(tool.description for tool in found)
            return {tool.name: bool(tool.annotations and tool.annotations.read_only_hint) for tool in found}

    assert all(asyncio.run(listed(here)).values())
    changing = asyncio.run(listed(tools("http://localhost", allows_changes=True)))
    assert [name for name, only_reads in changing.items() if not only_reads] == ["propose_change"]


def test_lists_and_descriptions(here: Tools, engine: FakeEngine) -> None:
    listed = asked(here, "list_objects", kind="STREAMS")
    assert [stream["name"] for stream in listed["answers"][0]["streams"]] == ["RIDES"]
    assert listed["note"] == NOTE and listed["cut"] is None
    described = asked(here, "describe", name="rides")["answers"][0]["sourceDescription"]
    assert described["fields"][0]["name"] == "VENDORID"
    asked(here, "describe", name="UCASE", kind="FUNCTION")
    assert [request.text for request in engine.requests][1:] == [
        "DESCRIBE rides EXTENDED;",
        "DESCRIBE FUNCTION UCASE;",
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "sent"),
    [
        ("describe", {"name": "csas_1", "kind": "QUERY"}, "EXPLAIN csas_1;"),
        ("describe", {"name": "rides", "kind": "VERSIONS"}, "SHOW VERSIONS OF rides;"),
        ("describe", {"name": "rides", "kind": "EVOLUTION"}, "DESCRIBE EVOLUTION rides;"),
        ("explain", {"what": "SELECT * FROM rides;"}, "EXPLAIN SELECT * FROM rides;"),
        ("explain", {"what": "rides", "kind": "FRESHNESS"}, "EXPLAIN FRESHNESS rides;"),
        ("explain", {"what": "FROM t WHERE a = 1", "kind": "ROW"}, "EXPLAIN ROW FROM t WHERE a = 1;"),
        (
            "explain",
            {"what": "FROM t WHERE a = 1", "kind": "MISSING ROW"},
            "EXPLAIN MISSING ROW FROM t WHERE a = 1;",
        ),
        (
            "explain",
            {"what": "CREATE OR REPLACE TABLE t AS SELECT * FROM u", "kind": "EVOLUTION"},
            "EXPLAIN EVOLUTION CREATE OR REPLACE TABLE t AS SELECT * FROM u;",
        ),
        ("sample", {"name": "`A-b`", "rows": 3}, "SELECT * FROM `A-b` LIMIT 3;"),
        ("errors", {"query_id": "csas_1"}, "SELECT * FROM ERRORS OF csas_1 LIMIT 20;"),
    ],
)
def test_the_statement_that_a_tool_sends(
    here: Tools, engine: FakeEngine, tool: str, arguments: dict[str, Any], sent: str
) -> None:
    asyncio.run(called(assistants.create(here), tool, arguments))
    assert engine.requests[-1].text == sent


def test_lag(here: Tools) -> None:
    answer = asked(here, "lag")
    assert answer["queries"][0]["figures"]["lagRecords"] == 3
    assert answer["culprits"] == [{"queryId": "BIG_1", "reason": "It falls behind."}]


def test_rows_have_columns_and_types(here: Tools, engine: FakeEngine) -> None:
    columns = [ResultColumn("K", "INTEGER", True), ResultColumn("D", "DECIMAL(30, 20)")]
    engine.next_stream = FakeStream("PULL", columns, [Row([1, "1.50"]), Row([2, None])])
    answer = asked(here, "query", sql="SELECT * FROM rides;")
    assert answer["columns"] == [{"name": "K", "type": "INTEGER"}, {"name": "D", "type": "DECIMAL(30, 20)"}]
    assert [row[0] for row in answer["rows"]] == [1, 2] and answer["cut"] is None
    assert assistants._plain(assistants.Decimal("1.5")) == 1.5
    assert assistants._plain(assistants.Decimal("0.12345678901234567890")) == "0.12345678901234567890"


def test_a_push_query_ends_after_its_rows_or_seconds(here: Tools, engine: FakeEngine) -> None:
    answer = asked(here, "query", sql="SELECT * FROM rides EMIT CHANGES", rows=2, from_beginning=True)
    assert len(answer["rows"]) == 2 and answer["cut"] == "after 2 rows"
    assert engine.requests[-1].properties["auto.offset.reset"] == "earliest"
    assert engine.streams[-1].closed.wait(20)
    answer = asked(here, "query", sql="SELECT * FROM rides EMIT CHANGES", seconds=0.2)
    assert len(answer["rows"]) == 2 and answer["cut"] == "after 0.2 seconds"
    assert engine.streams[-1].closed.wait(20)


def test_answers_that_are_cut(server: LiveServer, engine: FakeEngine) -> None:
    few = tools(server.url, Limits(rows=1))
    answer = asked(few, "query", sql="SELECT * FROM rides", rows=50)
    assert len(answer["rows"]) == 1 and answer["cut"] == "after 1 rows"
    small = tools(server.url, Limits(bytes=300))
    engine.next_stream = FakeStream("PULL", [ResultColumn("S", "STRING")], [Row(["x" * 200])] * 9)
    answer = asked(small, "query", sql="SELECT * FROM rides")
    assert len(answer["rows"]) == 1 and answer["cut"] == "after 1 rows (too many bytes)"
    engine.sources |= {f"S{n}": "STREAM" for n in range(100)}
    answer = asked(small, "list_objects", kind="STREAMS")
    assert len(answer["answers"][0]["streams"]) < 100 and "ask for less" in answer["cut"]


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        ("query", {"sql": "DROP TABLE zones"}, "DROP TABLE … changes something"),
        ("query", {"sql": "INSERT INTO rides SELECT * FROM zones"}, "INSERT INTO … changes something"),
        ("query", {"sql": "CREATE STREAM s AS SELECT * FROM rides"}, "propose_change"),
        ("query", {"sql": "SELECT 1; DROP TABLE zones"}, "one statement, not 2"),
        ("query", {"sql": "SET 'auto.offset.reset' = 'earliest'"}, "changes something"),
        ("query", {"sql": "PRINT rides"}, "changes something"),
        ("query", {"sql": "SELEC 1"}, "SELECT"),
        ("describe", {"name": "rides; DROP TABLE zones; DESCRIBE rides"}, "one statement, not 3"),
        ("query", {"sql": "SELECT 1", "rows": -1}, "greater than or equal to 1"),
        ("query", {"sql": "SELECT * FROM nowhere WHERE NOWHERE"}, "NOWHERE"),
        ("propose_change", {"branch": "dev", "statement": "DROP TABLE zones"}, "A proposal is one CREATE"),
        (
            "propose_change",
            {"branch": "d-v", "statement": "CREATE STREAM s AS SELECT * FROM rides"},
            "letters and digits",
        ),
    ],
)
def test_what_is_refused(
    here: Tools, engine: FakeEngine, tool: str, arguments: dict[str, Any], reason: str
) -> None:
    assert reason in refused(here, tool, **arguments)
    assert not any("DROP" in request.text for request in engine.requests)


def test_a_server_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    reason = refused(tools(url), "list_objects", kind="STREAMS")
    assert url in reason and "Traceback" not in reason


class RulesEngine(FakeEngine):
    """Asks the rules what a user may run."""

    def execute(self, request: Request) -> list[Entity]:
        self._check(request)
        return super().execute(request)

    def query(self, request: Request) -> Any:
        self._check(request)
        return super().query(request)

    def _check(self, request: Request) -> None:
        class Catalog:
            def has(self, name: str) -> bool:
                return True

        for statement in grammar.parse(request.text):
            check_statement(request.rights, statement, Catalog())  # type: ignore[arg-type]


@pytest.fixture
def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveServer]:
    """A server on which rita may read ZONES only."""
    monkeypatch.setattr(passwords, "_N", 2**4)  # the cost is not what is tested
    users = tmp_path / "users"
    users.write_text(f"rita:{passwords.hash_password('reads')}:reader:ZONES\n")
    config = Config({"ksql.server.auth.users.file": str(users)})
    with LiveServer(RulesEngine(), config=config) as server:
        yield server


def test_the_rights_are_those_of_the_user(guarded: LiveServer) -> None:
    nobody = tools(guarded.url)
    assert "requires authentication" in refused(nobody, "sample", name="zones")
    rita = Tools(Client(guarded.url, ("rita", "reads")), guarded.url, {}, Limits(), False)
    assert asked(rita, "sample", name="zones")["rows"]
    assert "reader" in refused(rita, "sample", name="rides")


def test_over_http_each_assistant_has_its_own_rights(guarded: LiveServer) -> None:
    made = assistants.create(tools(guarded.url))
    app = made.streamable_http_app(stateless_http=True)

    async def sampled(headers: dict[str, str]) -> Any:
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=httpx2.ASGITransport(app), headers=headers) as http,
            Assistant(streamable_http_client("http://127.0.0.1:8000/mcp", http_client=http)) as assistant,
        ):
            return [await assistant.call_tool("sample", {"name": name}) for name in ("zones", "rides")]

    word = base64.b64encode(b"rita:reads").decode()
    zones, rides = asyncio.run(sampled({"Authorization": f"Basic {word}"}))
    assert zones.structured_content["rows"] and rides.is_error


@pytest.mark.parametrize(
    ("header", "credentials"),
    [("Bearer a.b", (None, "a.b")), ("basic cml0YTpyZTphZHM=", (("rita", "re:ads"), None))],
)
def test_credentials_of_a_header(header: str, credentials: object) -> None:
    assert assistants._credentials(header) == credentials


@pytest.mark.parametrize("header", ["Basic rita", "Digest a", "Basic cml0YQ=="])
def test_headers_without_credentials(header: str) -> None:
    with pytest.raises(ToolError, match="must be 'Bearer TOKEN' or"):
        assistants._credentials(header)


@pytest.fixture
def items(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server has a stream ORDERS, and a table REGULARS that a query writes."""
    for module in (assistants, branches):
        monkeypatch.setattr(module, "read", lambda client: [ORDERS, REGULARS])


CHANGE = "create table regulars with (partitions = 2) as select id from orders where id > 3;"
CHANGED = """\
CREATE OR REPLACE TABLE DEV__REGULARS WITH (PARTITIONS = 2, EVOLVE = 'backfill') AS \
SELECT ID FROM ORDERS WHERE ID > 3;"""


@pytest.mark.usefixtures("items")
def test_a_proposal_is_left_to_a_person(here: Tools, engine: FakeEngine) -> None:
    answer = asked(here, "propose_change", branch="dev", statement=CHANGE)
    assert answer["statement"] == CHANGED and answer["is_done"] is False
    words = [shlex.split(command)[1:] for command in answer["next"]]
    assert words[0] == ["branch", "create", "dev", "--only", "REGULARS", "--server", here._url]
    assert words[1] == [here._url, "-e", CHANGED]
    assert [command[1] for command in words[2:]] == ["diff", "promote"]
    (preview,) = engine.requests
    assert preview.text.startswith("EXPLAIN EVOLUTION CREATE OR REPLACE TABLE REGULARS WITH")


@pytest.mark.usefixtures("items")
def test_a_proposal_is_made_to_a_branch(server: LiveServer, engine: FakeEngine) -> None:
    made = tools(server.url, allows_changes=True)
    answer = asked(made, "propose_change", branch="dev", statement=CHANGE)
    assert answer["is_done"] is True and len(answer["next"]) == 2
    _, created, changed = [request.text for request in engine.requests]
    assert created.startswith("CREATE TABLE DEV__REGULARS ") and changed == CHANGED


@pytest.mark.usefixtures("items")
def test_a_new_stream_is_proposed_with_a_topic_of_its_own(server: LiveServer, engine: FakeEngine) -> None:
    text = "CREATE STREAM big WITH (KAFKA_TOPIC = 'orders') AS SELECT * FROM orders"
    asked(tools(server.url, allows_changes=True), "propose_change", branch="dev", statement=text)
    assert "DEV__BIG WITH (KAFKA_TOPIC = 'dev__orders')" in engine.requests[-1].text


def test_over_standard_input_and_output(server: LiveServer) -> None:
    start = "import sys; from ksql_spark.shell.main import main; sys.exit(main(sys.argv[1:]))"
    command = StdioServerParameters(
        command=sys.executable,
        args=["-c", start, "mcp", "--server", server.url, "--max-rows", "1"],
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    answer = asyncio.run(called(stdio_client(command), "sample", {"name": "rides"}))
    assert len(answer.structured_content["rows"]) == 1


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--http", "here"], "HOST:PORT"),
        (["--http", "0.0.0.0:8000", "--token", "t"], "serves only this machine, not 0.0.0.0"),
        (["--token", "t", "--user", "u", "--password", "p"], "not both"),
    ],
)
def test_wrong_options(options: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", *options]) == 2
    assert reason in capsys.readouterr().err


def test_the_comparison_of_a_branch(here: Tools, items: None) -> None:
    assert "There is no branch dev" in refused(here, "compare_branch", branch="dev")


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delitem(sys.modules, "ksql_spark.tools.assistants")
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    assert main(["mcp"]) == 1
    assert "'ksql-spark[mcp]'" in capsys.readouterr().err
