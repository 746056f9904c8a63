"""Certificates for Java: converts the PEM bundle in $SSL_CERT_FILE to a trust store.

Java does not read PEM bundles, and a small runtime may have no tool to import them. The JKS format is simple
enough to write here (layout as in ``sun.security.provider.JavaKeyStore``: magic, version, entries, and a
digest of all of it, salted with the password).
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import struct
from pathlib import Path

from ksql_spark.services import cache

#: not a secret: it only salts the store's digest, and certificates are public
PASSWORD = "changeit"


def trust_store() -> dict[str, str]:
    """Java system properties that make Java trust the certificates in $SSL_CERT_FILE; empty if it is not set.

    The trust store is written into the cache.
    """
    bundle = os.environ.get("SSL_CERT_FILE")
    if not bundle:
        return {}
    try:
        certificates = pem_certificates(Path(bundle).read_text(errors="replace"))
    except OSError:
        return {}
    if not certificates:
        return {}
    store = cache.cache_dir() / "trust" / f"{cache.digest(*certificates)}.jks"
    if not store.is_file():
        cache.put(store, jks(certificates))
    return {
        "javax.net.ssl.trustStore": str(store),
        "javax.net.ssl.trustStoreType": "JKS",
        "javax.net.ssl.trustStorePassword": PASSWORD,
    }


def pem_certificates(text: str) -> list[bytes]:
    """The certificates of a PEM bundle in DER form, without duplicates."""
    blocks = re.findall(r"-----BEGIN (?:TRUSTED )?CERTIFICATE-----(.+?)-----END", text, re.DOTALL)
    return list(dict.fromkeys(base64.b64decode(re.sub(r"\s", "", block)) for block in blocks))


def jks(certificates: list[bytes]) -> bytes:
    """The bytes of a JKS trust store with DER ``certificates``."""
    magic, version, trusted_certificate = 0xFEEDFEED, 2, 2
    body = struct.pack(">III", magic, version, len(certificates))
    for number, certificate in enumerate(certificates):
        body += struct.pack(">I", trusted_certificate) + _utf(f"certificate-{number}") + struct.pack(">q", 0)
        body += _utf("X.509") + struct.pack(">I", len(certificate)) + certificate
    return body + hashlib.sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()


def _utf(text: str) -> bytes:
    """Java's DataOutput.writeUTF, for ASCII text."""
    return struct.pack(">H", len(text)) + text.encode("ascii")
