"""Listeners with https."""

from __future__ import annotations

import ssl
import threading
from pathlib import Path

import httpx
import pytest
import uvicorn
from fake_engine import FakeEngine

from ksql_spark.config import Config
from server.app import create_app
from server.host import Host
from server.http import has_http2, http_settings, tls_settings
from server.main import Web, _bind
from tests.certificates import make

SOON_S = 20.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    authority = make(tmp_path, "authority")
    make(tmp_path, "server", authority)
    make(tmp_path, "client", authority)
    return tmp_path


def settings(folder: Path, **more: str) -> Config:
    return Config(
        {
            "listeners": "https://127.0.0.1:0",
            "ksql.server.tls.certificate": str(folder / "server.pem"),
            "ksql.server.tls.key": str(folder / "server.key"),
            **more,
        }
    )


def test_both_versions_and_certificates_of_clients(folder: Path, engine: FakeEngine) -> None:
    config = settings(folder, **{"ksql.server.tls.client.authorities": str(folder / "authority.pem")})
    host = Host()
    host.engine = engine
    sock = _bind("127.0.0.1", 0)
    web = Web(
        uvicorn.Config(
            create_app(host, config),
            **http_settings(),
            **tls_settings(config),
            log_config=None,
            lifespan="off",
        ),
        host,
    )
    thread = threading.Thread(target=web.run, args=([sock],), daemon=True)
    thread.start()
    url = f"https://localhost:{sock.getsockname()[1]}/info"
    try:
        trusting = ssl.create_default_context(cafile=str(folder / "authority.pem"))
        with pytest.raises(httpx.HTTPError):
            httpx.get(url, verify=trusting, timeout=SOON_S)
        trusting.load_cert_chain(folder / "client.pem", folder / "client.key")
        assert httpx.get(url, verify=trusting, timeout=SOON_S).json()["KsqlServerInfo"]
        if has_http2():
            pytest.importorskip("h2")
            with httpx.Client(verify=trusting, http2=True, timeout=SOON_S) as client:
                assert client.get(url).http_version == "HTTP/2"
    finally:
        web.should_exit = True
        thread.join(SOON_S)
        host.release_threads()
    assert not thread.is_alive()


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"listeners": "https://a:1,http://b:2"}, "all https"),
        (
            {"listeners": "https://a:1", "ksql.server.tls.certificate": ""},
            "needs ksql.server.tls.certificate",
        ),
        ({"ksql.server.tls.key": "nowhere"}, "cannot be used"),
    ],
)
def test_settings_that_are_wrong(folder: Path, properties: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        tls_settings(settings(folder, **properties))


def test_clear_text_needs_no_settings() -> None:
    assert tls_settings(Config({})) == {}
