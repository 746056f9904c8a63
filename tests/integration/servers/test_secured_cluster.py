"""A Kafka that speaks TLS and asks for a password: every client of ours must do as it wants."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from ksql_spark.config import Config
from ksql_spark.datagen import command as datagen
from ksql_spark.engine import Engine, Request
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.services.broker import HOST, EmbeddedBroker
from ksql_spark.spark.session import SparkProcess

pytestmark = pytest.mark.kafka

LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="s\\"3"'


def certificate(folder: Path) -> tuple[Path, Path]:
    """PEM files: a certificate for 127.0.0.1 that vouches for itself, and the same with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a broker")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
        .public_bytes(Encoding.PEM)
    )
    authority, both = folder / "authority.pem", folder / "broker.pem"
    authority.write_bytes(signed)
    both.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + signed)
    return authority, both


class SecuredBroker(EmbeddedBroker):
    """A broker with a second listener, which speaks TLS and wants a user and a password."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir, port=0)
        data_dir.mkdir(exist_ok=True)
        self._authority, self._key = certificate(data_dir)
        with socket.socket() as free:
            free.bind((HOST, 0))
            self.secured = f"{HOST}:{free.getsockname()[1]}"

    @property
    def security(self) -> dict[str, str]:
        """What a client must be told."""
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f"{LOGIN};",
            "ssl.truststore.location": str(self._authority),
        }

    def _write_properties(self, controller_port: int) -> None:
        super()._write_properties(controller_port)
        lines = self._properties_file.read_text().splitlines()
        for i, line in enumerate(lines):
            name = line.partition("=")[0]
            if name in ("listeners", "advertised.listeners"):
                lines[i] = f"{line},SASL_SSL://{self.secured}"
            if name == "listener.security.protocol.map":
                lines[i] = f"{line},SASL_SSL:SASL_SSL"
        users = LOGIN.replace("\\", "\\\\") + ' user_ann="s\\\\"3"'
        lines += [
            "sasl.enabled.mechanisms=PLAIN",
            f"listener.name.sasl_ssl.plain.sasl.jaas.config={users};",
            "ssl.keystore.type=PEM",
            f"ssl.keystore.location={self._key}",
        ]
        self._properties_file.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with SecuredBroker(tmp_path_factory.mktemp("secured")) as broker:
        yield broker


def config(broker: SecuredBroker, folder: Path, **more: Any) -> Config:
    return Config(
        {
            "bootstrap.servers": broker.secured,
            "ksql.spark.data.dir": str(folder),
            "ksql.logging.processing.topic.auto.create": "true",
            "ksql.idle.window.timeout": "500",
            **broker.security,
            **more,
        }
    )


def rows(engine: Engine, text: str) -> list[list[Any]]:
    with contextlib.closing(engine.query(Request(text, {"auto.offset.reset": "earliest"}))) as result:
        found: list[list[Any]] = []
        while (more := result.read(60)) is not None:
            found += [row.values for row in more]
        return found


def test_everything_that_reads_or_writes_records(
    secured: SecuredBroker, spark_process: SparkProcess, tmp_path: Path
) -> None:
    engine = Engine(config(secured, tmp_path), spark_process)
    try:
        engine.start()
        engine.execute(
            Request("""
                CREATE STREAM s (k STRING KEY, v INT)
                  WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
                CREATE TABLE counted AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;
                CREATE TABLE final AS
                  SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY k EMIT FINAL;
                INSERT INTO s VALUES ('a', 1);
                INSERT INTO s (ROWTIME, k, v) VALUES (0, 'a', 2);
            """)
        )
        assert rows(engine, "SELECT * FROM counted EMIT CHANGES LIMIT 2;") == [["a", 1], ["a", 2]]
        assert rows(engine, "SELECT * FROM counted WHERE k = 'a';") == [["a", 2]]
        assert sorted(rows(engine, "SELECT v FROM s;")) == [[1], [2]]
        assert rows(engine, "SELECT SUM(v) AS total FROM s;") == [[3]]
        assert rows(engine, "SELECT k, n FROM final EMIT CHANGES LIMIT 1;") == [["a", 1]]
        assert len(rows(engine, "PRINT 's' FROM BEGINNING LIMIT 1;")) >= 1
    finally:
        engine.stop()
    again = Engine(config(secured, tmp_path), spark_process)
    try:
        again.start()
        assert rows(again, "SELECT * FROM counted WHERE k = 'a';") == [["a", 2]]
    finally:
        again.stop()


def test_generated_events(secured: SecuredBroker, tmp_path: Path) -> None:
    properties = tmp_path / "secured.properties"
    lines = [f"{name}={value}".replace("\\", "\\\\") for name, value in secured.security.items()]
    properties.write_text("\n".join([*lines, f"bootstrap.servers={secured.secured}"]))
    assert datagen.main(["orders", "--topic", "made", "--count", "3", "--properties", str(properties)]) == 0
    admin = KafkaAdmin(secured.bootstrap_servers)
    assert sum(admin.end_offsets("made").values()) == 3


@pytest.mark.long
def test_a_wrong_password(secured: SecuredBroker, spark_process: SparkProcess, tmp_path: Path) -> None:
    wrong = secured.security["sasl.jaas.config"].replace("3", "4")
    engine = Engine(config(secured, tmp_path, **{"sasl.jaas.config": wrong}), spark_process)
    with pytest.raises(KsqlError, match="uthentication"):
        engine.start()
