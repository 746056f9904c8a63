"""Reports when the server is lost, when it is back, and what state it is in."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ksql_spark.shell.client import Client, ClientError, ServerError, Unreachable

EVERY_S = 2.0


class ServerWatch:
    """Asks a server for its state, in a thread.

    Args:
        client: returns the client to use.
        print_line: called with a line for the user when the state changes.
        engine_failed: returns why our own engine has stopped; None while it runs, or if there is none.
        every_s: seconds between questions.
        also: called after each answer, in the same thread.
    """

    def __init__(
        self,
        client: Callable[[], Client],
        print_line: Callable[[str], None],
        engine_failed: Callable[[], str | None] = lambda: None,
        every_s: float = EVERY_S,
        also: Callable[[], None] = lambda: None,
    ) -> None:
        self._client = client
        self._print_line = print_line
        self._engine_failed = engine_failed
        self._every_s = every_s
        self._also = also
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="server-watch", daemon=True)
        #: the state for the toolbar
        self.state = ""
        self._lost: str | None = None

    def start(self) -> None:
        """Begin to ask the server periodically."""
        self._thread.start()

    def close(self) -> None:
        """Stop asking."""
        self._over.set()

    def _work(self) -> None:
        while not self._over.is_set():
            self.ask()
            self._also()
            self._over.wait(self._every_s)

    def ask(self) -> None:
        """Ask once; report a change."""
        failed = self._engine_failed()
        client = self._client()
        if failed is not None:
            self._report_lost(
                client.url, f"The engine has stopped: {failed} The next statement starts it again."
            )
            self.state = "stopped"
            return
        try:
            self.state = str(client.info().get("serverStatus", "")).lower()
        except Unreachable:
            self._report_lost(client.url, f"Lost the server at {client.url}.")
            self.state = "lost"
            return
        except ServerError:  # it answers, but still starts or wants credentials
            self.state = "starting"
            return
        except (ClientError, RuntimeError):  # RuntimeError: the client was closed meanwhile
            return
        if self._lost is not None:
            lost, self._lost = self._lost, None
            if lost == client.url:
                self._print_line(f"The server at {lost} is back.")

    def _report_lost(self, url: str, message: str) -> None:
        if self._lost != url:
            self._lost = url
            self._print_line(message)
