"""Files into streams and results into files by REST, compared with what DuckDB reads of the same file."""

from __future__ import annotations

import random
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import httpx
import pytest

from tests.waiting import TIMEOUT_S

pytestmark = pytest.mark.kafka

COLUMNS = "(id INT KEY, name STRING, amount DECIMAL(9, 2), weight DOUBLE, tags ARRAY<STRING>, day DATE)"
ROWS = 3000


def a_file(path: Path) -> Path:
    made = random.Random(7)
    lines = ["id,Name,AMOUNT,weight,tags,day"]
    for n in range(ROWS):
        name = made.choice(["tea", '"a, ""b"""', '"two\nlines"', "", "é"])
        amount = made.choice(["", f"{made.randrange(-99999, 99999) / 100:.2f}"])
        day = made.choice(["", f"2026-0{made.randint(1, 9)}-1{made.randint(0, 9)}"])
        lines.append(f'{n},{name},{amount},{made.uniform(-1, 1)!r},"[""x"", ""{n}""]",{day}')
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def in_duckdb(path: Path) -> Counter[tuple[Any, ...]]:
    """The rows of a CSV file, whatever their order."""
    types = "{'id': 'INT', 'amount': 'DECIMAL(9, 2)', 'weight': 'DOUBLE', 'tags': 'JSON', 'day': 'DATE'}"
    read = f"read_csv('{path}', header = true, types = {types})"
    tags = "json_extract_string(tags, '$[*]')"
    sql = f"SELECT id, name, amount, weight, {tags}, day FROM {read}"
    return Counter(tuple(map(str, row)) for row in duckdb.sql(sql).fetchall())


@pytest.mark.parametrize("partitions", [1, 4])
def test_a_file_goes_in_and_comes_out(
    execute: Callable[[str], Any], url: str, tmp_path: Path, partitions: int
) -> None:
    name = f"copied_{uuid.uuid4().hex[:8]}"
    execute(
        f"CREATE STREAM {name} {COLUMNS}"
        f" WITH (KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON', PARTITIONS={partitions});"
    )
    there = a_file(tmp_path / "there.csv")
    with there.open("rb") as file:
        answer = httpx.post(
            f"{url}/copy/{name}", content=file, headers={"Content-Type": "text/csv"}, timeout=TIMEOUT_S
        )
    assert (answer.status_code, answer.json()) == (200, {"target": name, "rows": ROWS}), answer.text
    back = httpx.post(
        f"{url}/query-stream",
        json={"sql": f"SELECT * FROM {name};"},
        headers={"Accept": "text/csv"},
        timeout=TIMEOUT_S,
    )
    (tmp_path / "back.csv").write_bytes(back.content)
    assert in_duckdb(tmp_path / "back.csv") == in_duckdb(there)
    # a row that does not fit ends it, after those before it
    answer = httpx.post(
        f"{url}/copy/{name}",
        content=b"id,amount\n1,1\n2,x\n",
        headers={"Content-Type": "text/csv"},
        timeout=TIMEOUT_S,
    )
    assert answer.status_code == 400
    assert "line 3: 'x' in amount is no DECIMAL. 1 row was written before it." in answer.json()["message"]
