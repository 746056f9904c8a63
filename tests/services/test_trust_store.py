"""The trust store that is made from a PEM bundle."""

from __future__ import annotations

import base64
import hashlib

from ksql_spark.services import trust_store as trust


def pem(*certificates: bytes) -> str:
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    return "".join(f"# a comment\n{begin}\n{base64.encodebytes(der).decode()}{end}\n" for der in certificates)


def test_certificates_are_taken_once():
    assert trust.pem_certificates(pem(b"one" * 40, b"two", b"one" * 40)) == [b"one" * 40, b"two"]


def test_store_has_javas_layout():
    store = trust.jks([b"certificate"])
    assert store.startswith(b"\xfe\xed\xfe\xed\0\0\0\2\0\0\0\1\0\0\0\2\0\rcertificate-0")
    body, checksum = store[:-20], store[-20:]
    assert body.endswith(b"\0\5X.509\0\0\0\x0bcertificate")
    assert checksum == hashlib.sha1("changeit".encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()


def test_without_a_bundle_java_keeps_its_own(monkeypatch, tmp_path):
    monkeypatch.setenv("KSQL_SPARK_CACHE", str(tmp_path))
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    assert trust.trust_store() == {}
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    assert trust.trust_store() == {}


def test_with_a_bundle_it_is_written_once(monkeypatch, tmp_path):
    monkeypatch.setenv("KSQL_SPARK_CACHE", str(tmp_path))
    bundle = tmp_path / "bundle.pem"
    bundle.write_text(pem(b"certificate"))
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    properties = trust.trust_store()
    assert trust.trust_store() == properties
    (store,) = (tmp_path / "trust").iterdir()
    assert properties["javax.net.ssl.trustStore"] == str(store)
    assert store.read_bytes() == trust.jks([b"certificate"])
