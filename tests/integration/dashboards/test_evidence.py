"""Evidence, installed in build/evidence: a site whose page has three queries, in Chromium."""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from tests.integration.clients.browser import run
from tests.integration.dashboards.sales import ROOT, sales

#: Evidence builds a site in the folder of its packages
PROJECT = Path(os.environ.get("EVIDENCE", ROOT / "build" / "evidence"))

pytestmark = [
    pytest.mark.long,
    pytest.mark.kafka,
    pytest.mark.skipif(
        not (PROJECT / "node_modules").is_dir(), reason="Evidence is not installed: make test-tools"
    ),
]

PLUGINS = """
components:
  "@evidence-dev/core-components": {}
datasources:
  "@evidence-dev/postgres": {}
"""
CONNECTION = """
name: ksql
type: postgres
options: {{host: 127.0.0.1, port: {port}, database: ksql, user: me, password: none, ssl: false}}
"""
ZONES = "SELECT zone, COUNT(*) AS n, SUM(amount * price) AS revenue FROM sales GROUP BY zone"
WINDOWS = "SELECT zone, to_timestamp(windowstart / 1000) AS day, n FROM per_day"
PAGE = """
# Sales

```sql total
SELECT SUM(amount) AS amount FROM ksql.sales WHERE sold_at >= '2026-03-10'
```
```sql zones
SELECT zone, n, revenue FROM ksql.zones ORDER BY zone
```
```sql days
SELECT day, SUM(n) AS n FROM ksql.windows GROUP BY day ORDER BY day LIMIT 5
```
<BigValue data={total} value=amount fmt=num0/>
<DataTable data={zones}><Column id=zone/><Column id=n/><Column id=revenue fmt="0.00"/></DataTable>
<DataTable data={days}><Column id=day fmt="yyyy-mm-dd"/><Column id=n/></DataTable>
<LineChart data={days} x=day y=n/>
"""


def test_a_page_with_three_queries(tmp_path: Path) -> None:
    for folder in ("pages", "sources", "build", ".evidence"):
        shutil.rmtree(PROJECT / folder, ignore_errors=True)
    source = PROJECT / "sources" / "ksql"
    source.mkdir(parents=True)
    (PROJECT / "pages").mkdir()
    with sales(tmp_path) as server:
        (PROJECT / "evidence.plugins.yaml").write_text(PLUGINS)
        (PROJECT / "pages" / "index.md").write_text(PAGE)
        (source / "connection.yaml").write_text(CONNECTION.format(port=server.port))
        for name, sql in {"sales": "SELECT * FROM sales", "zones": ZONES, "windows": WINDOWS}.items():
            (source / f"{name}.sql").write_text(sql)
        for command in ("sources", "build"):
            done = subprocess.run(
                [str(PROJECT / "node_modules" / ".bin" / "evidence"), command],
                cwd=PROJECT,
                env={**os.environ, "SEND_ANONYMOUS_USAGE_STATS": "no"},
                capture_output=True,
                text=True,
                timeout=1200,
            )
            assert done.returncode == 0, done.stdout + done.stderr
        day = "strftime(sold_at::DATE, '%Y-%m-%d')"
        days = f"SELECT {day}, COUNT(*)::TEXT FROM sales GROUP BY 1 ORDER BY 1 LIMIT 5"
        zones = f"SELECT zone, n::TEXT, revenue::DECIMAL(12, 2)::TEXT FROM ({ZONES}) AS z ORDER BY zone"
        expected = {
            "total": server.number("SELECT SUM(amount) FROM sales WHERE sold_at >= '2026-03-10'"),
            "tables": [server.expected(zones), server.expected(days)],
        }
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=PROJECT / "build")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        run("evidence", f"http://127.0.0.1:{site.server_port}/", EXPECTED=json.dumps(expected))
        site.shutdown()
