"""ksql_spark.connect(): results, frames, sources, functions, engines; sync and async."""

from __future__ import annotations

import asyncio
import datetime
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import ksql_spark
from ksql_spark.client import embedded, functions, tables
from ksql_spark.client.database import Database
from ksql_spark.client.errors import InterfaceError, ProgrammingError, UnreachableError
from ksql_spark.client.protocol import Columns

FAKE_SERVER = Path(__file__).parents[1] / "server" / "fake_server.py"


def filled(url: str) -> Database:
    db = ksql_spark.connect(url, properties={"auto.offset.reset": "earliest"})
    rows = [{"id": n, "v": f"v{n}", "d": Decimal(n) / 4, "x": n / 2} for n in range(1, 4)]
    assert db.table("base").insert(rows) == 3
    return db


def test_importing_the_package_imports_little() -> None:
    code = (
        "import sys, ksql_spark; ksql_spark.__version__; "
        "print([m for m in ('httpx', 'pandas', 'pyarrow', 'ksql_spark.client') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_rows_have_names(url: str) -> None:
    with filled(url) as db:
        (row,) = db.sql("SELECT id, v FROM items WHERE id = ?;", [2])
        assert row == (2, "v2") and row.id == row["ID"] == row[0] == 2 and row.V == "v2"
        assert row.as_dict() == {"ID": 2, "V": "v2"}
        with pytest.raises(AttributeError, match="it has ID, V"):
            row.nothing  # noqa: B018
        with pytest.raises(KeyError):
            row["nothing"]
        result = db.sql("SELECT id FROM items;")
        assert sorted(result.fetchall()) == sorted(result) == [(1,), (2,), (3,)]
        assert db.sql("SELECT id FROM items WHERE id = 9;").fetchone() is None


def test_a_prompt_shows_rows(url: str) -> None:
    with filled(url) as db:
        assert repr(db.sql("SELECT id, v FROM items WHERE id = 2;")) == "ID | V\n---+---\n 2 | v2"
        pushed = "SELECT id FROM items EMIT CHANGES;"
        assert repr(db.sql(pushed)) == f"<Result of {pushed}>"
        assert "cannot be resolved" in repr(db.sql("SELECT nothing FROM items;"))


def test_a_prompt_shows_the_first_rows_only() -> None:
    columns = Columns("", ("ITEM", "N"), ("STRING", "BIGINT"))
    shown = tables.text(columns, [("tea", 12), (None, 1), ("coffee", 3)], 2)
    assert shown.splitlines() == ["ITEM |  N", "-----+---", "tea  | 12", "NULL |  1", "… more rows"]


def test_frames(url: str) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    with filled(url) as db:
        result = db.sql("SELECT id, v, d, x FROM items WHERE id = 1;")
        assert result.df().to_dict("records") == [{"ID": 1, "V": "v1", "D": Decimal("0.25"), "X": 0.5}]
        assert result.arrow().to_pylist() == result.pl().to_dicts() == result.df().to_dict("records")
        assert isinstance(result.df(), pandas.DataFrame) and isinstance(result.pl(), polars.DataFrame)


def test_a_frame_without_its_package(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ksql_spark.connect(url) as db:
        for name, method in (("pandas", "df"), ("pyarrow", "arrow"), ("polars", "pl")):
            monkeypatch.setitem(sys.modules, name, None)
            with pytest.raises(
                InterfaceError, match=rf"{name} is not installed: .*pip install 'ksql-spark\["
            ):
                getattr(db.sql("SELECT * FROM items;"), method)()


def test_statements_run_at_once(url: str) -> None:
    with ksql_spark.connect(url) as db:
        shown = db.sql("SHOW TABLES;")
        assert shown.entities[0]["@type"] == "tables"
        assert sorted(row.name for row in shown) == ["BASE", "ITEMS"]
        with pytest.raises(ProgrammingError):
            db.sql("SHOW NOTHING;")
        with pytest.raises(ProgrammingError, match="NOWHERE"):
            db.sql("SELECT * FROM nowhere;").fetchall()


def test_a_push_query(url: str) -> None:
    with ksql_spark.connect(url, properties={"auto.offset.reset": "earliest"}) as db:
        events = db.stream("events")
        assert events.insert({"id": 1, "v": "a"}) + events.insert([{"id": 1, "v": "b"}]) == 2
        seen = []
        for row in events:
            seen.append(row.v)
            if len(seen) == 2:
                break
        assert seen == ["a", "b"]
        assert [row.v for row in events.rows(limit=1)] == ["a"]
        query = db.sql("SELECT v FROM events EMIT CHANGES;")
        assert query.fetchall(timeout=5) == [("a",), ("b",)]
        with pytest.raises(InterfaceError, match="never end"):
            events.fetchall()
        assert len(db.sql("SELECT 'LIMIT 1' AS t FROM events EMIT CHANGES LIMIT 2;").fetchall()) == 2


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "rows"])
def test_a_frame_becomes_a_source(url: str, kind: str) -> None:
    if kind != "rows":
        pytest.importorskip(kind)
    day = datetime.date(2026, 1, 2)
    rows: list[dict[str, Any]] = [
        {"id": 1, "Unit Price": 2.5, "tags": ["a", "b"], "day": day, "data": b"\x00", "is": True},
        {"id": 2, "Unit Price": None, "tags": [], "day": None, "data": None, "is": None},
    ]
    data: Any = rows
    if kind == "pandas":
        import pandas

        data = pandas.DataFrame(rows)
    elif kind == "polars":
        import polars

        data = polars.DataFrame(rows)
    elif kind == "pyarrow":
        import pyarrow

        data = pyarrow.Table.from_pylist(rows)
    with ksql_spark.connect(url, properties={"auto.offset.reset": "earliest"}) as db:
        found = db.register(data, "things", topic="events", partitions=4).fetchall(limit=2)
        assert sorted(tuple(row) for row in found) == [
            (1, 2.5, ["a", "b"], day, b"\x00", True),
            (2, None, [], None, None, None),
        ]
        assert found[0]["Unit Price"] in (2.5, None) and found[0].ID in (1, 2)
        assert (
            db.register(rows, "by_id", key="id", topic="items", partitions=4).text == "SELECT * FROM `BY_ID`;"
        )
        with pytest.raises(InterfaceError, match="no column nothing"):
            db.register(rows, "more", key="nothing")
        with pytest.raises(InterfaceError, match="needs a key"):
            db.register(rows, "more", table=True)


def test_every_row_may_have_columns() -> None:
    pytest.importorskip("pyarrow")
    rows = [{"a": 1}, {"a": 2, "b": "x"}, {"b": "y"}]
    text, found = tables.create_statement(rows, "t", None, None, None, 1, "JSON")
    assert "(`A` BIGINT, `B` STRING)" in text
    assert [list(row.values()) for row in found] == [[1, None], [2, "x"], [None, "y"]]
    with pytest.raises(InterfaceError, match="no rows"):
        tables.create_statement([], "t", None, None, None, 1, "JSON")


def test_types_of_columns() -> None:
    pa = pytest.importorskip("pyarrow")
    for type_, text in (
        (pa.int8(), "INTEGER"),
        (pa.int32(), "INTEGER"),
        (pa.int64(), "BIGINT"),
        (pa.float32(), "DOUBLE"),
        (pa.decimal128(9, 2), "DECIMAL(9, 2)"),
        (pa.timestamp("ns", "UTC"), "TIMESTAMP"),
        (pa.time64("us"), "TIME"),
        (pa.dictionary(pa.int8(), pa.string()), "STRING"),
        (pa.map_(pa.string(), pa.int64()), "MAP<STRING, BIGINT>"),
        (pa.struct([("a b", pa.list_(pa.bool_()))]), "STRUCT<`a b` ARRAY<BOOLEAN>>"),
    ):
        assert tables.sql_type(type_) == text
    with pytest.raises(InterfaceError, match="duration"):
        tables.sql_type(pa.duration("s"))


def test_asyncio(url: str) -> None:
    async def main() -> None:
        async with await ksql_spark.connect_async(url, properties={"auto.offset.reset": "earliest"}) as db:
            assert await db.insert("events", [{"id": 1, "v": "a"}, {"id": 1, "v": "b"}]) == 2
            result = db.sql("SELECT v FROM events EMIT CHANGES;")
            async for row in result:
                assert row.v == "a"
                break
            assert await result.fetchall(timeout=5) == [("a",), ("b",)]
            assert await result.fetchone() == ("a",)
            assert (await result.arrow(limit=2)).to_pylist() == [{"V": "a"}, {"V": "b"}]
            shown = await db.sql("SHOW TABLES;")
            assert shown.entities and {row.name for row in await shown.fetchall()} == {"BASE", "ITEMS"}
            with pytest.raises(InterfaceError, match="never end"):
                await result.fetchall()
            assert await db.register([{"id": 1}], "things", topic="events", partitions=4) == 1

    asyncio.run(main())


# ---- functions -----------------------------------------------------------------------------------------


def shout(text: str, times: int = 1) -> str:
    """In capitals."""
    return text.upper() + "!" * times


def half(number: Decimal) -> Decimal:
    return number / 2


def letters(text: str) -> Any:
    yield from text


class MostCommon:
    def initialize(self) -> int:
        return 0


local = threading_like = object()


def impossible(text: str) -> str:
    return f"{text}{local}"


def test_functions_become_statements() -> None:
    assert functions.create_statement(shout) == (
        "CREATE OR REPLACE FUNCTION shout LANGUAGE PYTHON AS $$\n"
        "import ksql_spark.udf\n"
        '@ksql_spark.udf.scalar_function(name="shout")\n'
        "def shout(text: str, times: int = 1) -> str:\n"
        '    """In capitals."""\n'
        '    return text.upper() + "!" * times\n'
        "$$;"
    )
    assert "from decimal import Decimal as Decimal\n" in functions.create_statement(half)
    assert "udf.table_function" in functions.create_statement(letters, "chars")
    assert "FUNCTION Most_Common " in functions.create_statement(MostCommon)
    with pytest.raises(InterfaceError, match="does not know local"):
        functions.create_statement(impossible)
    with pytest.raises(InterfaceError, match="source"):
        functions.create_statement(len)


def test_a_function_is_registered(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ksql_spark.connect(url) as db:
        ran: list[str] = []
        monkeypatch.setattr(db.connection, "run", ran.append)

        @db.function
        def twice(n: int) -> int:
            return 2 * n

        @db.function(name="thrice")
        def three_times(n: int) -> int:
            return 3 * n

        assert twice(2) == 4 and three_times(2) == 6
    assert "\ndef twice(n: int) -> int:\n    return 2 * n\n" in ran[0]
    assert "FUNCTION thrice " in ran[1] and '(name="thrice")' in ran[1]


# ---- engines -------------------------------------------------------------------------------------------


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(UnreachableError):
        ksql_spark.connect("http://127.0.0.1:1")
    with pytest.raises(InterfaceError, match="for an engine"):
        ksql_spark.connect("http://127.0.0.1:1", data_dir="x")


def test_connections_share_an_engine_and_the_last_one_stops_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[embedded.EmbeddedServer] = []

    def start(data_dir: Path | None, settings: Any) -> embedded.EmbeddedServer:
        command = [sys.executable, str(FAKE_SERVER)]
        made.append(embedded.EmbeddedServer(data_dir, 0, command, settings=settings))
        return made[-1]

    monkeypatch.setattr(embedded, "start", start)
    said: list[str] = []
    first = ksql_spark.connect(data_dir=tmp_path, report=said.append)
    second = ksql_spark.connect(data_dir=tmp_path)
    assert first.url == second.url and len(made) == 1 and said
    first.close()
    first.close()
    assert not made[0].failed
    second.close()
    assert made[0].failed
    third = ksql_spark.connect(data_dir=tmp_path, engine={"ksql.service.id": "x"})
    assert len(made) == 2
    third.close()


def test_an_engine_names_all_its_addresses(tmp_path: Path) -> None:
    line = "ready: http://127.0.0.1:1 and postgresql://127.0.0.1:2/ksql in 3.5 s"
    with embedded.EmbeddedServer(tmp_path, 0, [sys.executable, "-c", f"print('{line}')"]) as server:
        assert server.wait_ready(lambda _: None) == "http://127.0.0.1:1"
        assert (server.postgres_urls, server.ready_after_s) == (["postgresql://127.0.0.1:2/ksql"], 3.5)
