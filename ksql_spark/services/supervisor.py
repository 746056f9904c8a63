"""Starts an embedded service again when its process ends by itself."""

from __future__ import annotations

import logging
import threading
import time

from ksql_spark.errors import KsqlError
from ksql_spark.services.embedded import EmbeddedService

log = logging.getLogger(__name__)

#: how often the process is looked at, seconds
_LOOK_S = 0.2
#: the pause before a start that follows one which failed or did not last, seconds: twice as long each time
_FIRST_PAUSE_S, _MAX_PAUSE_S = 0.5, 30.0
#: a process that has run for so long is well, seconds
_WELL_S = 60.0


class ServiceSupervisor:
    """Watches a service that was started, until close().

    Args:
        service: it keeps its port when it is started again, since clients know it.
    """

    def __init__(self, service: EmbeddedService) -> None:
        self._service = service
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"{service.name}-supervisor", daemon=True)
        #: how often it was started again
        self.restarts = 0

    def start(self) -> None:
        """Watch from now on."""
        self._thread.start()

    def close(self) -> None:
        """Watch no more; call it before the service is stopped. A start under way is broken off."""
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
