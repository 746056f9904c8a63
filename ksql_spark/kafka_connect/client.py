"""A client of Kafka Connect's REST API."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from ksql_spark.config import parse_properties
from ksql_spark.errors import KsqlError

NAME = "Kafka Connect"
#: prefix of the properties of this client
PREFIX = "ksql.connect."
#: the time limit for requests that only read
TIMEOUT_MS = 5_000
#: the time limit for requests that create: Connect validates the configuration, often against a database
_CREATE_TIMEOUT_S = 90.0
_OPEN_TIMEOUT_S = 3.0
#: how often to send a request to a cluster that does not respond, or has no worker for it at the moment
_ATTEMPTS = 3
#: how long to repeat a request while workers rebalance
_REBALANCE_S = 60.0
#: how long to wait for a change that a worker has accepted
_SETTLE_S = 5.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 1.0

_CONFLICT = 409
_NO_WORKER = frozenset({502, 503, 504})
_EXISTS = "already exists"


class ConnectClient:
    """A Connect cluster over HTTP. Results are Connect's JSON; any thread may call.

    Args:
        url: its address; several, of workers of one cluster, separated by commas, are tried in turn.
        settings: the properties below ``ksql.connect.``, without that prefix: authentication, TLS, times.
        is_stopping: whether to stop repeating requests.
        is_local: whether it is on this machine, without a proxy in between.

    Raises:
        KsqlError: PROPERTY_INVALID for settings that cannot be used.

    All methods raise KsqlError REMOTE_UNREACHABLE if no worker responds, REMOTE_REFUSED with Connect's own
    message, REMOTE_CONFLICT if a connector exists.
    """

    def __init__(
        self,
        url: str,
        settings: Mapping[str, str] | None = None,
        is_stopping: Callable[[], bool] = lambda: False,
        *,
        is_local: bool = False,
    ) -> None:
        own = settings or {}
        self._urls = [part.strip().rstrip("/") for part in url.split(",") if part.strip()]
        for one in self._urls:
            if not one.startswith(("http://", "https://")):
                raise _invalid("url", one, "an address must begin with http:// or https://")
        self.url = ",".join(self._urls)
        self._is_stopping = is_stopping
        self._timeout_s = int(own.get("request.timeout.ms", TIMEOUT_MS)) / 1000
        self._auth = _Authentication(own)
        self._http = httpx.Client(verify=_tls(own), follow_redirects=True, trust_env=not is_local)

    def names(self) -> list[str]:
        """The names of all connectors."""
        return list(self._ask("GET", "connectors") or [])

    def connectors(self) -> dict[str, Any]:
        """All connectors: name -> ``{"info": …, "status": …}``."""
        return dict(self._ask("GET", "connectors", query={"expand": ["info", "status"]}) or {})

    def info(self, name: str) -> dict[str, Any]:
        """Name, type, configuration and tasks of a connector."""
        return dict(self._ask("GET", f"connectors/{_quoted(name)}") or {})

    def status(self, name: str) -> dict[str, Any]:
        """State of a connector and of its tasks, with the stack traces of failures."""
        return dict(self._ask("GET", f"connectors/{_quoted(name)}/status") or {})

    def topics(self, name: str) -> list[str]:
        """The topics that a connector has used; empty if the cluster does not track that."""
        listed = self._ask("GET", f"connectors/{_quoted(name)}/topics", absent=(403, 404)) or {}
        return list((listed.get(name) or {}).get("topics") or [])

    def plugins(self) -> list[dict[str, Any]]:
        """The classes of connectors that can be made: ``class``, ``type``, ``version``."""
        return list(self._ask("GET", "connector-plugins") or [])

    def settings(self, class_: str) -> list[dict[str, Any]] | None:
        """Return the settings of a class of connectors; None if Connect does not have the class.

        As Connect describes it: ``name``, ``type``, ``required``, ``default_value``, ``documentation``.
        """
        descriptions = self._ask("GET", f"connector-plugins/{_quoted(class_)}/config", absent=(404,))
        return None if descriptions is None else list(descriptions)

    def restart(self, name: str) -> None:
        """Restart a connector and those of its tasks that have failed."""
        query = {"includeTasks": ["true"], "onlyFailed": ["true"]}
        self._ask("POST", f"connectors/{_quoted(name)}/restart", query=query)

    def create(self, name: str, config: Mapping[str, str]) -> dict[str, Any]:
        """Create a connector; Connect validates its configuration first. Returns the same as ``info``."""
        body = {"name": name, "config": dict(config)}
        created = dict(self._ask("POST", "connectors", body=body, timeout_s=_CREATE_TIMEOUT_S) or {})
        path = f"connectors/{_quoted(name)}/status"
        self._wait_until(lambda: self._ask("GET", path, absent=(404,)) is not None)
        return created

    def delete(self, name: str) -> bool:
        """Delete a connector; False if it does not exist."""
        if self._ask("DELETE", f"connectors/{_quoted(name)}", absent=(404,)) is None:
            return False
        self._wait_until(lambda: name not in self.names())
        return True

    def is_ready(self) -> bool:
        """Whether the first worker responds, and can do its work."""
        try:
            # the root only shows that it is listening; this waits until it has joined its group and read its
            # topics
            answer = self._http.get(f"{self._urls[0]}/connectors", auth=self._auth.current(), timeout=2.0)
        except httpx.HTTPError:
            return False
        return answer.is_success

    def _wait_until(self, is_done: Callable[[], bool]) -> None:
        """Wait for what a worker has accepted, so that the next statement finds it."""
        deadline = time.monotonic() + _SETTLE_S
        while not is_done() and time.monotonic() < deadline and not self._is_stopping():
            time.sleep(_FIRST_PAUSE_S)

    def _ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, list[str]] | None = None,
        body: Any = None,
        absent: tuple[int, ...] = (),
        timeout_s: float | None = None,
    ) -> Any:
        """Send a request, with retries if that may help; returns the JSON of the response ({} if it is
        empty).

        ``absent``: HTTP statuses for which None is returned, because the requested object does not exist.
        """
        began, pause, attempt = time.monotonic(), _FIRST_PAUSE_S, 1
        while True:
            answer, problem = self._send(method, path, query, body, timeout_s or self._timeout_s)
            if answer is not None and not self._is_busy(answer):
                return _result(answer, absent, self.url)
            waits = answer is not None and answer.status_code == _CONFLICT
            is_over = time.monotonic() - began > _REBALANCE_S if waits else attempt == _ATTEMPTS
            if is_over or not _may_repeat(method, problem) or self._is_stopping():
                if answer is not None:
                    return _result(answer, absent, self.url)
                reason = str(problem) or type(problem).__name__
                raise KsqlError(
                    "REMOTE_UNREACHABLE", name=NAME, url=self.url, reason=reason, setting=f"{PREFIX}url"
                )
            time.sleep(pause)
            pause, attempt = min(pause * 2, _LONGEST_PAUSE_S), attempt + 1

    def _send(
        self, method: str, path: str, query: Mapping[str, list[str]] | None, body: Any, timeout_s: float
    ) -> tuple[httpx.Response | None, Exception | None]:
        """The response of the first reachable worker, or the last one's problem."""
        problem: Exception | None = None
        for url in self._urls:
            try:
                answer = self._http.request(
                    method,
                    f"{url}/{path}",
                    params=query,
                    json=body,
                    auth=self._auth.current(),
                    timeout=httpx.Timeout(timeout_s, connect=_OPEN_TIMEOUT_S),
                )
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                problem = error
                if method == "POST" and not isinstance(error, httpx.ConnectError):
                    return None, error
                continue
            if answer.status_code in _NO_WORKER and url != self._urls[-1]:
                continue
            return answer, None
        return None, problem

    @staticmethod
    def _is_busy(answer: httpx.Response) -> bool:
        """Whether the same request may succeed in a moment."""
        if answer.status_code == _CONFLICT:
            return _EXISTS not in answer.text
        return answer.status_code in _NO_WORKER


class _Authentication:
    """Basic authentication: from a property, or from a file, which is reread when it changes."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        source = settings.get("basic.auth.credentials.source")
        self._file: Path | None = None
        self._read_at = 0
        self._auth: httpx.BasicAuth | None = None
        user_info = settings.get("basic.auth.user.info")
        if source == "FILE":
            file = settings.get("basic.auth.credentials.file")
            if not file:
                raise _invalid("basic.auth.credentials.file", "", "it must name a file of credentials")
            self._file = Path(file).expanduser()
            self.current()  # an unusable file is reported at startup
        elif user_info:
            user, _, password = user_info.partition(":")
            self._auth = httpx.BasicAuth(user, password)
        elif source == "USER_INFO":
            raise _invalid("basic.auth.user.info", "", "it must be user:password")

    def current(self) -> httpx.BasicAuth | None:
        """The credentials to send; None: none, or those in the URL."""
        if self._file is not None:
            try:
                changed_at = self._file.stat().st_mtime_ns
                if changed_at != self._read_at:
                    properties = parse_properties(self._file.read_text(encoding="utf-8"))
                    self._auth = httpx.BasicAuth(properties["username"], properties["password"])
                    self._read_at = changed_at
            except (OSError, UnicodeDecodeError, KeyError) as error:
                reason = (
                    f"it has no {error.args[0]}"
                    if isinstance(error, KeyError)
                    else getattr(error, "strerror", None) or str(error)
                )
                raise _invalid("basic.auth.credentials.file", str(self._file), reason) from None
        return self._auth


def _tls(settings: Mapping[str, str]) -> ssl.SSLContext | bool:
    """Return the TLS context for servers' certificates and the client's own; True: httpx's default."""
    names = ("ssl.truststore.location", "ssl.keystore.location", "ssl.endpoint.identification.algorithm")
    if not any(name in settings for name in names):
        return True
    name = "ssl.truststore.location"
    try:
        context = ssl.create_default_context(cafile=settings.get(name) or None)
        if settings.get("ssl.endpoint.identification.algorithm") == "":
            context.check_hostname = False
        name = "ssl.keystore.location"
        if certificate := settings.get(name):
            key, password = settings.get("ssl.key.location"), settings.get("ssl.key.password")
            context.load_cert_chain(certificate, key or None, password or "")
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        reason = f"it cannot be used ({error.strerror if isinstance(error, OSError) else error}); "
        raise _invalid(name, settings.get(name, ""), f"{reason}it must be a PEM file") from None
    return context


def _may_repeat(method: str, problem: Exception | None) -> bool:
    """Whether a retry may help: not if a worker hangs, or may have created something."""
    if isinstance(problem, httpx.TimeoutException):
        return False
    return method != "POST" or problem is None or isinstance(problem, httpx.ConnectError)


def _invalid(setting: str, value: str, reason: str) -> KsqlError:
    return KsqlError("PROPERTY_INVALID", name=PREFIX + setting, value=value, reason=reason)


def _quoted(part: str) -> str:
    """``part``, quoted as one segment of a path."""
    return quote(part, safe="")


def _result(answer: httpx.Response, absent: Iterable[int], url: str) -> Any:
    """The JSON of a response; None for the statuses ``absent``."""
    if answer.status_code in absent:
        return None
    if not answer.is_success:
        condition = "REMOTE_CONFLICT" if answer.status_code == _CONFLICT else "REMOTE_REFUSED"
        raise KsqlError(condition, name=NAME, reason=_reason(answer), hint=_HINTS.get(answer.status_code))
    if not answer.content:
        return {}
    try:
        return answer.json()
    except ValueError:
        reason = f"the response of {url} is not JSON; is {PREFIX}url right?"
        raise KsqlError("REMOTE_REFUSED", name=NAME, reason=reason) from None


_HINTS = {401: f"Set the user and password with the properties {PREFIX}basic.auth.*."}


def _reason(answer: httpx.Response) -> str:
    """Connect's message, else the status phrase, with the status code."""
    try:
        message = answer.json().get("message")
    except (ValueError, AttributeError):
        message = None
    text = str(message or answer.reason_phrase).strip().rstrip(".")
    return f"{text} (HTTP {answer.status_code})"
