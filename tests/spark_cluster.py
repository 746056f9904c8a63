"""Spark's standalone cluster: a master and workers as processes of their own, from PySpark's own jars."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar

import psutil

from ksql_spark.services import artifacts
from ksql_spark.services.java import java_binary, java_home
from ksql_spark.services.ports import HOST, free_port
from ksql_spark.spark import master
from tests import waiting

_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


class SparkCluster:
    """A cluster on this machine; a context that leaves no process behind.

    Args:
        folder: for the processes' logs and files.
        workers: how many there are at first.
        cores: slots of each worker.
    """

    def __init__(self, folder: Path, workers: int = 2, cores: int = 8) -> None:
        self._folder = folder
        self._cores = cores
        self._processes: list[subprocess.Popen[bytes]] = []
        home = folder / "home"
        local = master.environment("local-cluster[", artifacts.pyspark_jars(), java_home(), home)
        self._environment = os.environ | local | {"SPARK_NO_DAEMONIZE": "1"}
        port = free_port()
        self.url = f"spark://{HOST}:{port}"
        self._workers = workers
        self._command = ["master.Master", "--host", HOST, "--port", str(port), "--webui-port", "0"]

    #: what a driver on this machine needs to be told
    settings: ClassVar[dict[str, str]] = {"spark.driver.host": HOST, "spark.driver.bindAddress": HOST}

    def __enter__(self) -> SparkCluster:
        self._start(self._command, r"New state: ALIVE")
        for _ in range(self._workers):
            self.add_worker()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pid in self.executors():
            with contextlib.suppress(psutil.NoSuchProcess):
                psutil.Process(pid).kill()
        for process in reversed(self._processes):
            process.kill()
            process.wait()

    def add_worker(self) -> None:
        """Start one more worker, and wait until the master knows it."""
        number = len(self._processes)
        work = self._folder / f"worker{number}"
        size = ["--cores", str(self._cores), "--memory", "3g", "--work-dir", str(work)]
        command = ["worker.Worker", "--host", HOST, "--webui-port", "0", *size, self.url]
        self._start(command, r"Successfully registered with master")

    def executors(self) -> list[int]:
        """The processes that run tasks."""
        pids = []
        for process in self._processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                for child in psutil.Process(process.pid).children(recursive=True):
                    with contextlib.suppress(psutil.NoSuchProcess):
                        if _EXECUTOR in child.cmdline():
                            pids.append(child.pid)
        return pids

    def _start(self, command: Sequence[str], until: str) -> None:
        log = self._folder / f"process{len(self._processes)}.log"
        settings = self._folder / "log4j2.properties"
        settings.write_text(
            "rootLogger.level = info\nrootLogger.appenderRef.out.ref = out\nappender.out.type = Console\n"
            "appender.out.name = out\nappender.out.layout.type = PatternLayout\n"
            "appender.out.layout.pattern = %d %p %c{1}: %m%n\n"
        )
        full = [
            str(java_binary()),
            *("-Xmx512m", "-XX:+IgnoreUnrecognizedVMOptions", "--add-opens=java.base/java.nio=ALL-UNNAMED"),
            *("--add-opens=java.base/java.lang=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED"),
            *(f"-Dlog4j2.configurationFile={settings.as_uri()}", "-Dspark.master.rest.enabled=false"),
            *("-cp", f"{artifacts.pyspark_jars()}/*", f"org.apache.spark.deploy.{command[0]}", *command[1:]),
        ]
        with log.open("wb") as out:
            process = subprocess.Popen(
                full, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=self._environment
            )
        self._processes.append(process)
        waiting.until(
            lambda: re.search(until, log.read_text(errors="replace")) or process.poll() is not None,
            lambda: log.read_text(errors="replace"),
        )
        assert process.poll() is None, log.read_text(errors="replace")
