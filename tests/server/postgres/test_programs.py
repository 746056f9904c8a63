"""Clients of PostgreSQL as programs of their own; each is skipped where it is not installed."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from typing import Any

import pytest

from tests.server.postgres.port import Port


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (r"\d", "zones"),
        (r"\d zones", '"zones_pkey" PRIMARY KEY, btree (vendorid)'),
        (r"\d+ rides", "View definition"),
        (r"\dt+", "zones"),
        (r"\di", "zones_pkey"),
        (r"\df ucase", "ucase"),
        (r"\dn", "public"),
        (r"\l", "UTF8"),
        (r"\dx", "(0 rows)"),
        ("SHOW ALL", "search_path"),
    ],
)
def test_psql(port: Port, command: str, shown: str) -> None:
    arguments = ["psql", "-X", "-h", "127.0.0.1", "-p", str(port.port), "-U", "ada", "ksql", "-c", command]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert shown in done.stdout


def answer_of(module: str, script: str, port: Port) -> Any:
    """What a script prints as JSON; skips the test where there is no such module."""
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    url = f"postgresql://ada@127.0.0.1:{port.port}/ksql"
    done = subprocess.run([sys.executable, "-c", script, url], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_adbc(port: Port) -> None:
    script = """if True:
        import json, pyarrow, sys
        from adbc_driver_postgresql import dbapi
        with dbapi.connect(sys.argv[1]) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT * FROM rides WHERE i = $1", (1,))
            types = {field.name: str(field.type) for field in cursor.fetch_arrow_table().schema}
            table = {field.name: str(field.type) for field in connection.adbc_get_table_schema("zones")}
            rows = pyarrow.table({"vendorid": pyarrow.array([1, 2], pyarrow.int32()), "zone": ["a", None]})
            count = cursor.adbc_ingest("rides", rows, mode="append")
            connection.commit()
        print(json.dumps([types, table, count]))
    """
    types, table, count = answer_of("adbc_driver_postgresql", script, port)
    assert [types[name] for name in ("i", "l", "f", "s", "d", "ts")] == [
        "int32", "int64", "double", "string", "date32[day]", "timestamp[us]",
    ]  # fmt: skip
    assert table["vendorid"] == "int32"
    assert count == 2
    assert len(port.engine.inserter_made.rows) == 2


@pytest.mark.parametrize("protocol", ["binary", "csv", "cursor"])
def test_connectorx(port: Port, protocol: str) -> None:
    script = f"""if True:
        import json, sys, connectorx
        table = connectorx.read_sql(sys.argv[1], "SELECT * FROM (VALUES (1, 'a'), (NULL, 'b')) v (n, t)",
            return_type="arrow", protocol="{protocol}")
        print(json.dumps(table.to_pydict()))
    """
    assert answer_of("connectorx", script, port) == {"n": [1, None], "t": ["a", "b"]}


def test_polars(port: Port) -> None:
    script = """if True:
        import json, sys, polars, psycopg
        with psycopg.connect(sys.argv[1]) as connection:
            frame = polars.read_database("SELECT * FROM rides", connection)
        print(json.dumps([frame.shape, frame["i"].to_list(), str(frame.schema["a"])]))
    """
    shape, numbers, type_ = answer_of("polars", script, port)
    assert shape[0] == 2
    assert numbers == [-7, None]
    assert type_ == "List(String)"
