"""One broker and one Spark JVM for all workers of a run: the first that needs it starts it, others attach.

The workers of pytest-xdist have a folder in common. There, each service has a file with its address, and a
lock that its users share for as long as they use it; who has started it waits for them before it stops it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark import jvm
from ksql_spark.spark.session import SparkProcess, own_interrupts

T = TypeVar("T")

#: pytest's name of this worker: gw0, gw1, …; of a run without workers: main
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")


def common_folder(factory: pytest.TempPathFactory) -> Path:
    """The folder that all workers of this run have in common."""
    own = factory.getbasetemp()
    return own if WORKER == "main" else own.parent


@contextlib.contextmanager
def shared(
    folder: Path,
    name: str,
    start: Callable[[], AbstractContextManager[T]],
    address_of: Callable[[T], Any],
    attach: Callable[[Any], AbstractContextManager[T]],
) -> Iterator[T]:
    """The service ``name`` of this run.

    Args:
        folder: the common folder.
        name: the service's name, of files.
        start: starts it, and stops it when its context ends.
        address_of: what the others need in order to attach, as JSON.
        attach: attaches to the one at such an address.
    """
    address = folder / f"{name}.address"
    with contextlib.ExitStack() as stack:
        with _locked(folder / f"{name}.start", fcntl.LOCK_EX):
            is_ours = not address.exists()
            if is_ours:
                service = stack.enter_context(start())
                address.write_text(json.dumps(address_of(service)), encoding="utf-8")
            else:
                stack.enter_context(_locked(folder / f"{name}.users", fcntl.LOCK_SH))
                service = stack.enter_context(attach(json.loads(address.read_text(encoding="utf-8"))))
        yield service
        if is_ours:
            with _locked(folder / f"{name}.start", fcntl.LOCK_EX):
                # whoever comes now starts one of its own
                address.unlink()
                with _locked(folder / f"{name}.users", fcntl.LOCK_EX):
                    pass


@contextlib.contextmanager
def _locked(file: Path, how: int) -> Iterator[None]:
    with file.open("a") as lock:
        fcntl.flock(lock, how)
        yield


def gateway_of(process: SparkProcess) -> tuple[int, str, int]:
    """Where the JVM of a process of ours can be joined: port, secret, process id."""
    parameters = process.running_session.sparkContext._gateway.gateway_parameters
    return parameters.port, parameters.auth_token, process.pid


class AttachedBroker(EmbeddedBroker):
    """The broker of another worker: it is neither started nor stopped.

    Args:
        folder: for files of this worker, of which there are none.
        port: the broker's.
        pid: the broker's.
    """

    def __init__(self, folder: Path, port: int, pid: int) -> None:
        super().__init__(folder, port)
        self._pid = pid

    @property
    def pid(self) -> int:
        return self._pid


@dataclass
class AttachedSpark(SparkProcess):
    """The Spark of another worker, in a session of our own: it is neither started nor stopped."""

    pid_of_jvm: int = 0

    @property
    def is_alive(self) -> bool:
        return True

    @property
    def pid(self) -> int:
        return self.pid_of_jvm

    @classmethod
    @contextlib.contextmanager
    def of(cls, folder: Path, port: int, secret: str, pid: int) -> Iterator[AttachedSpark]:
        """Join the JVM whose gateway is at that port.

        Args:
            folder: for files of this worker.
            port: of the gateway.
            secret: of the gateway.
            pid: of the JVM.
        """
        self = cls(folder, pid_of_jvm=pid)
        jvm.silence()
        os.environ["PYSPARK_PYTHON"] = sys.executable
        with jvm.joined(port, secret):
            gateway = launch_gateway()
        context = gateway.jvm.org.apache.spark.SparkContext.getOrCreate()
        java_context = gateway.jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(context)
        conf = SparkConf(_jconf=java_context.getConf())
        with own_interrupts():
            spark = SparkContext(conf=conf, gateway=gateway, jsc=java_context)
        self.session = SparkSession(spark).newSession()
        try:
            yield self
        finally:
            gateway.close()
            jvm.forget()
