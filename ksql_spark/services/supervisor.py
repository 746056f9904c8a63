"""Restarts an embedded service when its process exits unexpectedly."""

from __future__ import annotations

import logging
import threading
import time

from ksql_spark.errors import KsqlError
from ksql_spark.services.embedded import EmbeddedService

log = logging.getLogger(__name__)

#: how often to check the process, seconds
_LOOK_S = 0.2
#: the pause before a start after a failed or short-lived one, seconds: doubled each time
_FIRST_PAUSE_S, _MAX_PAUSE_S = 0.5, 30.0
#: a process that has run for this long is healthy, seconds
_WELL_S = 60.0


class ServiceSupervisor:
    """Watches a started service until close().

    Args:
        service: the service; it keeps its port on restarts, because clients know it.
    """

    def __init__(self, service: EmbeddedService) -> None:
        self._service = service
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"{service.name}-supervisor", daemon=True)
        #: the number of restarts
        self.restarts = 0

    def start(self) -> None:
        """Start watching."""
        self._thread.start()

    def close(self) -> None:
        """Stop watching; call it before the service is stopped. A running restart is interrupted."""
        self._closing.set()
        if self._thread.is_alive():
            if not self._service.is_running():
                self._service.stop()
            self._thread.join()

    def _run(self) -> None:
        title, pause_s = self._service.title, _FIRST_PAUSE_S
        started_at = time.monotonic()
        while not self._closing.wait(_LOOK_S):
            if self._service.is_running():
                continue
            if time.monotonic() - started_at > _WELL_S:
                pause_s = _FIRST_PAUSE_S
            log.error("%s exited (%s); restarting it", title, self._service.why_ended)
            if self._closing.wait(pause_s):
                return
            started_at, pause_s = time.monotonic(), min(2 * pause_s, _MAX_PAUSE_S)
            try:
                self._service.restart()
                self.restarts += 1
                log.info("%s runs again", title)
            except KsqlError as error:
                if not self._closing.is_set():
                    log.error("%s does not start: %s", title, error.message)


__all__ = ["ServiceSupervisor"]
