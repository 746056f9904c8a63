"""The console at /: who gets it, with which headers, and that what is shipped is what the sources make."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import re
from pathlib import Path

import pytest
from fastapi.routing import APIRoute

from ksql_spark.server.app import MODULES
from ksql_spark.server.console import Console
from ksql_spark.server.host import Host
from ksql_spark.server.security import passwords
from tests.server.app_client import AppClient
from tests.server.fake_engine import FakeEngine
from tests.server.live_server import LiveServer, connected

ROOT = Path(__file__).parents[3]
SOURCES, SHIPPED = ROOT / "console", ROOT / "ksql_spark" / "console"
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8"}
#: what decides what is built, besides src/: as in console/build.mjs
DECIDING = (
    "build.mjs",
    "index.html",
    "package-lock.json",
    "package.json",
    "tsconfig.json",
    "../examples/taxi/taxi.sql",
)


def test_what_is_shipped_was_built_from_these_sources() -> None:
    names = [*DECIDING, *(str(p.relative_to(SOURCES)) for p in (SOURCES / "src").rglob("*") if p.is_file())]
    found = hashlib.sha256()
    for name in sorted(names):
        found.update(f"{name}\n".encode() + (SOURCES / name).read_bytes())
    manifest = json.loads((SHIPPED / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["sources"] == found.hexdigest(), "run `make console`"


def test_what_is_shipped_is_small_and_its_licences_are_there() -> None:
    sizes = [
        len(gzip.compress(p.read_bytes())) for p in SHIPPED.iterdir() if p.suffix in (".js", ".css", ".html")
    ]
    assert 0 < sum(sizes) < 300_000
    licences = (SHIPPED / "LICENSES.txt").read_text(encoding="utf-8")
    for package in json.loads((SOURCES / "package.json").read_text(encoding="utf-8"))["dependencies"]:
        assert f"{package} " in licences
    assert "has no licence file" not in licences


def test_browsers_get_the_page_and_its_files(client: AppClient) -> None:
    page = client.get("/", headers=BROWSER)
    assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
    assert page.headers["cache-control"] == "no-cache" and "Accept" in page.headers["vary"]
    files = re.findall(r'(?:href|src)="([^"]+)"', page.text)
    assert len(files) >= 3
    for name in files:
        file = client.get(f"/{name}")
        assert file.status_code == 200 and "immutable" in file.headers["cache-control"]
        assert file.headers["x-content-type-options"] == "nosniff"


def test_nothing_comes_from_elsewhere_and_no_script_is_inline(client: AppClient) -> None:
    page = client.get("/", headers=BROWSER)
    policy = page.headers["content-security-policy"]
    assert "default-src 'self'" in policy and "unsafe" not in policy
    assert not re.search(r"<script[^>]*>[^<]", page.text) and "//" not in page.text


@pytest.mark.parametrize(
    "accept", ["*/*", "application/json", "application/json, text/html;q=0.5", "text/html;q=0"]
)
def test_other_clients_are_sent_to_info(client: AppClient, accept: str) -> None:
    response = client.get("/", headers={"Accept": accept})
    assert (response.status_code, response.headers["location"]) == (307, "/info")


#: path segments that no file has, and that file systems, decoders or URL parsers treat in ways of their own
HOSTILE = (
    "index.html%00.js", "%00", "%00.js", "%ff%fe.js", "%zz.js", "%.js", "%", "%2e%2e", "..", "..%2Fbuild.mjs",
    "..%2F..%2Fetc%2Fpasswd.txt", "%2Fetc%2Fpasswd.txt", "..%5Cbuild.js", "C:%5Cx.js", "a%0d%0ab.js",
    "%F0%9F%98%80.js", "%ed%a0%80.js", ";x.js", ".js", "a" * 5_000 + ".js", "%c0%ae%c0%ae.js",
)  # fmt: skip


@pytest.mark.parametrize("name", ["manifest.json", "nope.js", "src", *(n for n in HOSTILE if n != "..")])
def test_other_files_are_not_there(client: AppClient, name: str) -> None:
    response = client.get(f"/console/{name}")
    assert response.status_code == 404


@pytest.mark.usefixtures("both")
def test_a_browser_at_an_unknown_path_gets_the_console(client: AppClient) -> None:
    answer = client.get("/nothing", headers=BROWSER, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (302, "/#/nothing")
    assert client.get("/nothing").status_code == 404


def test_no_path_is_an_error_of_the_server(engine: FakeEngine) -> None:
    """Endpoints whose paths end with a client's text, and paths of none, over the wire."""
    endpoints = {("GET", ""), ("POST", "/ksql")}
    for route in (route for module in MODULES for route in module.router.routes):
        if isinstance(route, APIRoute) and "{" in route.path:
            endpoints |= {(method, route.path.partition("/{")[0]) for method in route.methods}
    rest = "HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    with LiveServer(engine) as live:
        for (method, base), name in itertools.product(sorted(endpoints), HOSTILE):
            with connected(live) as sock:
                sock.sendall(f"{method} {base}/{name} {rest}".encode())
                status = sock.recv(64).split(b" ")[1]
            assert 200 <= int(status) < 500, f"{method} {base}/{name[:80]}"


def test_files_are_small_on_the_way(client: AppClient) -> None:
    response = client.get("/", headers={**BROWSER, "Accept-Encoding": "gzip"})
    assert response.headers["content-encoding"] == "gzip" and response.text.startswith("<!doctype html>")
    plain = client.get("/", headers={**BROWSER, "Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers and plain.text == response.text


def test_it_can_be_switched_off(host: Host) -> None:
    client = AppClient(host, **{"ksql.console.enabled": False})
    assert client.get("/", headers=BROWSER).status_code == 307
    assert client.get("/console/LICENSES.txt").status_code == 404


def test_the_page_is_there_before_the_engine_and_says_so_itself(
    client: AppClient, engine: FakeEngine
) -> None:
    engine.state = "STARTING"
    assert client.get("/", headers=BROWSER).status_code == 200
    assert client.get("/").status_code == 503
    assert client.get("/graph").status_code == 503


def test_anybody_gets_the_page_but_no_data(host: Host, tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text(f"ada:{passwords.hash_password('x' * 12)}:admin\n", encoding="utf-8")
    client = AppClient(host, **{"ksql.server.auth.users.file": str(users)})
    assert client.get("/", headers=BROWSER).status_code == 200
    assert client.get("/console/LICENSES.txt").status_code == 200
    for path in ("/graph", "/queries/BIG_1", "/info"):
        assert client.get(path).status_code == 401


def test_a_new_build_is_served_at_once(tmp_path: Path) -> None:
    console, scope = Console(tmp_path), {"type": "http", "headers": []}
    assert console.response("a.js", scope) is None
    (tmp_path / "a.js").write_text("1", encoding="utf-8")
    first = console.response("a.js", scope)
    (tmp_path / "a.js").unlink()
    assert first is not None and first.body == b"1" and console.response("a.js", scope) is None
