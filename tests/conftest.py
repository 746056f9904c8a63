"""Fixtures that several folders of tests share."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import os
import uuid
import zlib
from collections.abc import Callable, Generator, Iterator
from typing import Any

import hypothesis
import pytest
from xdist.scheduler import LoadScopeScheduling

from ksql_spark.config import Config
from ksql_spark.engine import Engine
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark.session import SparkProcess, new_session
from tests.shared_services import WORKER, AttachedBroker, AttachedSpark, common_folder, gateway_of, shared
from tests.spark_cluster import SparkCluster
from tests.waiting import LONG_S, long_waits

#: with C1 a start costs little more than half, and a whole run no more; programs in bench/ do not come here
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")

# syntax trees and plans are many small objects: with Python's own threshold, looking through them for garbage
# takes a fifth of the time of tests without a JVM
gc.set_threshold(50_000, 20, 100)

# a busy machine is no failure
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")


#: modules whose tests may run in different workers, since they take long and share nothing
SPLIT_MODULES = {
    "tests/cases/test_cases.py",
    "tests/kafka/test_membership.py",
    "tests/runtime/test_placement.py",
}
#: the name of a long wait among the properties of a test's report
_LONG_WAIT = "long wait"


class Scheduling(LoadScopeScheduling):
    """Gives each worker whole modules, since the tests of a module share fixtures, but splits some."""

    def _split_scope(self, nodeid: str) -> str:
        module = _module(nodeid)
        return nodeid if module in SPLIT_MODULES else module


def _module(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    """Distribute tests over the workers of ``-n``, in the order of ``pytest_collection_modifyitems``."""
    config.option.loadscopereorder = False
    return Scheduling(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Spread tests that wait, for time or for processes, among those that compute, so that cores have work.

    The last ones are of modules that are split, so that no worker goes on long after the others.
    """
    if not hasattr(config, "workerinput"):
        return

    def order(item: pytest.Item) -> tuple[float, str]:
        module = _module(item.nodeid)
        is_split = module in SPLIT_MODULES
        scope = item.nodeid if is_split else module
        place = zlib.crc32(scope.encode()) / 2**32
        return place if is_split else 0.85 * place, scope

    items.sort(key=order)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep the tests and their parameters, which live until the end, out of every collection of garbage."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Give a test's report its long waits, which then travel from the worker to who prints them."""
    report = yield
    report.user_properties += [(_LONG_WAIT, seconds) for seconds in long_waits]
    long_waits.clear()
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the long waits: TIMEOUT_S would hide them."""
    reports = [
        r for of_one in terminalreporter.stats.values() for r in of_one if hasattr(r, "user_properties")
    ]
    found = [(value, r.nodeid) for r in reports for name, value in r.user_properties if name == _LONG_WAIT]
    if found:
        terminalreporter.section(f"waits of {LONG_S:.0f} s and more")
    for seconds, test in sorted(found, reverse=True):
        terminalreporter.line(f"{seconds:5.0f} s {test}")


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """One Kafka broker for the whole test run; tests that use it are marked ``kafka``."""
    folder = tmp_path_factory.mktemp("broker")
    with shared(
        common_folder(tmp_path_factory),
        "broker",
        start=lambda: EmbeddedBroker(folder, port=0),
        address_of=lambda started: (started.port, started.pid),
        attach=lambda address: contextlib.nullcontext(AttachedBroker(folder, *address)),
    ) as running:
        yield running


@pytest.fixture(scope="session")
def kafka_admin(broker: EmbeddedBroker) -> KafkaAdmin:
    """The administrator of the shared broker."""
    return KafkaAdmin(broker.bootstrap_servers)


@pytest.fixture
def topic_names(broker: EmbeddedBroker, kafka_admin: KafkaAdmin) -> Iterator[Callable[[str], str]]:
    """A maker of topic names that no other test has; the topics are deleted after the test."""
    names: list[str] = []

    def make(name: str = "topic") -> str:
        names.append(f"{name}_{uuid.uuid4().hex[:8]}")
        return names[-1]

    yield make
    existing = kafka_admin.topics()
    kafka_admin.delete_topics(name for name in names if name in existing)


@pytest.fixture(scope="session")
def spark_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkProcess]:
    """One Spark session for the whole test run, with our own functions; marked ``spark`` or ``kafka``.

    Its tasks run where TEST_SPARK_MASTER says: ``make test-cluster`` runs cases in executors; ``standalone``
    is a master with two workers.
    """

    @contextlib.contextmanager
    def started() -> Iterator[SparkProcess]:
        master = os.environ.get("TEST_SPARK_MASTER", "local")
        with contextlib.ExitStack() as stack:
            settings = {}
            if master == "standalone":
                cluster = stack.enter_context(SparkCluster(tmp_path_factory.mktemp("cluster"), cores=256))
                master, settings = cluster.url, {**cluster.settings, "spark.executor.memory": "1536m"}
            # that of all workers: each broadcast of a batch takes a block of 64 MB
            process = SparkProcess(folder, memory="4g", master=master, settings=settings)
            stack.callback(process.stop)
            process.start()
            yield process

    folder = tmp_path_factory.mktemp("spark")
    with shared(
        common_folder(tmp_path_factory),
        "spark",
        start=started,
        address_of=gateway_of,
        attach=lambda address: AttachedSpark.of(folder, *address),
    ) as process:
        yield process


@pytest.fixture(scope="session")
def local_spark(spark_process: SparkProcess) -> object:
    """A session beside that of the shared engine, in the same JVM."""
    return new_session(spark_process.session)


@pytest.fixture(scope="session")
def engine(
    broker: EmbeddedBroker, spark_process: SparkProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """One running engine on the shared broker and JVM.

    Its session is its own: each engine sets its schema registry when it starts, and tests start others on
    the shared session.
    """
    process = dataclasses.replace(spark_process, session=spark_process.running_session.newSession())
    config = {
        "bootstrap.servers": broker.bootstrap_servers,
        "ksql.spark.data.dir": str(tmp_path_factory.mktemp("engine")),
        "ksql.service.id": f"tests_{WORKER}_",
    }
    running = Engine(Config(config), process)
    running.start()
    yield running
    running.stop()
