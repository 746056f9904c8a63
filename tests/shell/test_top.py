r"""\top and the flow of EXPLAIN: figures of GET /graph on the screen."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from ksql_spark.shell.client import Client, Unreachable
from ksql_spark.shell.output.answers import show
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.output.flow import draw_tree, flow
from ksql_spark.shell.output.top import COLUMNS, Top
from ksql_spark.shell.output.top_screen import TopScreen
from tests.waiting import until


def query(name: str, state: str = "RUNNING", **figures: Any) -> dict[str, Any]:
    return {
        "id": f"query:{name}", "kind": "QUERY", "name": name, "state": state,
        "statement": f"CREATE STREAM {name} AS SELECT 1;", "figures": figures or None,
    }  # fmt: skip


GRAPH = {
    "nodes": [
        {"id": "topic:t", "kind": "TOPIC", "name": "t"},
        query(
            "CSAS_A_1",
            readPerS=1234.0,
            lagRecords=5,
            latencySeconds=0.012,
            errors={"failed": 2, "late": 3},
            failures=0,
        ),
        query("CSAS_B_2", "ERROR", readPerS=10.5, lagRecords=900, errors={}, stateBytes=2_500_000),
        query("CTAS_C_3", "PAUSED"),
    ],
    "edges": [{"source": "query:CSAS_A_1", "target": "topic:rides"}],
    "culprits": [{"queryId": "CSAS_B_2", "reason": "It has failed."}],
}


def screen(columns: int = 120) -> Console:
    return Console(io.StringIO(), tty=True, columns=columns)


@pytest.fixture(autouse=True)
def no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


def test_a_line_for_each_query() -> None:
    summary, headers, first, second, third = Top(GRAPH).lines(screen())
    assert summary == (
        "3 queries · 1 running · 1 error · 1 paused · 1,244 rows/s read · CSAS_B_2: It has failed."
    )
    assert headers.split()[:4] == ["query▲", "state", "read/s", "lag"] and "server" not in headers
    assert re.split(r"  +", first)[:6] == ["CSAS_A_1", "RUNNING", "1,234", "5", "12 ms", "2"]
    assert "2.5 MB" in second and "PAUSED" in third and third.split()[2] == "-"


@pytest.mark.parametrize(
    ("header", "names"),
    [("read/s", ["CSAS_A_1", "CSAS_B_2", "CTAS_C_3"]), ("lag", ["CSAS_B_2", "CSAS_A_1", "CTAS_C_3"])],
)
def test_sorting_puts_the_greatest_first_and_the_unknown_last(header: str, names: list[str]) -> None:
    sort = next(number for number, column in enumerate(COLUMNS) if column.header == header)
    top = Top(GRAPH, sort)
    assert [one["name"] for one in top.shown] == names
    top.is_reversed = True
    assert [one["name"] for one in top.shown] == [*reversed(names[:2]), "CTAS_C_3"]


def test_a_filter_and_a_selection() -> None:
    top = Top(GRAPH, filter="paused")
    assert [one["name"] for one in top.shown] == ["CTAS_C_3"]
    top.filter = "no such"
    assert top.current is None and len(top.lines(screen(), 10)) == 2
    top.filter = ""
    top.move(1)
    assert top.selected == "CSAS_B_2"
    top.move(99)
    lines = top.lines(screen(), 4)
    assert len(lines) == 4 and lines[-1].startswith("> CTAS_C_3"), "it scrolls"
    top.selected = "gone"
    assert top.current is not None and top.current["name"] == "CSAS_A_1"


@pytest.mark.parametrize("columns", [20, 40, 80, 300])
def test_it_fits_the_terminal(columns: int) -> None:
    long = {"nodes": [query("CTAS_" + "X" * 60 + "_1", readPerS=1.0, errors={})]}
    for graph in (GRAPH, long, {}):
        for line in Top(graph).lines(screen(columns), 20):
            assert len(line) <= columns


PLANS = Path(__file__).parent.parent / "plans"


def plan_of(file: str, name: str) -> dict[str, Any]:
    """The description of a query in the files of plans."""
    for part in (PLANS / file).read_text().split("-" * 80 + "\n"):
        if re.search(rf"\b{name} AS", part):
            plan, _, topology = part.partition("\n\nSub-topology 0\n")
            return {"id": "Q_1", "executionPlan": plan, "topology": f"Sub-topology 0\n{topology}"}
    raise LookupError(name)


def test_the_flow_of_a_join() -> None:
    described = {**plan_of("joins.plan", "st_inner"), "id": "CSAS_A_1", "state": "RUNNING"}
    tree = flow(described, GRAPH)
    assert tree is not None
    assert draw_tree(tree, screen(130)).splitlines() == [
        "CSAS_A_1 · RUNNING · in real time · reads 1,234/s · writes -/s · lag 5 · p95 latency 12 ms · "
        "2 errors",
        "└─ Sink  Topic: ST_INNER",
        "   └─ Stream Select  Select: D_ID, R_ID AS RIDE, D_RATING AS RATING",
        "      └─ Stream Table Join  INNER · On: R_DRIVER = D_ID · keeps the table's latest row of each key",
        "         ├─ Stream Source  RIDES · Topic: rides",
        "         │  └─ written by query CSAS_A_1 · RUNNING",
        "         └─ Table Source  DRIVERS · Topic: drivers",
    ]
    pipe = draw_tree(tree, Console(io.StringIO(), tty=False))
    assert "`- Table Source" in pipe and pipe.isascii() is False  # the dots stay, as in other texts
    assert all(len(line) <= 40 for line in draw_tree(tree, screen(40)).splitlines())


def test_every_plan_has_a_flow() -> None:
    for file in PLANS.glob("*.plan"):
        for name in re.findall(r"^CREATE \w+ (\w+) AS", file.read_text(), re.M):
            described = plan_of(file.name, name)
            tree = flow(described, {})
            assert tree is not None and tree.below[0].label.startswith("Sink"), name
            drawn = draw_tree(tree, screen(1000))
            steps = len(re.findall(r"> \[ ", described["executionPlan"]))
            assert len(drawn.splitlines()) >= steps + 1, name


def test_pull_queries_have_no_flow() -> None:
    assert flow({"executionPlan": "Look-up in table C | Keys: 1 | Topic: C"}, {}) is None


def test_explain_shows_the_flow() -> None:
    out = io.StringIO()
    console = Console(out, tty=False)
    described = {**plan_of("joins.plan", "st_inner"), "id": "CSAS_A_1", "state": "RUNNING", "graph": GRAPH}
    show([{"@type": "queryDescription", "queryDescription": described}], console)
    assert "\nFlow\n----\nCSAS_A_1 · RUNNING · in real time · reads 1,234/s" in out.getvalue()


class FakeClient:
    """A server with the queries of GRAPH."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.is_gone = False

    def graph(self) -> dict[str, Any]:
        if self.is_gone:
            raise Unreachable("No server responds at http://there.")
        return GRAPH

    def run(self, text: str) -> list[dict[str, Any]]:
        self.done.append(text)
        errors = [{"errorMessage": "it broke"}]
        described = {**plan_of("joins.plan", "st_inner"), "state": "ERROR", "queryErrors": errors}
        return [{"@type": "queryDescription", "queryDescription": described}]


def test_keys_of_the_screen() -> None:
    client = FakeClient()
    with create_pipe_input() as keys:
        live = TopScreen(cast(Client, client), screen(200), 0.05, keys, DummyOutput())
        failed: list[BaseException] = []

        def press(key: str, true: Callable[[], object]) -> None:
            keys.send_text(key)
            until(true)

        def work() -> None:
            try:
                until(lambda: "CTAS_C_3" in live.text())
                press("j", lambda: live.top.selected == "CSAS_B_2")
                press("ss", lambda: "read/s▼" in live.text())
                press("r", lambda: "read/s▲" in live.text())
                press("/", lambda: "filter: █" in live.text())
                press("b_2\r", lambda: "CSAS_A_1" not in live.text())
                press("\r", lambda: "Stream Table Join" in live.text())
                press("e", lambda: "it broke" in live.text())
                press("x", lambda: "Logical plan" in live.text())
                press("p", lambda: "Pause CSAS_B_2? y or n" in live.text())
                press("a", lambda: live.asks is None)  # "pause", typed for the prompt
                press("p", lambda: live.asks)
                press("y", lambda: "PAUSE `CSAS_B_2`;" in client.done)
                press("q", lambda: live.opened is None)
                press("t", lambda: "Terminate CSAS_B_2" in live.text())
                press("n", lambda: live.asks is None)
                press("t", lambda: live.asks)
                press("y", lambda: "TERMINATE `CSAS_B_2`;" in client.done)
                client.is_gone = True
                until(lambda: "No server responds" in live.text())
                client.is_gone = False
                until(lambda: "No server responds" not in live.text())
            except BaseException as error:
                failed.append(error)
            finally:
                keys.send_text("\x03")

        worker = threading.Thread(target=work)
        live.app.pre_run_callables.append(worker.start)
        live.run()
        worker.join()
    assert not failed, failed
    assert client.done.count("TERMINATE `CSAS_B_2`;") == 1


def test_columns_are_left_out_before_ids_are_cut() -> None:
    name = "CTAS_ORDERS_BY_STATE_17"
    line = Top({"nodes": [query(name, readPerS=1.0, errors={})]}).lines(screen(40), 20)[-1]
    assert name in line and "RUNNING" in line


def test_leaving_does_not_wait_for_the_server() -> None:
    client, answers = FakeClient(), threading.Event()
    began = threading.Event()

    def hanging(text: str) -> list[dict[str, Any]]:
        began.set()
        answers.wait(60)
        return []

    client.run = hanging  # type: ignore[method-assign]
    with create_pipe_input() as keys:
        live = TopScreen(cast(Client, client), screen(), 0.05, keys, DummyOutput())

        def work() -> None:
            until(lambda: "CTAS_C_3" in live.text())
            keys.send_text("p")
            until(lambda: live.asks)
            keys.send_text("y")
            began.wait(60)
            keys.send_text("q")

        live.app.pre_run_callables.append(threading.Thread(target=work).start)
        live.run()
        assert not answers.is_set()
    answers.set()
