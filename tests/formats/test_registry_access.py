"""Registries that want to know who asks, that speak TLS, or of which one is away: for Python and the JVM."""

from __future__ import annotations

import base64
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from ksql_spark.config import Config
from ksql_spark.engine.bootstrap import registry_settings
from ksql_spark.errors import KsqlError
from ksql_spark.formats import SerdeSpec, bind
from ksql_spark.kafka.schema_registry import ConfluentRegistry
from ksql_spark.runtime.errors import reason as said
from ksql_spark.schema import Column
from ksql_spark.schema_registry import AVRO
from ksql_spark.spark.session import set_registry
from ksql_spark.types import STRING
from tests.certificates import make
from tests.registry_server import RegistryServer

SPEC = SerdeSpec("AVRO", (Column("A", STRING),), wrapped=False)
RECORD = b"\0\0\0\0\1\2x"
#: what reads RECORD, given the settings of a registry: its text, or None if it is unreadable
Read = Callable[[dict[str, str]], str | None]


@pytest.fixture(params=["python", pytest.param("jvm", marks=pytest.mark.spark)])
def read(request: pytest.FixtureRequest) -> Iterator[Read]:
    with ExitStack() as cleanup:
        if request.param == "jvm":
            session = request.getfixturevalue("local_spark")
            cleanup.callback(set_registry, session, {})
        yield _of_python if request.param == "python" else lambda settings: _of_jvm(session, settings)


def _settings(given: dict[str, str]) -> dict[str, str]:
    return registry_settings(Config({f"ksql.schema.registry.{name}": v for name, v in given.items()}))


def _of_python(given: dict[str, str], copies: Path | None = None) -> str | None:
    settings = _settings(given)
    values = bind(SPEC, ConfluentRegistry(settings["url"], settings, copies)).decode(RECORD)
    return None if values is None else str(values[0])


def _of_jvm(session: Any, given: dict[str, str]) -> str | None:
    set_registry(session, _settings(given))
    return _read_on_jvm(session)


def _read_on_jvm(session: Any) -> str | None:
    text = f"X'{RECORD.hex()}'"
    decoded, reason = bind(SPEC).decode_sql(text), bind(SPEC).explain_sql(text)
    try:
        row = session.range(1).selectExpr(f"{decoded} AS r", f"{reason} AS reason").collect()[0]
    except Py4JJavaError as error:  # the registry does not answer, or does not let us in
        raise KsqlError("REMOTE_REFUSED", name="", reason=said(error)) from error
    if row.r is None:
        raise KsqlError("REMOTE_REFUSED", name="", reason=row.reason)
    return None if row.r is None else str(row.r.A)


def serving(**more: Any) -> RegistryServer:
    server = RegistryServer(**more)
    server.add("any", '"string"', AVRO)
    return server


def free_url() -> str:
    """An address at which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def test_a_user_and_a_password(read: Read) -> None:
    known = "Basic " + base64.b64encode(b"me:secret").decode()
    with serving(authorization=known) as server:
        user = {"basic.auth.user.info": "me:secret", "basic.auth.credentials.source": "USER_INFO"}
        assert read({"url": server.url, **user}) == "x"
        assert read({"url": server.url.replace("//", "//me:secret@")}) == "x"
        with pytest.raises(KsqlError, match="401"):
            read({"url": server.url})


def test_a_token(read: Read) -> None:
    with serving(authorization="Bearer t0ken") as server:
        assert read({"url": server.url, "bearer.auth.token": "t0ken"}) == "x"
        with pytest.raises(KsqlError, match="401"):
            read({"url": server.url, "bearer.auth.token": "other"})


def test_one_of_several_is_away(read: Read) -> None:
    with serving() as server:
        assert read({"url": f"{free_url()}, {server.url}/"}) == "x"


def test_certificates(read: Read, tmp_path: Path) -> None:
    authority = make(tmp_path, "authority")
    make(tmp_path, "server", authority)
    make(tmp_path, "client", authority)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    tls.load_verify_locations(tmp_path / "authority.pem")
    tls.verify_mode = ssl.CERT_REQUIRED
    with serving(tls=tls) as server:
        trust = {"url": server.url, "ssl.truststore.location": str(tmp_path / "authority.pem")}
        own = {
            "ssl.keystore.location": str(tmp_path / "client.pem"),
            "ssl.key.location": str(tmp_path / "client.key"),
        }
        assert read({**trust, **own}) == "x"
        for lacking in (trust, {"url": server.url, **own}):
            with pytest.raises(KsqlError):
                read(lacking)


@pytest.mark.spark
def test_one_that_hangs_holds_up_no_record_of_a_known_schema(local_spark: Any) -> None:
    """It is not asked again by each query that needs an unknown one."""
    with serving() as server:
        try:
            assert _of_jvm(local_spark, {"url": server.url}) == "x"
            server.answers.clear()
            asked = len(server.requests)
            decoded = f"{bind(SPEC).decode_sql('data')}.A AS a"

            def read(*records: bytes) -> list[str | None]:
                rows = [(bytearray(record),) for record in records]
                frame = local_spark.createDataFrame(rows, "data BINARY").selectExpr(decoded)
                return [row.a for row in frame.collect()]

            for number in range(2, 5):
                with pytest.raises(Py4JJavaError, match="KSQL_REGISTRY_AWAY"):
                    read(b"\0" + number.to_bytes(4, "big") + b"\2x")
                assert read(*[RECORD] * 1000) == ["x"] * 1000
            assert len(server.requests) == asked + 1
        finally:
            set_registry(local_spark, {})


@pytest.mark.spark
def test_passwords_are_in_no_plan(local_spark: Any) -> None:
    with serving() as server:
        given = {"url": server.url, "basic.auth.user.info": "me:s3cret", "bearer.auth.token": "t0ken"}
        try:
            set_registry(local_spark, _settings(given))
            frame = local_spark.createDataFrame([(bytearray(RECORD),)], "data BINARY")
            frame = frame.selectExpr(bind(SPEC).decode_sql("data"), bind(SPEC).explain_sql("data"))
            shown = frame._jdf.queryExecution().toString() + frame._jdf.queryExecution().logical().toJSON()
        finally:
            set_registry(local_spark, {})
    assert "decode_avro" in shown
    assert not {word for word in ("s3cret", "t0ken", server.url) if word in shown}


@pytest.mark.spark
def test_copies_are_read_while_it_is_away(local_spark: Any, tmp_path: Path) -> None:
    """By a JVM that starts meanwhile. Other settings have a client of their own, which has asked nothing."""

    def as_another(number: int) -> str | None:
        given = {"url": server.url, "folder": str(tmp_path), "basic.auth.user.info": f"me:{number}"}
        set_registry(local_spark, given)
        return _read_on_jvm(local_spark)

    with serving() as server:
        try:
            assert as_another(1) == "x"
            server.schemas.clear()  # another registry at the same address
            with pytest.raises(KsqlError, match="no schema with the id 1"):
                as_another(2)
            server.stop()
            assert as_another(3) == "x"
            assert _of_python({"url": server.url}, tmp_path) == "x"
            with pytest.raises(KsqlError, match="does not answer"):
                _of_python({"url": server.url})
            next(tmp_path.iterdir()).write_text("{")
            with pytest.raises(KsqlError, match="cannot be read"):
                as_another(4)
        finally:
            set_registry(local_spark, {})
