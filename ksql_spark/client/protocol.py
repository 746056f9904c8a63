"""Requests and responses of the REST API (docs/reference/rest-protocol.md). No I/O."""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import re
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias, TypeVar

import httpx

from ksql_spark.client import values
from ksql_spark.client.errors import (
    DatabaseError,
    InterfaceError,
    NotConnectedError,
    OperationalError,
    ProgrammingError,
    UnreachableError,
    of_answer,
)
from ksql_spark.client.servers import Servers

#: the requested form of results: a line of metadata, then one array for each row
DELIMITED = "application/vnd.ksqlapi.delimited.v1"
#: another form: JSON objects, including deletions and the reason of the end
FRAMES = "application/vnd.ksql.v1+json"
#: the response header with a token
TOKEN_HEADER = "ksql-consistency-token"
#: httpx raises these before anything is sent
_NOT_CONNECTED = (httpx.ConnectError, httpx.ConnectTimeout)
#: OpenSSL's codes for a certificate of another host name or IP address
_OTHER_NAME = (62, 64)
_TOKEN = "request.ksql.query.pull.consistency.token"
_CONTINUATION = "request.ksql.query.push.continuation.token"
_CONTINUATIONS = "ksql.query.push.v2.continuation.tokens.enabled"

E = TypeVar("E", bound=BaseException)
Parameters: TypeAlias = "Sequence[Any] | Mapping[str, Any] | None"
#: a column as DB-API describes it: name, type, and five members that are None
Description = tuple[str, str, None, None, None, None, None]

_LEADING = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?\*/|\()*", re.DOTALL)


_SPACE = r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?\*/)*"
#: SET 'name' = 'value', UNSET 'name', DEFINE name = 'value', UNDEFINE name; alone in its text
_SETTING = re.compile(
    rf"{_SPACE}(?P<verb>SET|UNSET|DEFINE|UNDEFINE)\s+(?:'(?P<quoted>[^']+)'|(?P<name>\w+))\s*"
    rf"(?:=\s*'(?P<value>(?:[^']|'')*)'\s*)?;?{_SPACE}",
    re.IGNORECASE | re.DOTALL,
)


class Settings:
    """The properties and variables of a connection.

    Args:
        properties: the initial properties.
    """

    def __init__(self, properties: Mapping[str, Any]) -> None:
        self.properties: dict[str, Any] = dict(properties)
        self.variables: dict[str, str] = {}

    def note(self, text: str) -> None:
        """Apply a SET, UNSET, DEFINE or UNDEFINE that is alone in ``text`` and that the server has accepted.

        >>> settings = Settings({})
        >>> settings.note("SET 'auto.offset.reset' = 'earliest';")
        >>> settings.properties
        {'auto.offset.reset': 'earliest'}
        """
        match = _SETTING.fullmatch(text)
        if match is None:
            return
        name, value = match["quoted"] or match["name"], match["value"]
        changed = self.properties if match["verb"].upper() in ("SET", "UNSET") else self.variables
        if value is None:
            changed.pop(name, None)
        else:
            changed[name] = value.replace("''", "'")


class Session:
    """What a connection knows: its servers and settings, and what it has written. Makes requests of it.

    Args:
        urls: the addresses of the servers.
        properties: properties for all statements.
        reads_own_writes: whether queries include the records that statements have written.
    """

    def __init__(self, urls: Sequence[str], properties: Mapping[str, Any], reads_own_writes: bool) -> None:
        self.servers = Servers(urls)
        self.settings = Settings(properties)
        self._reads_own_writes = reads_own_writes
        #: consistency token with the records that the next query must include
        self._token: str | None = None
        self._sequence: int | None = None

    def query(
        self,
        text: str,
        parameters: Parameters = None,
        *,
        properties: Mapping[str, Any] | None = None,
        variables: Mapping[str, str] | None = None,
        resumable: bool = False,
        after: str | None = None,
    ) -> dict[str, Any]:
        """The body of POST /query-stream; the arguments are those of Connection.frames()."""
        if resumable:
            properties = {**(properties or {}), _CONTINUATIONS: True}
        body = {"sql": text} | self._members("properties", properties, variables, parameters)
        tokens = {_TOKEN: self._token, _CONTINUATION: after}
        if set_tokens := {name: value for name, value in tokens.items() if value is not None}:
            body["requestProperties"] = set_tokens
        return body

    def statements(
        self,
        text: str,
        parameters: Parameters = None,
        *,
        properties: Mapping[str, Any] | None = None,
        variables: Mapping[str, str] | None = None,
        waits: bool = True,
    ) -> dict[str, Any]:
        """The body of POST /ksql, /ksql/validate and /query; the arguments are those of Connection.run()."""
        body = {"ksql": text} | self._members("streamsProperties", properties, variables, parameters)
        if waits and self._sequence is not None:
            body["commandSequenceNumber"] = self._sequence
        return body

    def _members(
        self,
        member: str,
        properties: Mapping[str, Any] | None,
        variables: Mapping[str, str] | None,
        parameters: Parameters,
    ) -> dict[str, Any]:
        members: dict[str, Any] = {
            member: {**self.settings.properties, **(properties or {})},
            "sessionVariables": {**self.settings.variables, **(variables or {})},
        }
        members = {name: value for name, value in members.items() if value}
        return members if parameters is None else members | {"parameters": _plain(parameters)}

    def ran(self, answer: httpx.Response, url: str) -> list[dict[str, Any]]:
        """The results in the response of POST /ksql, which has been read. Raises DatabaseError."""
        entities: list[dict[str, Any]] = parsed(answer.content, list, url)
        if self._reads_own_writes:
            self._token = answer.headers.get(TOKEN_HEADER, self._token)
        self._sequence = last_sequence(entities) or self._sequence
        check_carried_out(entities)
        return entities


@dataclass(frozen=True)
class Columns:
    """The metadata of a result; ``types`` are SQL text."""

    query_id: str
    names: tuple[str, ...]
    types: tuple[str, ...]

    @property
    def description(self) -> list[Description]:
        """The columns in DB-API's form."""
        pairs = zip(self.names, self.types, strict=True)
        return [(name, type_, None, None, None, None, None) for name, type_ in pairs]

    @functools.cached_property
    def _converters(self) -> list[tuple[int, values.Convert]]:
        converters = enumerate(values.converters(self.types))
        return [(place, convert) for place, convert in converters if convert is not None]

    def row(self, line: str) -> tuple[Any, ...]:
        """A row, from its line, with the types of values.py. Raises DatabaseError if the line is an error."""
        values = json.loads(line, parse_float=Decimal)
        if isinstance(values, dict):
            raise of_answer(int(values.get("error_code", 50000)) // 100, values)
        for place, convert in self._converters:
            values[place] = convert(values[place])
        return tuple(values)


def is_query(text: str) -> bool:
    """Whether a statement is a SELECT, which has rows.

    >>> is_query("-- all\\n SELECT 1 FROM t;"), is_query("with a as (select 1 from t) select * from a;")
    (True, True)
    >>> is_query("SHOW TABLES;")
    False
    """
    match = _LEADING.match(text)
    rest = text[match.end() :] if match is not None else text
    return re.match(r"(?:select|values|with)\b", rest, re.IGNORECASE) is not None


def ended(text: str) -> str:
    """A statement with its semicolon, which must be on another line than a comment.

    >>> ended("SHOW TABLES; "), ended("SHOW TABLES")
    ('SHOW TABLES; ', 'SHOW TABLES\\n;')
    """
    return text if text.rstrip().endswith(";") else f"{text.rstrip()}\n;"


def _plain(parameters: Sequence[Any] | Mapping[str, Any]) -> Any:
    if isinstance(parameters, (str, bytes)):
        raise InterfaceError("Parameters must be a sequence or a mapping of values, not a string.")
    if isinstance(parameters, Mapping):
        return {name: _value(value) for name, value in parameters.items()}
    return [_value(value) for value in parameters]


def _value(value: Any) -> Any:
    """A value as JSON; a value without a JSON form becomes its SQL text."""
    if isinstance(value, Decimal) or hasattr(value, "isoformat"):
        return value.isoformat() if hasattr(value, "isoformat") else str(value)
    return value


def insert_lines(target: str, rows: Any) -> Any:
    """The lines of POST /inserts-stream."""
    yield json.dumps({"target": target}).encode() + b"\n"
    for row in rows:
        yield json.dumps(row, default=_in_a_row).encode() + b"\n"


def _in_a_row(value: Any) -> Any:
    """A value, or a part of one, that has no JSON form."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return dict(value)
    if (plain := _value(value)) is value:
        raise InterfaceError(f"A {type(value).__name__} is no value of a row.")
    return plain


def acknowledged(line: str) -> int:
    """The number of the row that a line acknowledges. Raises ProgrammingError if the row failed."""
    answer = json.loads(line)
    if answer.get("status") != "ok":
        raise ProgrammingError(
            f"row {answer.get('seq')}: {answer.get('message')}", answer.get("error_code"), None
        )
    return int(answer["seq"])


def columns_of(line: str) -> Columns:
    """The first line of a result."""
    header = json.loads(line)
    if "columnNames" not in header:
        raise of_answer(500, header)
    return Columns(str(header.get("queryId")), tuple(header["columnNames"]), tuple(header["columnTypes"]))


def token_of(line: str) -> str | None:
    """The token in a line that reports how far a push query has been read; None for any other line."""
    if not line.startswith('{"continuationToken"'):
        return None
    return str(json.loads(line)["continuationToken"])


def failure(status: int, content: bytes, url: str) -> DatabaseError:
    """The error in a response from ``url`` that is not a result."""
    try:
        body = json.loads(content)
    except ValueError:
        body = None
    if status == 404 and not (isinstance(body, dict) and "message" in body):
        return no_server(url)
    return of_answer(status, body)


def parsed(content: bytes, kind: type[Any], url: str) -> Any:
    """The JSON in ``content``, a response of the server at ``url``.

    Raises:
        UnreachableError: it is not of type ``kind``.
    """
    with reading(url):
        body = json.loads(content)
    if not isinstance(body, kind):
        raise no_server(url)
    return body


def no_server(url: str) -> UnreachableError:
    """The server at ``url`` is not ksql-spark."""
    return UnreachableError(f"The server at {url} is not a ksql-spark server.")


def unreachable(url: str, error: Exception) -> UnreachableError:
    """Return the error for an unresponsive server; it is a NotConnectedError if nothing was sent."""
    kind = NotConnectedError if isinstance(error, _NOT_CONNECTED) else UnreachableError
    if (distrust := _caused_by(error, ssl.SSLCertVerificationError)) is not None:
        return kind(f"The certificate of the server at {url} is not trusted: {_distrusted(distrust)}")
    return kind(f"No server answers at {url} ({reason(error)}). Is it running?{_about_tls(url, error)}")


def _caused_by(error: BaseException | None, kind: type[E]) -> E | None:
    """The error of type ``kind`` that caused ``error``."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error


def _distrusted(error: ssl.SSLCertVerificationError) -> str:
    """Describe why a certificate is not trusted, and how to fix that."""
    why = f"{error.verify_message.rstrip('.')}."
    if error.verify_code in _OTHER_NAME:
        return f"{why} Use an address that the certificate covers."
    return (
        f"{why} If you trust its authority, pass its PEM file: ssl.truststore.location in the file of "
        f"--config-file, or verify in Python."
    )


def _about_tls(url: str, error: Exception) -> str:
    """Describe what to try if only one side uses TLS, or if the server may require a client certificate."""
    scheme, _, rest = url.partition("://")
    match error:
        case httpx.RemoteProtocolError() | httpx.ReadError() if scheme == "http":
            return f" If it uses TLS, its address is https://{rest}."
        case httpx.RemoteProtocolError() | httpx.ReadError():
            return (
                " It may require a client certificate: ssl.keystore.location in the file of --config-file, "
                "or cert in Python."
            )
        case httpx.ConnectTimeout() | httpx.ConnectError() if scheme == "https":
            if "refused" not in str(error):
                return f" If it does not use TLS, its address is http://{rest}."
    return ""


@contextlib.contextmanager
def sending(url: str) -> Iterator[None]:
    """Converts httpx's errors of a request to the server at ``url`` to this client's errors."""
    try:
        yield
    except httpx.InvalidURL as error:
        raise UnreachableError(f"{url} is not a server address: {error}.") from error
    except (httpx.TransportError, OSError) as error:
        raise unreachable(url, error) from error
    except RuntimeError as error:  # httpx's error for a closed client
        raise InterfaceError("The connection is closed.") from error


@contextlib.contextmanager
def reading(url: str) -> Iterator[None]:
    """Converts errors of httpx and json within a response of the server at ``url`` to our own."""
    try:
        yield
    except (httpx.RequestError, httpx.StreamError, OSError) as error:
        raise broken_off(url, reason(error)) from error
    except ValueError as error:  # not JSON: a page of a proxy, for instance
        raise no_server(url) from error


def broken_off(url: str, why: str) -> UnreachableError:
    """The response of the server at ``url`` is incomplete."""
    return UnreachableError(f"The connection to {url} was interrupted ({why}).")


def reason(error: BaseException) -> str:
    """Describe why a connection failed."""
    match error:
        case httpx.ConnectTimeout() | httpx.ReadTimeout():
            return "it took too long"
        case httpx.ConnectError():
            text = str(error)
            return "connection refused" if "refused" in text else text
        case httpx.RemoteProtocolError():
            return "it closed the connection"
    return str(error) or type(error).__name__


def check_carried_out(entities: Sequence[Mapping[str, Any]]) -> None:
    """Check that all statements of a request were executed.

    Raises:
        OperationalError: a logged statement's query does not run.
    """
    for entity in entities:
        status = entity.get("commandStatus") or {}
        if status.get("status") == "ERROR":
            others = [other for other in entities if other is not entity]
            raise OperationalError(str(status.get("message")), None, entity.get("statementText"), others)


def last_sequence(entities: Sequence[Mapping[str, Any]]) -> int | None:
    """The number of the last executed command, for which later queries wait."""
    numbers = [e["commandSequenceNumber"] for e in entities if (e.get("commandSequenceNumber") or -1) >= 0]
    return int(numbers[-1]) if numbers else None
