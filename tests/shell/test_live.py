"""Live views of push queries: the table that updates in place, and the keys."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.output import DummyOutput

from ksql_spark.engine import ResultColumn, Row
from ksql_spark.shell.commands.command import Context
from ksql_spark.shell.output.chart import Chart
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.output.figures import behind
from ksql_spark.shell.output.live import LiveTable, key_of
from ksql_spark.shell.output.rows import columns_of
from ksql_spark.shell.prompt.live import LiveQuery, explained
from ksql_spark.shell.scripts import run_text
from ksql_spark.shell.session import Failure, QueryView, Session
from tests.server.fake_engine import FakeEngine, FakeStream
from tests.waiting import until

SOON_S = 60


def table(schema: str, *rows: list[object]) -> LiveTable:
    columns = columns_of(schema)
    made = LiveTable(columns, [column.name for column in columns if column.is_key])
    for number, row in enumerate(rows):
        made.take([{"columns": row}], now=float(number + 1))
    return made


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Console:
    monkeypatch.setenv("NO_COLOR", "1")
    return Console(io.StringIO(), tty=True, columns=40)


KEYED = "`K` STRING KEY, `N` INTEGER"


def test_a_key_has_one_row(screen: Console) -> None:
    made = table(KEYED, ["a", 1], ["b", 2], ["a", 3])
    assert len(made) == 2
    assert made.text(screen, 20).splitlines()[3:-1] == ["│ a     │     3 │", "│ b     │     2 │"]
    made.take([{"columns": ["a", None], "tombstone": True}])
    assert made.text(screen, 20).splitlines()[3:-1] == ["│ b     │     2 │"]


def test_rows_without_a_key_are_all_there(screen: Console) -> None:
    made = table("`K` STRING, `N` INTEGER", ["a", 1], ["a", 1])
    assert len(made) == 2


def test_the_latest_keys_if_the_screen_is_small(screen: Console) -> None:
    made = table(KEYED, ["a", 1], ["b", 2], ["c", 3], ["a", 9])
    lines = made.text(screen, 6).splitlines()
    assert len(lines) == 6
    assert [line.split()[1] for line in lines[3:-1]] == ["a", "c"], "in the order of their arrival"


def test_changed_cells_are_marked_for_a_moment(screen: Console) -> None:
    screen.colours = True
    made = table(KEYED, ["a", 1], ["a", 2])
    changed = made.text(screen, 20, now=2.5).splitlines()[3]
    assert "\x1b[32m    2\x1b[0m" in changed and "\x1b[32ma" not in changed
    assert "\x1b[32m" not in made.text(screen, 20, now=4)


def test_many_keys_are_bounded(screen: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ksql_spark.shell.output.live.MOST_ROWS", 3)
    made = table(KEYED, *([str(n), n] for n in range(9)))
    assert len(made) == 3


PLAN = " > [ TRANSIENT SELECT ] | x\n   > [ TABLE {}] | Key: K | y"


@pytest.mark.parametrize(
    ("description", "key"),
    [
        ({"executionPlan": PLAN, "fields": [{"name": "K"}]}, ["K"]),
        ({"executionPlan": PLAN, "fields": [{"name": "N"}]}, []),
        ({"executionPlan": PLAN.replace("TABLE", "STREAM"), "fields": [{"name": "K"}]}, []),
        (
            {
                "executionPlan": PLAN,
                "windowType": "TUMBLING",
                "fields": [{"name": "K"}, {"name": "WINDOWSTART"}],
            },
            ["K", "WINDOWSTART"],
        ),
        ({}, []),
    ],
)
def test_the_key_of_a_result(description: dict[str, object], key: list[str]) -> None:
    assert key_of(description) == key


def test_a_server_that_does_not_explain(session: Session) -> None:
    assert explained(session, "SELECT * FROM NOWHERE;") == {}
    assert key_of(explained(session, "SELECT 1;")) == []


def test_how_far_the_queries_before_are() -> None:
    def query(name: str, lag: int | None, failed: int) -> dict[str, object]:
        return {"kind": "QUERY", "name": name, "figures": {"lagRecords": lag, "errors": {"failed": failed}}}

    edges = [
        ("topic:B", "table:B"), ("query:Q2", "topic:B"), ("stream:A", "query:Q2"), ("topic:A", "stream:A"),
        ("query:Q1", "topic:A"), ("stream:A", "query:OTHER"),
    ]  # fmt: skip
    graph = {
        "nodes": [query("Q1", 1200, 1), query("Q2", None, 0), query("OTHER", 9999, 9)],
        "edges": [{"source": source, "target": target} for source, target in edges],
    }
    assert behind(graph, ["B"]) == "lag 1,200 · 1 error"
    assert behind(graph, ["C"]) == behind({}, ["B"]) == ""


def test_the_log_after_a_resize(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    out = io.StringIO()
    console = Console(out, tty=True, columns=60)
    view = QueryView(console, True, "")
    view.show([{"header": {"schema": "`K` STRING, `L` STRING"}}, {"row": {"columns": ["a", "b"]}}])
    console._columns = 30
    view.show([{"row": {"columns": ["c", "d"]}}])
    view.end()
    before, after = out.getvalue().split("┌")[1:]
    assert max(map(len, before.splitlines())) > 30 >= max(map(len, after.splitlines()))
    assert "│ c " in after and "│ K " in after


COLUMNS = [ResultColumn("K", "STRING", True), ResultColumn("N", "INTEGER")]


Press = Callable[[str], None]


def watch(
    session: Session,
    stream: FakeStream,
    *steps: Callable[[Press, LiveQuery], object],
    after: Callable[[list[KeyPress]], object] = lambda keys: None,
) -> None:
    """Run a push query in a live view; each step, in a thread, gets a function that types, and the view.

    ``after`` gets the keys that wait for the next prompt.
    """
    session.console.tty = True
    with create_pipe_input() as keys:
        views: list[LiveQuery] = []

        def live(stream, view) -> None:
            views.append(LiveQuery(session, stream, view, ["K"], keys, DummyOutput()))
            type_later.start()
            views[0].run()

        def type_all() -> None:
            try:
                for step in steps:
                    step(keys.send_text, views[0])
            except BaseException:
                keys.send_text("\x03")
                raise

        type_later = threading.Thread(target=type_all)
        session.live = live
        run_text("SELECT * FROM RIDES EMIT CHANGES;", Context(session))
        type_later.join(SOON_S)
        after(get_typeahead(keys))
    assert stream.closed.wait(SOON_S)


def test_the_log_and_the_table(session: Session, engine: FakeEngine, out: io.StringIO) -> None:
    stream = engine.next_stream = FakeStream("PUSH", COLUMNS, [Row(["a", 1])], ends=False)

    def to_table(press: Press, live: LiveQuery) -> None:
        until(lambda: "| a " in out.getvalue())
        stream.rows.put(Row(["b", 2]))
        until(lambda: "| b " in out.getvalue())
        press("t")
        until(lambda: live._mode == "table")
        stream.rows.put(Row(["a", 7]))
        stream.rows.put(Row(["c", 3]))
        until(lambda: live._view.count == 4)

    watch(session, stream, to_table, lambda press, live: press("q"))
    # a status line may have been there before
    lines = [line.rpartition("\x1b[2K")[2].replace(" ", "") for line in out.getvalue().splitlines()]
    assert [line for line in lines if line.startswith("|")] == [
        "|K|N|", "|a|1|", "|b|2|", "|K|N|", "|a|7|", "|b|2|", "|c|3|",
    ]  # fmt: skip
    assert session.was_interrupted and out.getvalue().splitlines()[-1].startswith("Query terminated")


def test_the_log_has_what_came_during_the_table(
    session: Session, engine: FakeEngine, out: io.StringIO
) -> None:
    stream = engine.next_stream = FakeStream("PUSH", COLUMNS, [Row(["a", 1])], ends=False)

    def there_and_back(press: Press, live: LiveQuery) -> None:
        until(lambda: "| a " in out.getvalue())
        press("t")
        until(lambda: live._mode == "table")
        stream.rows.put(Row(["b", 2]))
        until(lambda: live._view.count == 2)
        press("t")
        until(lambda: "| b " in out.getvalue())
        press("q")

    watch(session, stream, there_and_back)
    assert out.getvalue().count("| b ") == 1


def test_pause(session: Session, engine: FakeEngine, out: io.StringIO) -> None:
    stream = engine.next_stream = FakeStream("PUSH", COLUMNS, [Row(["a", 1])], ends=False)

    def pause(press: Press, live: LiveQuery) -> None:
        press("p")
        until(lambda: live._is_paused)
        stream.rows.put(Row(["late", 1]))
        until(stream.rows.empty)  # it was read
        assert "late" not in out.getvalue()
        press("p")
        until(lambda: "late" in out.getvalue())
        press("\x03")

    watch(session, stream, pause)


def test_keys_act_beside_others(session: Session, engine: FakeEngine) -> None:
    stream = engine.next_stream = FakeStream("PUSH", COLUMNS, [Row(["a", 1])], ends=False)

    def press_some(press: Press, live: LiveQuery) -> None:
        until(lambda: live._columns)
        press("\r")  # makes room in the output
        press("pp")  # twice the same: it acts twice
        until(lambda: live._waiting is None)
        assert not live._is_paused and not live._typed
        press("SELECT 1")
        until(lambda: live._typed)
        press("\x15")  # Ctrl-U
        until(lambda: not live._typed)
        press("\x1b[200~p\x1b[201~")  # pasted, so it is text
        until(lambda: live._typed)
        press("\x7f")
        until(lambda: not live._typed)
        press("q")

    watch(session, stream, press_some)


def typed_at(session: Session, stream: FakeStream, *keys: str) -> str:
    """What the next prompt gets if ``keys`` are typed during a push query and Ctrl-C ends it."""
    waiting: list[str] = []

    def type_and_end(press: Press, live: LiveQuery) -> None:
        until(lambda: live._columns)
        for key in keys:
            press(key)
        until(lambda: live._typed)
        assert live._mode == "log" and not live._is_paused
        waiting.append(str(live._bottom().value))
        press("\x03")

    left: list[str] = []
    watch(session, stream, type_and_end, after=lambda keys: left.extend(key.data for key in keys))
    (line,) = waiting
    assert line.startswith("ksql> ") and "Ctrl-C ends the query" in line
    return "".join(left)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (["create or replace stream A as select 1;\r"], "create or replace stream A as select 1;\r"),
        (["pt"], "pt"),  # letters that would act alone
        (["SELECT 1;"], "SELECT 1;"),
        (["select", "\x7f\x7f", "\x7f"], "sel"),
        (["\x1b[200~pause Q;\ntable\x1b[201~"], "pause Q;\ntable"),
        (["w q"], "w q"),
    ],
)
def test_what_is_typed_belongs_to_the_next_prompt(
    session: Session, engine: FakeEngine, keys: list[str], text: str
) -> None:
    stream = engine.next_stream = FakeStream("PUSH", COLUMNS, [Row(["a", 1])], ends=False)
    assert typed_at(session, stream, *keys) == text


def test_long_text_shows_its_end(
    session: Session, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = engine.next_stream = FakeStream("PUSH", COLUMNS, [Row(["a", 1])], ends=False)

    def look(press: Press, live: LiveQuery) -> None:
        press("SELECT " + "x, " * 100 + "the_end")
        until(lambda: "the_end   Ctrl-C ends" in live._bottom().value)
        lines.append(live._bottom().value)
        press("\x03")

    lines: list[str] = []
    watch(session, stream, look)
    assert len(lines[0]) <= 80


def test_a_key_before_the_end_is_text(session: Session, engine: FakeEngine) -> None:
    stream = engine.next_stream = FakeStream("PUSH", COLUMNS, [Row(["a", 1])], ends=False)

    def end(press: Press, live: LiveQuery) -> None:
        press("c\x03")

    left: list[str] = []
    watch(session, stream, end, after=lambda keys: left.extend(key.data for key in keys))
    assert left == ["c"]


def test_a_live_query_ends_by_itself(session: Session, engine: FakeEngine, out: io.StringIO) -> None:
    stream = engine.next_stream = FakeStream("PUSH", COLUMNS, [Row(["a", 1])], ends=False)
    watch(session, stream, lambda press, live: stream.end("Limit Reached"))
    assert out.getvalue().splitlines()[-2:] == ["Limit Reached", "Query terminated"]
    assert not session.was_interrupted


def test_limits_and_errors_end_a_live_query(session: Session, engine: FakeEngine, out: io.StringIO) -> None:
    stream = engine.next_stream = FakeStream("PUSH", COLUMNS, ends=False)
    session.row_limit = 2
    watch(session, stream, lambda press, live: [stream.rows.put(Row([str(n), n])) for n in range(5)])
    assert "| 1 " in out.getvalue() and "| 2 " not in out.getvalue()
    stream = engine.next_stream = FakeStream("PUSH", COLUMNS, ends=False, error=None)

    def fail(press: Press, live: LiveQuery) -> None:
        stream.error = RuntimeError("no")

    with pytest.raises(Failure, match="RuntimeError: no"):
        watch(session, stream, fail)


def test_only_tables_on_the_screen_are_live(session: Session, engine: FakeEngine, tmp_path: Path) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    session.live = never
    session.timeout_ms = 500
    for setting in ("output JSON", f"output TABULAR;\n\\o {tmp_path / 'o'}"):
        for line in setting.split(";\n"):
            run_text(line, Context(session))
        engine.next_stream = FakeStream("PUSH", COLUMNS, ends=False)
        run_text("SELECT * FROM RIDES EMIT CHANGES;", Context(session))


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> Console:
    monkeypatch.setenv("NO_COLOR", "1")
    return Console(io.StringIO(), tty=True, columns=60)


def chart(schema: str, *rows: list[object]) -> Chart:
    columns = columns_of(schema)
    made = Chart(columns, [column.name for column in columns if column.is_key])
    for number, row in enumerate(rows):
        made.take([{"columns": row}], now=made._began + number)
    return made


def test_bars_by_key(wide: Console) -> None:
    made = chart("`K` STRING KEY, `N` INTEGER, `X` DOUBLE", ["a", 1, 0.5], ["b", 4, 8.0], ["a", 2, 0.25])
    first, second = made.text(wide, 10, is_bars=True).splitlines()[-2:]
    assert first.startswith("b ▇") and second.startswith("a ▇"), "the greatest first"
    assert first.endswith(" 4") and second.endswith(" 2"), "whole numbers are whole"
    assert first.count("▇") == pytest.approx(2 * second.count("▇"), abs=1)
    made.next_column()
    assert made.column == "X" and "8.00" in made.text(wide, 10, is_bars=True)
    made.take([{"columns": ["b", None, None], "tombstone": True}])
    assert not any(line.startswith("b") for line in made.text(wide, 10, is_bars=True).splitlines())


def test_lines_over_time(wide: Console) -> None:
    made = chart("`K` STRING KEY, `N` INTEGER", *([key, n] for n in range(20) for key in "ab"))
    lines = made.text(wide, 12, is_bars=False).splitlines()
    assert len(lines) == 12 and all(len(line) <= 60 for line in lines)
    assert "seconds" in lines[-1] and "a" in lines[2]


@pytest.mark.parametrize("columns", [40, 300])
def test_charts_fit(columns: int, wide: Console) -> None:
    console = Console(io.StringIO(), tty=True, columns=columns)
    made = chart("`K` STRING KEY, `N` BIGINT", *(["key " * 9 + str(n), 10**12 + n] for n in range(50)))
    for is_bars in (True, False):
        lines = made.text(console, 10, is_bars=is_bars).splitlines()
        assert len(lines) <= 10 and all(len(line) <= columns for line in lines), lines


def test_what_cannot_be_drawn(wide: Console) -> None:
    assert "numbers beside the key" in chart("`K` STRING KEY").text(wide, 10, is_bars=True)
    assert "No numbers" in chart(KEYED).text(wide, 10, is_bars=True)
    assert "No numbers" in chart(KEYED, ["a", None]).text(wide, 10, is_bars=False)
    assert "too small" in chart(KEYED, ["a", 1]).text(wide, 3, is_bars=False)


def test_charts_and_a_file(
    session: Session, engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stream = engine.next_stream = FakeStream("PUSH", COLUMNS, [Row(["a,b", 1])], ends=False)

    def draw(press: Press, live: LiveQuery) -> None:
        until(lambda: live._columns)
        press("c")
        until(lambda: live._mode == "bars")
        press("c")
        until(lambda: live._mode == "lines")
        press("w")
        until(lambda: "1 row written to " in str(live._bottom()))
        press("t")
        until(lambda: live._mode == "table")
        press("q")

    watch(session, stream, draw)
    (written,) = tmp_path.glob("ksql-spark-*.csv")
    assert written.read_text() == 'K,N\n"a,b",1\n'


def test_a_narrow_terminal_shows_keys(
    session: Session, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DummyOutput, "get_size", lambda self: Size(rows=24, columns=40))
    monkeypatch.setenv("NO_COLOR", "1")
    stream = engine.next_stream = FakeStream("PUSH", COLUMNS, [Row(["a", 1])], ends=False)
    seen: list[str] = []

    def look(press: Press, live: LiveQuery) -> None:
        until(lambda: live._columns)
        live._behind = "lag 1,234 · 0 errors"
        seen.append(str(live._bottom().value))
        press("q")

    watch(session, stream, look)
    (line,) = seen
    assert len(line) <= 40 and line.startswith("1 row") and line.endswith("t table · c bars · q end")
