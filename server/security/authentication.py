"""Identifies the sender of a request: users with passwords from a file, and bearers of signed tokens."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import logging
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

from ksql_spark.authorization import ALL_RIGHTS, Rights
from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.server.security.passwords import check_hash, hash_password, is_password

LOG = logging.getLogger(__name__)

#: how long a correct password is not hashed again, seconds
REMEMBERED_S = 60.0
#: how many such passwords to remember
MAX_REMEMBERED = 1000
#: how long keys from a URL are cached; earlier refreshes happen at most every RETRY_S seconds
KEYS_S, RETRY_S = 300.0, 10.0
#: accepted signature algorithms: those with public keys
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
#: the allowed clock skew, seconds
LEEWAY_S = 30


class Refused(Exception):
    """The client gave no credentials, or wrong ones.

    Args:
        message: the message for the client.
        reason: the reason for the log.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(reason)
        self.message = message


_WRONG_PASSWORD = "The user name or password is wrong."
_WRONG_TOKEN = (
    "The token was rejected: it has expired or is not meant for this server. The server's log has the reason."
)


@dataclass(frozen=True)
class Principal:
    """The sender of a request."""

    name: str
    rights: Rights
    #: when the credentials are not accepted any more, in seconds since 1970, or None if unknown
    expires: float | None = field(default=None, compare=False)

    @property
    def user(self) -> str | None:
        """The name, if there is authentication."""
        return None if self == ANYBODY else self.name


#: everybody, if there is no authentication
ANYBODY = Principal("anonymous", ALL_RIGHTS)
#: the sender of a request that needs no authentication although there is some, and who has not logged in
STRANGER = Principal("anonymous", ALL_RIGHTS)


class Authenticator:
    """Checks ``Authorization`` headers. Thread-safe; may block for a hash or for keys.

    Raises:
        KsqlError: PROPERTY_INVALID, if a file cannot be used.
    """

    def __init__(self, config: Config) -> None:
        self._users = Users(_file(config, "ksql.server.auth.users.file"))
        self._tokens = Tokens(config) if config["ksql.server.auth.jwks"] else None
        self._has_users = bool(config["ksql.server.auth.users.file"])
        self.is_on = self._has_users or self._tokens is not None
        self._secret = os.urandom(32)
        #: keyed digests of correct credentials -> their principal, and the expiry
        self._remembered: dict[bytes, tuple[Principal, float]] = {}

    def remembered(self, header: str | None) -> Principal | None:
        """The client's principal if it was checked recently; never blocks."""
        entry = self._remembered.get(self._digest(header or ""))
        return entry[0] if entry is not None and entry[1] > time.monotonic() else None

    def has_succeeded(self, header: str | None) -> bool:
        """Whether these credentials were correct before, even if they must be checked again."""
        return self._digest(header or "") in self._remembered

    def claimed(self, header: str | None) -> bytes:
        """A key for the user that the credentials claim, rightly or not; for a token, a key for the token."""
        scheme, credentials = _parts(header)
        if scheme == "basic":
            with contextlib.suppress(ValueError):
                name = base64.b64decode(credentials, validate=True).partition(b":")[0]
                return self._digest(f"basic {name.decode('latin-1')}")
        return self._digest(header or "")

    def _digest(self, header: str) -> bytes:
        """The in-memory key for ``header``. It does not reveal the password."""
        return hashlib.blake2b(header.encode("latin-1", errors="replace"), key=self._secret).digest()

    @property
    def challenge(self) -> str:
        """The supported authentication schemes (the header WWW-Authenticate)."""
        return ", ".join(
            ['Basic realm="ksql-spark", charset="UTF-8"'] * self._has_users
            + ['Bearer realm="ksql-spark"'] * (self._tokens is not None)
        )

    @property
    def _takes(self) -> str:
        """The supported credentials, in words."""
        kinds = ["a user name and a password"] * self._has_users
        return " or ".join(kinds + ["a bearer token"] * (self._tokens is not None))

    def principal(self, header: str | None) -> Principal:
        """The client's principal.

        Raises:
            Refused: the client is unknown.
        """
        scheme, credentials = _parts(header)
        until = time.monotonic() + REMEMBERED_S
        match scheme:
            case "basic" if self._has_users:
                principal = self._users.principal(credentials)
            case "bearer" if self._tokens is not None:
                principal, expires = self._tokens.principal(credentials)
                until = min(until, time.monotonic() + expires - time.time())
                principal = replace(principal, expires=expires + LEEWAY_S)
            case "":
                takes = self._takes
                raise Refused(f"This server requires authentication: send {takes}.", "no credentials")
            case _:
                raise Refused(f"This server only accepts {self._takes}.", f"credentials of type {scheme!r}")
        if len(self._remembered) >= MAX_REMEMBERED:
            self._remembered = {}
        self._remembered[self._digest(header or "")] = (principal, until)
        return principal


def _parts(header: str | None) -> tuple[str, str]:
    """The scheme of an ``Authorization`` header, in lower case, and its credentials."""
    scheme, _, credentials = (header or "").strip().partition(" ")
    return scheme.lower(), credentials.strip()


def _file(config: Config, name: str) -> Path | None:
    return Path(config[name]).expanduser() if config[name] else None


class Users:
    """The users in a file with lines ``name:hash:roles``; see server.security.passwords.

    Raises:
        KsqlError: PROPERTY_INVALID.
    """

    def __init__(self, file: Path | None) -> None:
        self.accounts: dict[str, tuple[str, Rights]] = {}
        if file is not None:
            self._read(file)
        # rejecting an unknown user takes as long as rejecting a wrong password
        self._nobody = hash_password("") if self.accounts else ""

    def _read(self, file: Path) -> None:
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise _unusable(file, getattr(error, "strerror", None) or "it is not UTF-8 text") from None
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            try:
                name, text, roles = line.strip().split(":", 2)
                check_hash(text)
                self.accounts[name] = (text, Rights.of(roles.split()))
            except ValueError as error:
                raise _unusable(file, f"line {number} is not name:hash:roles ({error})") from None

    def principal(self, credentials: str) -> Principal:
        """The user in ``credentials``, name and password in base64.

        Raises:
            Refused: the user is unknown, or the password is wrong.
        """
        try:
            name, colon, password = base64.b64decode(credentials, validate=True).decode().partition(":")
        except ValueError:
            raise Refused(_WRONG_PASSWORD, "credentials that are not base64") from None
        text, rights = self.accounts.get(name, (self._nobody, Rights(None)))
        if not colon or not text or not is_password(password, text) or name not in self.accounts:
            raise Refused(_WRONG_PASSWORD, f"user {name!r}: unknown, or wrong password")
        return Principal(name, rights)


class Tokens:
    """JSON Web Tokens, signed by a key of a JWKS file or URL.

    Raises:
        KsqlError: PROPERTY_INVALID.
    """

    def __init__(self, config: Config) -> None:
        self._place = str(config["ksql.server.auth.jwks"])
        self._is_url = "://" in self._place
        if self._is_url and not self._place.startswith("https://"):
            raise KsqlError(
                "PROPERTY_INVALID",
                name="ksql.server.auth.jwks",
                value=self._place,
                reason="keys must come from a file or over https",
            )
        self._user_claim = str(config["ksql.server.auth.jwt.user.claim"])
        self._role_claim = str(config["ksql.server.auth.jwt.role.claim"])
        self._expected: dict[str, Any] = {"exp": {"essential": True}}
        if issuer := config["ksql.server.auth.jwt.issuer"]:
            self._expected["iss"] = {"essential": True, "value": str(issuer)}
        if audience := config["ksql.server.auth.jwt.audience"]:
            self._expected["aud"] = {"essential": True, "value": str(audience)}
        self._lock = threading.Lock()
        self._keys: Any = None
        self._asked_at = 0.0
        if not self._is_url:
            self._ask()

    def principal(self, token: str) -> tuple[Principal, float]:
        """The bearer of ``token``, and when it expires, in seconds since 1970.

        Raises:
            Refused: it is not signed by one of the keys, has expired, or names no role.
        """
        from joserfc import jwt

        registry = jwt.JWTClaimsRegistry(leeway=LEEWAY_S, **self._expected)
        for is_last in (False, True):
            try:
                claims = jwt.decode(token, self._current(ask_again=is_last), algorithms=ALGORITHMS).claims
                registry.validate(claims)
                return self._named(claims), float(claims["exp"])
            except Exception as error:  # whatever the token contains
                problem = f"a token that is not accepted: {type(error).__name__} {error}".strip()
                if not self._is_url:
                    break  # a URL may have new keys, a file does not
        raise Refused(_WRONG_TOKEN, problem)

    def _named(self, claims: Mapping[str, Any]) -> Principal:
        name = claims.get(self._user_claim)
        if not isinstance(name, str) or not name:
            raise ValueError(f"it has no {self._user_claim}")
        claim = claims.get(self._role_claim)
        roles = claim.split() if isinstance(claim, str) else claim if isinstance(claim, list) else []
        names = [role for role in roles if isinstance(role, str) and _is_role(role)]
        if not names:
            raise ValueError(f"{self._role_claim} of {name!r} names no role")
        return Principal(name, Rights.of(names))

    def _current(self, ask_again: bool) -> Any:
        with self._lock:
            age = time.monotonic() - self._asked_at
            if self._is_url and (self._keys is None or age > (RETRY_S if ask_again else KEYS_S)):
                if self._keys is None and self._asked_at and age < RETRY_S:
                    raise ValueError("the keys could not be read a moment ago")
                self._ask()
            if self._keys is None:
                raise ValueError("there are no keys")
            return self._keys

    def _ask(self) -> None:
        from joserfc.jwk import KeySet

        self._asked_at = time.monotonic()
        try:
            if self._is_url:
                answer = httpx.get(self._place, timeout=5, follow_redirects=False)
                answer.raise_for_status()
                text = answer.json()
            else:
                text = json.loads(Path(self._place).expanduser().read_text(encoding="utf-8"))
            self._keys = KeySet.import_key_set(text)
        except Exception as error:  # whatever the source contains
            if not self._is_url:
                raise _unusable(Path(self._place), str(error).splitlines()[0]) from None
            LOG.warning("the keys of %s cannot be read: %s", self._place, error)


def _is_role(text: str) -> bool:
    """Whether a claim's text is a role of ours, with or without a pattern."""
    try:
        Rights.of([text])
    except ValueError:
        return False
    return True


def _unusable(file: Path, reason: str) -> KsqlError:
    return KsqlError("BAD_REQUEST", reason=f"The file {file} cannot be used: {reason}.")
