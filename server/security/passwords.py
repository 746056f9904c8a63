"""Password hashes: ``ksql-spark password NAME ROLE…`` prints a line for the users file.

A line is ``name:hash:roles``, with spaces between roles; ``reader:orders_*`` is a role with a name pattern
(ksql_spark.authorization). The hash is scrypt's, with its parameters and salt.
"""

from __future__ import annotations

import argparse
import base64
import getpass
import hashlib
import hmac
import os
import sys
from collections.abc import Sequence

from ksql_spark.authorization import Rights

_N, _R, _P, _BYTES = 2**15, 8, 1, 32
#: limits on a hash's parameters, so that a file cannot make the server compute for long
_MAX_N, _MAX_MEMORY = 2**18, 512 * 1024 * 1024


def hash_password(password: str) -> str:
    """The hash of ``password``, with a random salt."""
    salt = os.urandom(16)
    digest = _scrypt(password, salt, _N, _R, _P)
    return f"scrypt${_N}${_R}${_P}${_text(salt)}${_text(digest)}"


def check_hash(text: str) -> None:
    """Raise ValueError for a string that is not one of our hashes."""
    _parts(text)


def is_password(password: str, text: str) -> bool:
    """Whether ``text`` is the hash of ``password``; takes the same time for any password."""
    n, r, p, salt, digest = _parts(text)
    return hmac.compare_digest(_scrypt(password, salt, n, r, p), digest)


def _parts(text: str) -> tuple[int, int, int, bytes, bytes]:
    kind, *parts = text.split("$")
    if kind != "scrypt" or len(parts) != 5:
        raise ValueError("a hash must begin with scrypt$ and have five more parts")
    n, r, p = (int(part) for part in parts[:3])
    if not (1 < n <= _MAX_N and 0 < r <= 32 and 0 < p <= 16):
        raise ValueError("the parameters of a hash are out of range")
    return n, r, p, base64.b64decode(parts[3], validate=True), base64.b64decode(parts[4], validate=True)


def _scrypt(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=_MAX_MEMORY, dklen=_BYTES)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def main(argv: Sequence[str]) -> int:
    """``ksql-spark password``: ask for a password, and print the user's line."""
    parser = argparse.ArgumentParser(
        prog="ksql-spark password",
        description="Ask for a password, or read it from standard input, and print the user's line for the "
        "file of ksql.server.auth.users.file: name, hash and roles.",
    )
    parser.add_argument("name", metavar="NAME", help="the user's name, without a colon")
    parser.add_argument(
        "roles",
        metavar="ROLE",
        nargs="+",
        help="reader, developer or admin; reader:PATTERN and developer:PATTERN apply to streams, tables and "
        "topics with matching names",
    )
    options = parser.parse_args(argv)
    try:
        if ":" in options.name or not options.name:
            raise ValueError("a name must not be empty or contain a colon")
        Rights.of(options.roles)
    except ValueError as error:
        parser.error(str(error))
    if sys.stdin.isatty():
        password = getpass.getpass()
        if getpass.getpass("Again: ") != password:
            parser.error("the passwords do not match")
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    print(f"{options.name}:{hash_password(password)}:{' '.join(options.roles)}")
    return 0
