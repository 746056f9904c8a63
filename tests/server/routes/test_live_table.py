"""docs/how-to/live-table.html: its script, run by node, follows a table over the WebSocket of a server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ksql_spark.engine import ResultColumn, Row
from tests.server.fake_engine import FakeEngine, FakeStream
from tests.server.live_server import LiveServer

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "live-table.html"
#: as much of a browser as the page uses; when the query ends, it prints what the page shows
BROWSER = """
const element = () => ({
  children: [], className: "", textContent: "",
  replaceChildren(...children) { this.children = children },
  insertRow() {
    const row = element();
    row.remove = () => this.children = this.children.filter((one) => one !== row);
    this.children.push(row);
    return row;
  },
});
const found = {};
globalThis.document = { createElement: element, querySelector: (id) => found[id] ??= element() };
globalThis.location = { search: "?table=SALES&server=SERVER" };
const later = setTimeout;
globalThis.setTimeout = (call, ms) => {
  if (call !== follow) return later(call, ms);
  const texts = (row) => row.children.map((cell) => cell.textContent);
  console.log(JSON.stringify([texts(found["#names"]), ...found["#rows"].children.map(texts)]));
  later(() => process.exit(), 0);
};
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="it needs node")
def test_the_page_draws_the_rows_of_a_table_as_they_change(live: LiveServer, engine: FakeEngine) -> None:
    rows = [
        Row(["tea", 1]),
        Row(["cake", 5]),
        Row(["milk", None]),
        Row(["tea", 2]),
        Row(["cake", None], tombstone=True),
        Row(["jam", 7]),
    ]
    columns = [ResultColumn("ITEM", "STRING", is_key=True), ResultColumn("N", "BIGINT")]
    engine.next_stream = FakeStream("PUSH", columns, rows)
    (script,) = re.findall("<script>(.*)</script>", PAGE.read_text(), re.DOTALL)
    browser = BROWSER.replace("SERVER", f"127.0.0.1:{live.port}")
    done = subprocess.run(
        ["node", "--experimental-websocket", "--input-type=commonjs"],
        input=browser + script,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert json.loads(done.stdout or "null") == [
        ["ITEM", "N"], ["tea", 2], ["milk", ""], ["jam", 7],
    ], done.stderr  # fmt: skip
    (request,) = engine.requests
    assert request.text == "SELECT * FROM SALES EMIT CHANGES;"
