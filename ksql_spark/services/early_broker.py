"""A broker that starts during the server's imports.

Both take more than a second on a core of their own. So a restarting server first starts its broker.
"""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.services import artifacts
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.services.cache import Report
from ksql_spark.services.data_dir import locked_data_dir


class EarlyBroker:
    """The lock of a data folder, and the broker in it, which starts in its own thread.

    As a context manager, it stops the broker on exit and releases the folder.

    Args:
        data_dir: the data folder of a server.
        config: the server's.

    Raises:
        KsqlError: as locked_data_dir(); PROPERTY_INVALID.
    """

    def __init__(self, data_dir: Path, config: Config) -> None:
        self.broker = EmbeddedBroker.of(config, folder(data_dir), self._report_line)
        self._folder = contextlib.ExitStack()
        self._folder.enter_context(locked_data_dir(data_dir))
        self._reporting = threading.Lock()
        #: progress lines until somebody takes them, and who does
        self._lines: list[str] = []
        self._report: Report | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._start, name="broker-start", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.broker.stop()
        self._thread.join()
        self.broker.stop()  # the thread may have only just started
        self._folder.close()

    def wait(self, report: Report) -> None:
        """Return once the broker responds.

        Args:
            report: receives its progress lines.

        Raises:
            KsqlError: as EmbeddedBroker.start().
        """
        with self._reporting:
            for line in self._lines:
                report(line)
            self._lines, self._report = [], report
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _start(self) -> None:
        try:
            self.broker.start()
        except BaseException as error:
            self._failure = error

    def _report_line(self, line: str) -> None:
        with self._reporting:
            if self._report is None:
                self._lines.append(line)
            else:
                self._report(line)


def folder(data_dir: Path) -> Path:
    """The data folder of a server's broker."""
    return data_dir / "kafka"


def begun(config: Config) -> EarlyBroker | None:
    """The broker of a server that has run before, starting now.

    Args:
        config: the server's.

    Returns:
        None if the server has no broker of its own, if the broker must first be downloaded or its folder
        prepared, or if the folder cannot be used; in that case the server reports why.
    """
    if config["bootstrap.servers"] and config.is_set("bootstrap.servers"):
        return None
    data_dir = Path(str(config["ksql.spark.data.dir"])).expanduser().absolute()
    is_ready = EmbeddedBroker(folder(data_dir)).is_formatted and artifacts.are_there(EmbeddedBroker.needs)
    if not is_ready or config["ksql.cluster.enabled"]:
        return None
    try:
        return EarlyBroker(data_dir, config)
    except KsqlError:
        return None
