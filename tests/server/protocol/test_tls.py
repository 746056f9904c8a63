"""Listeners with https."""

from __future__ import annotations

import argparse
import contextlib
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from ksql_spark.client import UnreachableError, connect, connection
from ksql_spark.config import Config
from ksql_spark.server.app import create_app
from ksql_spark.server.host import Host
from ksql_spark.server.main import _bind
from ksql_spark.server.protocol.http import has_http2, http_settings, tls_settings
from ksql_spark.server.running import Web
from ksql_spark.shell.client import ClientError
from ksql_spark.shell.options import OptionProblem, make_client
from tests.certificates import make
from tests.server.fake_engine import FakeEngine
from tests.server.live_server import LiveServer

SOON_S = 20.0
NO_CREDENTIALS = argparse.Namespace(
    user=None, password=None, token=None, confluent_api_key=None, confluent_api_secret=None
)


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


@contextlib.contextmanager
def serving(config: Config, engine: FakeEngine) -> Iterator[str]:
    """A server with TLS; its address."""
    host = Host()
    host.engine = engine
    sock = _bind("127.0.0.1", 0, 60_000)
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
    try:
        yield f"https://localhost:{sock.getsockname()[1]}"
    finally:
        web.should_exit = True
        thread.join(SOON_S)
        host.release_threads()
    assert not thread.is_alive()


def test_both_versions_and_certificates_of_clients(folder: Path, engine: FakeEngine) -> None:
    config = settings(folder, **{"ksql.server.tls.client.authorities": str(folder / "authority.pem")})
    with serving(config, engine) as address:
        url = f"{address}/info"
        trusting = ssl.create_default_context(cafile=str(folder / "authority.pem"))
        with pytest.raises(httpx.HTTPError):
            httpx.get(url, verify=trusting, timeout=SOON_S)
        trusting.load_cert_chain(folder / "client.pem", folder / "client.key")
        assert httpx.get(url, verify=trusting, timeout=SOON_S).json()["KsqlServerInfo"]
        if has_http2():
            pytest.importorskip("h2")
            with httpx.Client(verify=trusting, http2=True, timeout=SOON_S) as client:
                assert client.get(url).http_version == "HTTP/2"


def test_the_shell_has_a_certificate(folder: Path, engine: FakeEngine) -> None:
    config = settings(folder, **{"ksql.server.tls.client.authorities": str(folder / "authority.pem")})
    both = folder / "both.pem"
    both.write_bytes((folder / "client.pem").read_bytes() + (folder / "client.key").read_bytes())
    with serving(config, engine) as url:
        trust = {"ssl.truststore.location": str(folder / "authority.pem")}
        key = str(folder / "client.key")
        for properties in (
            {**trust, "ssl.keystore.location": str(both)},
            {**trust, "ssl.keystore.location": str(folder / "client.pem"), "ssl.key.location": key},
        ):
            client = make_client(url, NO_CREDENTIALS, properties)
            assert client.info()["serverStatus"] == "RUNNING"
            client.close()
        stranger = make_client(url, NO_CREDENTIALS, trust)
        with pytest.raises(ClientError):
            stranger.info()
        stranger.close()
    with pytest.raises(OptionProblem, match=r"ssl\.keystore\.location"):
        make_client(url, NO_CREDENTIALS, {"ssl.keystore.location": str(folder / "authority.pem")})


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


def message(url: str, **tls: Any) -> str:
    """Why the server at ``url`` cannot be reached."""
    with connect(url, **tls) as connection, pytest.raises(UnreachableError) as caught:
        connection.info()
    return str(caught.value)


def test_a_client_is_told_what_is_wrong_with_tls(folder: Path, engine: FakeEngine) -> None:
    trusting = ssl.create_default_context(cafile=str(folder / "authority.pem"))
    with serving(settings(folder), engine) as url:
        untrusted = message(url)
        assert (
            f"The certificate of the server at {url} is not trusted: unable to get local issuer" in untrusted
        )
        assert "ssl.truststore.location" in untrusted and "Is it running" not in untrusted
        other = message(url.replace("localhost", "127.0.0.1"), verify=trusting)
        assert other.endswith("not valid for '127.0.0.1'. Use an address that the certificate covers.")
        plain = message(url.replace("https", "http"))
        assert plain.endswith(f"Is it running? If it uses TLS, its address is {url}.")
    config = settings(folder, **{"ksql.server.tls.client.authorities": str(folder / "authority.pem")})
    with serving(config, engine) as url:
        assert "ssl.keystore.location" in message(url, verify=trusting)


def test_a_client_with_tls_of_a_server_without(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CONNECT_TIMEOUT_S", 0.5)
    with LiveServer(engine) as live:
        url = live.url.replace("http", "https")
        assert message(url).endswith(f"Is it running? If it does not use TLS, its address is {live.url}.")
