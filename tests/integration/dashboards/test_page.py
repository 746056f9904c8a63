"""The page of docs/how-to that follows a table, in Chromium."""

from __future__ import annotations

import functools
import http.server
import threading
from pathlib import Path

import pytest

from tests.integration.clients.browser import ROOT, run
from tests.integration.server_process import ServerProcess

pytestmark = [pytest.mark.long, pytest.mark.kafka]


def test_a_page_that_follows_a_table(tmp_path: Path) -> None:
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=ROOT / "docs" / "how-to")
    pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{pages.server_port}"
    try:
        with ServerProcess(
            tmp_path / "data", environment={"KSQL_KSQL_SERVER_ALLOWED_ORIGINS": url}
        ) as server:
            server.ready().execute(
                "CREATE TABLE stock (item STRING PRIMARY KEY, amount INT)"
                " WITH (KAFKA_TOPIC = 'stock', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
                "INSERT INTO stock VALUES ('tea', 3);"
            )
            address = server.url.removeprefix("http://")
            run("page", server.url, PAGE_URL=f"{url}/live-table.html?table=stock&server={address}")
            server.stop()
    finally:
        pages.shutdown()
        pages.server_close()
