"""The client of Kafka Connect: several workers, repetition, authentication, TLS, Connect's own words."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from ksql_spark.config import Config
from ksql_spark.engine.bootstrap import connect_cluster
from ksql_spark.errors import KsqlError
from ksql_spark.kafka_connect import ConnectClient
from tests.certificates import make
from tests.connect_server import ConnectServer

NOWHERE = "http://127.0.0.1:1"
REBALANCE = {"error_code": 409, "message": "Cannot complete request momentarily due to stale configuration"}


@pytest.fixture
def server() -> Iterator[ConnectServer]:
    with ConnectServer() as running:
        yield running


def client(url: str, **settings: str) -> ConnectClient:
    named = {f"ksql.connect.{name.replace('_', '.')}": value for name, value in settings.items()}
    cluster = connect_cluster(Config({"ksql.connect.url": url, **named}))
    assert cluster is not None
    return cluster.client()


def refused(connect: ConnectClient) -> KsqlError:
    with pytest.raises(KsqlError) as caught:
        connect.names()
    return caught.value


def test_the_next_worker_is_asked_where_one_does_not_answer(server: ConnectServer) -> None:
    server.connectors["a"] = {}
    assert client(f"{NOWHERE}, {server.url}/").names() == ["a"]
    assert client(f"{server.url},{NOWHERE}").names() == ["a"]
    error = refused(client(f"{NOWHERE},{NOWHERE}"))
    assert error.condition == "REMOTE_UNREACHABLE"
    assert f"{NOWHERE},{NOWHERE}" in error.message and "ksql.connect.url" in error.message


def test_a_request_waits_until_workers_have_agreed(server: ConnectServer) -> None:
    server.next_answers = [(409, REBALANCE), (409, REBALANCE)]
    assert client(server.url).create("c", {"connector.class": "X"})["name"] == "c"
    assert len(server.asked("POST")) == 3
    server.next_answers = [(503, None), (502, None)]
    assert client(server.url).names() == ["c"]


def test_what_does_not_help_is_not_repeated(server: ConnectServer) -> None:
    server.next_answers = [(500, {"message": "Request timed out."})]
    assert "Request timed out (HTTP 500)" in refused(client(server.url)).message
    server.connectors["c"] = {}
    with pytest.raises(KsqlError) as caught:
        client(server.url).create("c", {})
    assert (caught.value.condition, caught.value.code) == ("REMOTE_CONFLICT", 40900)
    assert len(server.requests) == 2
    server.next_answers = [(503, None)] * 9
    assert "Service Unavailable (HTTP 503)" in refused(client(server.url)).message
    assert len(server.next_answers) == 6


def test_a_server_that_stops_waits_for_nothing(server: ConnectServer) -> None:
    server.next_answers = [(409, REBALANCE)] * 99
    with pytest.raises(KsqlError):
        ConnectClient(server.url, is_stopping=lambda: True).names()
    assert len(server.requests) == 1


def test_a_worker_that_hangs_is_asked_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        connect = ConnectClient(url, {"request.timeout.ms": "50"})
        error = refused(connect)
        assert error.condition == "REMOTE_UNREACHABLE" and "timed out" in error.message
        silent.setblocking(False)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()


def test_something_else_at_that_address() -> None:
    with ConnectServer() as server:
        server.next_answers = [(200, None), (200, ["x"])]
        assert client(server.url).names() == []
        assert client(server.url).names() == ["x"]
    for url in ("localhost:8083", "ftp://there"):
        with pytest.raises(KsqlError) as caught:
            client(url)
        assert caught.value.condition == "PROPERTY_INVALID"


def test_basic_authentication(server: ConnectServer, tmp_path: Path) -> None:
    server.user_info = "me:pa:ss"
    error = refused(client(server.url))
    assert "HTTP 401" in error.message and "ksql.connect.basic.auth.*" in error.message
    assert client(server.url, basic_auth_user_info="me:pa:ss").names() == []
    assert client(server.url.replace("//", "//me:pa%3Ass@")).names() == []
    file = tmp_path / "credentials"
    file.write_text("username=me\npassword=old\n")
    from_file = client(
        server.url, basic_auth_credentials_source="file", basic_auth_credentials_file=str(file)
    )
    assert "HTTP 401" in refused(from_file).message
    file.write_text("username: me\npassword: pa:ss\n")
    os.utime(file, (0, 0))
    assert from_file.names() == []
    file.write_text("username=me")
    assert "it has no password" in refused(from_file).message
    file.unlink()
    assert "No such file" in refused(from_file).message
    for settings in (
        {"basic_auth_credentials_source": "FILE"},
        {"basic_auth_credentials_source": "USER_INFO"},
    ):
        with pytest.raises(KsqlError) as caught:
            client(server.url, **settings)
        assert caught.value.condition == "PROPERTY_INVALID"


def test_tls(tmp_path: Path) -> None:
    authority = make(tmp_path, "authority")
    make(tmp_path, "server", authority)
    make(tmp_path, "client", authority)
    pem = {name: str(tmp_path / f"{name}.pem") for name in ("authority", "server", "client")}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem["server"], str(tmp_path / "server.key"))
    context.load_verify_locations(pem["authority"])
    context.verify_mode = ssl.CERT_REQUIRED
    with ConnectServer(context) as server:
        own = {"ssl_keystore_location": pem["client"], "ssl_key_location": str(tmp_path / "client.key")}
        trusted = {"ssl_truststore_location": pem["authority"]}
        by_name = server.url.replace("127.0.0.1", "localhost")
        assert client(by_name, **trusted, **own).names() == []
        assert "certificate" in refused(client(by_name, **own)).message
        assert "IP address mismatch" in refused(client(server.url, **trusted, **own)).message
        unchecked = {"ssl_endpoint_identification_algorithm": ""}
        assert client(server.url, **trusted, **own, **unchecked).names() == []
    for name, file in (("truststore", "nowhere.pem"), ("keystore", str(tmp_path / "client.key"))):
        with pytest.raises(KsqlError) as caught:
            client(NOWHERE, **{f"ssl_{name}_location": file})
        assert f"ksql.connect.ssl.{name}.location" in caught.value.message


def test_the_settings_of_a_class(server: ConnectServer) -> None:
    found = client(server.url).settings("FileStreamSourceConnector")
    assert found is not None
    assert [(one["name"], one["default_value"]) for one in found] == [("file", None), ("batch.size", "2000")]
    assert client(server.url).settings("NoSuchConnector") is None


def test_failed_tasks_are_restarted(server: ConnectServer) -> None:
    server.connectors["a"] = {}
    server.tasks["a"] = ["FAILED", "RUNNING"]
    client(server.url).restart("a")
    assert [task["state"] for task in client(server.url).status("a")["tasks"]] == ["RUNNING", "RUNNING"]
    with pytest.raises(KsqlError, match="not found"):
        client(server.url).restart("b")
