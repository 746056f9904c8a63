"""The options of ``ksql-spark`` (reference §8.1), shared by the shell and by ``run``."""

from __future__ import annotations

import argparse
import contextlib
import getpass
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ksql_spark.listeners import add_listeners, given_listeners, listener_settings
from ksql_spark.shell import local
from ksql_spark.shell.client import Client, ClientError, until_ready
from ksql_spark.shell.commands.command import Context, Leave
from ksql_spark.shell.output.console import Console, Form
from ksql_spark.shell.session import Session

if TYPE_CHECKING:
    from ksql_spark.shell.embedded import EmbeddedServer

#: how long to wait for a server that is starting
READY_S = 120.0
#: PEM files with authorities, and with the client's certificate, and its key if that is in a separate file
_TRUST, _CERTIFICATE = "ssl.truststore.location", "ssl.keystore.location"
#: properties of --config-file that apply to the connection, not to statements
_CLIENT_PROPERTIES = re.compile(r"(ssl|sasl)\.|security\.protocol$")


#: exit codes: a statement failed or the server did not respond; nothing was run
FAILED = 1
WRONG_OPTIONS = 2


class OptionProblem(Exception):
    """Options that contradict each other, or name something that does not exist."""


def add_credential_options(parser: argparse.ArgumentParser) -> None:
    """Options for our credentials, and a file of properties."""
    group = parser.add_argument_group("connection")
    group.add_argument("-u", "--user", metavar="NAME", help="user for basic authentication")
    group.add_argument("-p", "--password", metavar="WORD", help="its password (default: ask for it)")
    group.add_argument("-t", "--token", metavar="TOKEN", help="bearer token, instead of user and password")
    group.add_argument("--confluent-api-key", metavar="KEY", help=argparse.SUPPRESS)
    group.add_argument("--confluent-api-secret", metavar="SECRET", help=argparse.SUPPRESS)
    group.add_argument(
        "--config-file",
        metavar="FILE",
        help="a file of name=value lines: ssl.* properties apply to the connection (ssl.truststore.location "
        "and ssl.keystore.location name PEM files), all others to the session",
    )


def add_connection_options(parser: argparse.ArgumentParser) -> None:
    """Options for our credentials, and for an engine that we start."""
    add_credential_options(parser)
    engine = parser.add_argument_group(
        "an engine of one's own",
        "These start an engine, with the options of 'ksql-spark server'. KSQL_… variables hold for it, too.",
    )
    engine.add_argument(
        "--data-dir",
        metavar="DIR",
        type=Path,
        help="its data directory (default: $XDG_DATA_HOME/ksql-spark or ~/.local/share/ksql-spark)",
    )
    add_listeners(engine)


#: standard input, instead of a file
STDIN = "-"


def sql_files(names: Iterable[str]) -> Iterator[str]:
    """The names of files, with the .sql files of directories among them."""
    for name in names:
        if name != STDIN and Path(name).is_dir():
            yield from map(str, sorted(Path(name).rglob("*.sql")))
        else:
            yield name


def add_script_options(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """Options for how scripts run; returns the group of those that exclude each other."""
    group = parser.add_argument_group("scripts")
    only_one = group.add_mutually_exclusive_group()
    only_one.add_argument(
        "--dry-run",
        action="store_true",
        help="only let the server check all statements, in order and without an effect",
    )
    only_one.add_argument(
        "--wait",
        action="store_true",
        help="after the last statement, wait until the server's queries have read all records that are there",
    )
    return only_one


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Options for variables, limits and the format of results."""
    group = parser.add_argument_group("results")
    group.add_argument(
        "--output",
        choices=[form.value for form in Form],
        default="TABULAR",
        help="format (default: %(default)s)",
    )
    group.add_argument("--query-row-limit", metavar="N", type=_count, help="end each query after N rows")
    group.add_argument(
        "--query-timeout", metavar="MS", type=_count, help="end each query after MS milliseconds"
    )
    group.add_argument(
        "-d",
        "--define",
        "--var",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=definition,
        help="session variable, used as ${NAME}; may be repeated",
    )


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a number")
    return int(text)


def definition(text: str) -> tuple[str, str]:
    """Parse NAME=VALUE, as an argparse type."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"'{text}' is not in the form NAME=VALUE")
    return name, value


def properties_of(path: str | None) -> dict[str, str]:
    """The name=value lines of a file. Raises OptionProblem."""
    if path is None:
        return {}
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionProblem(
            f"Cannot read {path}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}."
        ) from None
    properties = {}
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", "!")):
            continue
        name, equals, value = stripped.partition("=")
        if not equals:
            raise OptionProblem(f"{path}:{number}: expected name=value, got: {stripped}")
        properties[name.strip()] = value.strip()
    return properties


def statement_properties(properties: dict[str, str]) -> dict[str, str]:
    """Those of the properties of a file that apply to statements, not to the connection."""
    return {name: value for name, value in properties.items() if not _CLIENT_PROPERTIES.match(name)}


def make_client(url: str, options: argparse.Namespace, properties: dict[str, str]) -> Client:
    """A client with the credentials of the options. Raises OptionProblem."""
    user = options.user or options.confluent_api_key
    password = options.password or options.confluent_api_secret
    if options.token and (user or password):
        raise OptionProblem("Pass either a token or a user and password, not both.")
    if password and not user:
        raise OptionProblem("--password needs --user.")
    if user and not password:
        password = getpass.getpass(f"Password of {user}: ")
    tls: dict[str, Any] = {}
    # a file for other programs may contain entries that are useless without TLS, such as a Java keystore
    used = {_TRUST, _CERTIFICATE} if "https://" in url else {_TRUST}
    if properties.keys() & used:
        tls["verify"] = _tls(properties, properties.get(_CERTIFICATE) if _CERTIFICATE in used else None)
    return Client(url, (user, password) if user and password else None, options.token, tls)


def _tls(properties: dict[str, str], certificate: str | None) -> Any:
    """The trusted authorities and the client certificate, as an ssl.SSLContext. Raises OptionProblem."""
    import ssl

    path, name = properties.get(_TRUST), _TRUST
    try:
        context = ssl.create_default_context(cafile=path)
        if certificate is not None:
            path, name = certificate, _CERTIFICATE
            # without a password it must not prompt for one on the terminal
            password = properties.get("ssl.key.password", "")
            context.load_cert_chain(path, properties.get("ssl.key.location", path), password)
    except OSError as error:  # includes ssl.SSLError
        raise OptionProblem(f"Cannot use {name}={path}: {error}. It must be a PEM file.") from None
    return context


class Connection:
    """A session, with its engine if we have started one."""

    def __init__(
        self,
        session: Session,
        server: EmbeddedServer | None,
        start: Callable[[], EmbeddedServer] | None = None,
    ) -> None:
        self.session = session
        self.server = server
        #: starts the engine again
        self._start = start
        #: called after the engine was started again, perhaps at another address
        self.on_restart: Callable[[], None] = lambda: None

    def run(self, script: Callable[[Context], None], *, wait: bool = False) -> int:
        """Run a script once the server accepts statements; return the exit code. Errors go to standard error.

        With ``wait``, queries then process what is there.

        Raises:
            KeyboardInterrupt: Ctrl-C, which ends the script even during a query.
        """
        self.session.interrupt_ends_query_only = False
        try:
            self.wait_until_ready()
            script(Context(self.session))
            if wait:
                from ksql_spark.shell import waiting

                waiting.wait_for_queries(self.session.client, self.session.console)
        except Leave:
            return 0
        except ClientError as error:
            self.session.console.error(str(error))
            return FAILED
        return 0

    def before_request(self) -> None:
        """Wait until the server accepts statements; Ctrl-C ends only the wait. Raises ClientError."""
        try:
            self.wait_until_ready()
        except KeyboardInterrupt:
            raise ClientError("^C  Not sent: the server is still starting.") from None

    def wait_until_ready(self) -> None:
        """Block until the server accepts statements, with a status line. Raises ClientError."""
        console = self.session.console
        try:
            if self.server is not None:
                url = self.server.wait_ready(console.status)
                if url != self.session.client.url:
                    self.session.client = self.session.client.at(url)
            for _ in until_ready(self.session.client, READY_S):
                console.status(f"{self.session.client.url} is starting")
        finally:
            console.clear_status()
        self.session.before_request = self._check_engine if self.server is not None else None

    def _check_engine(self) -> None:
        """Start our own engine again if it has stopped. Raises ClientError if it does not start."""
        assert self.server is not None
        if not self.server.failed:
            return
        why = self.server.last_words()
        if self._start is None:
            raise ClientError(f"The engine has stopped: {why} Exit and start again.")
        self.session.console.warning(f"The engine has stopped: {why} It starts again.")
        self.server.stop()
        self.server = self._start()
        self.session.before_request = self.before_request
        self.before_request()
        self.on_restart()


@contextlib.contextmanager
def connect(url: str | None, options: argparse.Namespace, console: Console) -> Iterator[Connection]:
    """A connection to ``url``, to the local server, or to a server that runs for the duration of the block.

    Raises:
        OptionProblem: the options are wrong.
    """
    properties = properties_of(options.config_file)
    client = make_client(url or local.DEFAULT_URL, options, properties)
    server = None

    def start() -> EmbeddedServer:
        from ksql_spark.shell import embedded

        folder = options.data_dir and options.data_dir.expanduser()
        return embedded.start(folder, settings=listener_settings(options))

    given = [*given_listeners(options), *(["--data-dir"] if options.data_dir is not None else [])]
    if url is None and (options.listen is not None or not local.is_running()):
        server = start()
    elif given:
        raise OptionProblem(
            f"{given[0]} is for an engine that the shell starts, but the server at "
            f"{url or local.DEFAULT_URL} would be used. Leave {given[0]} out to use that server, or "
            "stop it first to start an engine of your own."
        )
    console.form = Form(options.output)
    session = Session(
        client,
        console,
        variables=dict(options.define),
        properties=statement_properties(properties),
        row_limit=options.query_row_limit,
        timeout_ms=options.query_timeout,
    )
    connection = Connection(session, server, start)
    session.before_request = connection.before_request
    try:
        yield connection
    finally:
        session.client.close()
        if connection.server is not None:
            _stop(connection.server, console)


def report_server(session: Session, url: str | None) -> None:
    """Print on standard error which server is about to change, unless --server has named it with ``url``."""
    if url is None:
        print(f"server: {session.client.url} (--server URL names another one)", file=sys.stderr)


def _stop(server: EmbeddedServer, console: Console) -> None:
    try:
        server.stop(console.status)
    except KeyboardInterrupt:
        # EmbeddedServer.stop has killed it on the way out.
        console.clear_status()
        print("stopped at once", file=sys.stderr)
    finally:
        console.clear_status()


__all__ = [
    "FAILED",
    "WRONG_OPTIONS",
    "Connection",
    "OptionProblem",
    "add_connection_options",
    "add_credential_options",
    "add_output_options",
    "add_script_options",
    "connect",
    "definition",
    "make_client",
    "properties_of",
    "report_server",
    "statement_properties",
]
