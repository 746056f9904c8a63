"""The Spark session: one JVM that we start ourselves, without a shell script, its output in a log file.

Starting the JVM directly (PySpark then joins it by its port) keeps its messages off the user's screen, saves
the launcher's second JVM, and works with a JRE that lacks modules the launcher asks for.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO, TypeVar

from pyspark import SparkConf
from pyspark.sql import SparkSession

from ksql_spark import object_stores
from ksql_spark.config import Config
from ksql_spark.errors import KsqlError, nearest
from ksql_spark.functions.spark_text import SESSION_SETTINGS
from ksql_spark.services import artifacts, java
from ksql_spark.services.child import ends_within, kill_session
from ksql_spark.services.class_archive import ClassArchive
from ksql_spark.spark import jvm, master

log = logging.getLogger(__name__)

T = TypeVar("T")

#: for layers that do not import pyspark
Session = SparkSession


#: the JVM's log settings: how large its log may grow, and what is left out
LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")
#: maximum size of a file with the output of the JVM and user functions; there are two such files
PRINTED_BYTES = 5_000_000
#: prefixes of settings that Spark does not define
_OTHERS = ("spark.hadoop.", "spark.ksql.", "spark.executorEnv.", "spark.sql.catalog.")
#: how alike a name is that is meant: of the names that Spark uses without defining them, none is like another
_ALIKE = 0.95
#: how long the JVM may take to answer, and to stop its session, before it is taken for frozen, seconds
ANSWER_S, STOP_S = 5.0, 60.0
#: packages that Spark needs opened from Java 17 on (org.apache.spark.launcher.JavaModuleOptions)
_OPENED = (
    "java.base/java.lang", "java.base/java.lang.invoke", "java.base/java.lang.reflect", "java.base/java.io",
    "java.base/java.net", "java.base/java.nio", "java.base/java.util", "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic", "java.base/jdk.internal.ref", "java.base/sun.nio.ch",
    "java.base/sun.nio.cs", "java.base/sun.security.action", "java.base/sun.util.calendar",
)  # fmt: skip

#: options of every JVM that runs Spark
JAVA_OPTIONS = (
    *java.OPTIONS,
    "-XX:+IgnoreUnrecognizedVMOptions",
    # with them, rows of Spark 4.3 have other values than were written: a join showed a number for a NULL
    "-XX:-UseCompactObjectHeaders",
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
    # Arrow's buffers, through Netty, use what Java 24 and newer allow only if told to
    "-Dio.netty.tryReflectionSetAccessible=true",
    # each thread of a shuffle keeps buffers for the next messages: by default 256 of each of 39 sizes
    "-Dio.netty.allocator.smallCacheSize=32",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
)
#: how the JVM's heap grows, and is given back (memory/SpareHeap.java)
HEAP_OPTIONS = (
    "-XX:+UseG1GC",
    # what a fetch from a topic takes is then no object larger than half a region, and few are: each
    # of those may make the JVM look through the whole heap
    "-XX:G1HeapRegionSize=8m",
    # the heap grows when a load needs it, not whenever it was looked through
    "-XX:MinHeapFreeRatio=10",
    # returns memory that a start or a backlog needed
    "-XX:G1PeriodicGCInterval=60000",
    # Spark's cleaner calls System.gc() every half an hour, and so do we (runtime/driver/heap_monitor.py):
    # all would stand still for a second
    "-XX:+ExplicitGCInvokesConcurrent",
)

#: Spark settings that the engine's semantics and latency rest on
SETTINGS: Mapping[str, str] = {
    **SESSION_SETTINGS,
    "spark.sql.caseSensitive": "true",
    # SQL text has what users have written: Spark would put the environment's variables, which may be secrets,
    # the JVM's properties and its own settings in the place of ${env:…}, ${system:…} and ${…}
    "spark.sql.variable.substitute": "false",
    "spark.sql.catalog.ksql": "org.ksqlspark.catalog.KsqlCatalog",
    "spark.sql.extensions": "org.ksqlspark.internals.task.TaskExtension",
    "spark.sql.shuffle.partitions": "1",
    # Spark's list lacks coalesce, which runs in real time like a projection
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    # there are many slots; work on local rows must not be spread over all of them
    "spark.default.parallelism": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.ui.enabled": "false",
    # Python connects for the rows of a result, on a busy machine after more than the 15 s that Spark waits
    "spark.python.authenticate.socketTimeout": "120s",
    "spark.ui.showConsoleProgress": "false",
    # what Spark keeps for its web page, which nobody sees, of so many that have ended; its default is 1000
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "500",
    "spark.sql.ui.retainedExecutions": "50",
    # rows of a shuffle are sent by the task that wrote them, when it is about to wait for records. So the
    # threads that would send them only look now and then: every 2 ms cost an idle query 10 mcore
    "spark.shuffle.manager.incremental": "org.ksqlspark.internals.shuffle.QuietShuffleManager",
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "500",
    # Spark makes a buffer of a block for each broadcast variable, a few for each batch; most have some 30 KB.
    # The default of 4 MiB made the heap grow at each checkpoint of many queries
    "spark.broadcast.blockSize": "128k",
    # a task with state keeps a file with its changes open, with two buffers of this size; by default 32 KiB
    "spark.io.compression.lz4.blockSize": "8k",
    # Spark's default is a thread for each slot, and there are many
    "spark.rpc.netty.dispatcher.numThreads": "8",
    # each task that writes to a shuffle has a server. With a thread for each core it has one for each reader,
    # and each event loop of epoll has room for 4096 connections, 80 KB
    "spark.rpc.io.threads": "1",
    "spark.io.mode.default": "NIO",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # to count the entries of a store, Spark looks up each key that it writes; StateEntries.java counts them
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    # a key is looked for in the newest entries first, which at RocksDB's default size, 64 MiB, do not fit the
    # processor's cache; Kafka Streams uses 16 MiB, too
    "spark.sql.streaming.stateStore.rocksdb.writeBufferSizeMB": "16",
    # checkpoints as plain files: the default runs readlink and chmod for each file
    "spark.hadoop.fs.file.impl": "org.ksqlspark.state.LocalFiles",
    # the driver looks up the files of archives, which are named one by one: tasks may lack S3's classes
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",
    # what Hadoop's file systems need for a moment lies in the folder of the JVM that uses them
    "spark.hadoop.hadoop.tmp.dir": "${java.io.tmpdir}/hadoop",
    # small files, read from their beginning to their end
    "spark.hadoop.fs.s3a.input.stream.type": "classic",
    # the SDK's own upload of files takes the store's answer 100 (continue) for a failure
    "spark.hadoop.fs.s3a.optimized.copy.from.local.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": "org.ksqlspark.ownership.OwnedFiles",
    # real-time mode needs this format; a query that starts in micro-batches must use it from its first batch
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage": "true",
    "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB": "512",  # a server gives what its machine has
    # a query that was killed in its first batch leaves state and unfinished logs behind, and must start
    # anyway; nobody else writes to these folders
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # each query has several generated classes, which are looked up again at every checkpoint
    "spark.sql.codegen.cache.maxEntries": "10000",
    "spark.sql.streaming.metricsEnabled": "false",
    # at each checkpoint, while records wait, Spark describes the plan for its web page
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.streaming.numRecentProgressUpdates": "5",
    "spark.sql.streaming.minBatchesToRetain": "5",
    "spark.cleaner.referenceTracking.cleanCheckpoints": "false",
    # what Spark hides in plans and logs: also what Kafka's clients and schema registries call their secrets
    "spark.redaction.regex": (
        "(?i)secret|passw(or)?d|passphrase|credential|token|access[.]?key|api[.]?key|jaas|user[.]info"
    ),
    "spark.log.level": "WARN",
}

#: Spark writes a file of a checkpoint and the one with its checksum at the same time, by four threads that
#: each task with state keeps. Local files need none: 100 aggregates over 12 partitions have 800 threads less
_LOCAL_CHECKPOINTS = {"spark.sql.streaming.stateStore.fileChecksumThreadPoolSize": "0"}


def function_limits(config: Config) -> dict[str, str]:
    """The Spark settings, options of the function catalog, that limit what functions may build."""
    catalog = "spark.sql.catalog.ksql"
    return {
        f"{catalog}.max.elements": str(config["ksql.functions.max.elements"]),
        f"{catalog}.max.bytes": str(config["ksql.functions.max.bytes"]),
    }


#: prefix of the settings of the JVM's client of the schema registry (RegistryClient.java)
_REGISTRY = "spark.ksql.registry."
#: the names of those settings, by commas: a copy of all settings takes calls to the JVM for each
_REGISTRY_NAMES = "spark.ksql.registrySettings"


def set_registry(session: SparkSession, settings: Mapping[str, str]) -> dict[str, str]:
    """Set where ``session``, and those that ``new_session`` makes of it, find the schema registry.

    Args:
        session: the session.
        settings: ``url`` and the properties below ``ksql.schema.registry.``, and ``folder``, where there is
            one for copies of schemas; empty: there is none.

    Returns:
        The settings that these replace.
    """
    former = _registry_settings(session)
    for name in former:
        session.conf.unset(name)
    _set_registry(session, {_REGISTRY + name: value for name, value in settings.items()})
    return {name.removeprefix(_REGISTRY): value for name, value in former.items()}


def new_session(session: SparkSession) -> SparkSession:
    """A session with settings of its own and the schema registry of ``session``."""
    own = session.newSession()
    if settings := _registry_settings(session):
        _set_registry(own, settings)
    return own


def _set_registry(session: SparkSession, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        session.conf.set(name, value)
    session.conf.set(_REGISTRY_NAMES, ",".join(settings))


def _registry_settings(session: SparkSession) -> dict[str, str]:
    names = session.conf.get(_REGISTRY_NAMES, "") or ""
    return {name: str(session.conf.get(name)) for name in names.split(",") if name}


@contextlib.contextmanager
def own_interrupts() -> Iterator[None]:
    """Keep our handler of SIGINT while PySpark makes a context, which would put in its own.

    That one cancels the jobs of all queries, so that these fail, before it raises KeyboardInterrupt.
    """
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def is_away(error: Exception) -> bool:
    """Whether a call failed because Spark has ended, or is not there yet."""
    if isinstance(error, KsqlError):
        return error.condition in ("NOT_READY", "SPARK_RESTARTING")
    return jvm.is_gone(error)


@dataclass
class SparkProcess:
    """The JVM and the session in it.

    Args:
        work_dir: folder for logs, the warehouse and scratch files; created if missing.
        memory: the JVM's heap, as an argument of Java's -Xmx.
        master: where tasks run, as in Spark's ``--master``; ``local``: in this JVM, with slots enough.
        settings: more Spark settings; they override SETTINGS.
        records_classes: whether the JVM writes an archive of its classes when it stops, which takes its time;
            all others use it.
        file_systems: schemes of file systems that it has to reach besides local files, such as ``s3a``.
        start_timeout_s: how long it may take to start, until it is killed.
    """

    work_dir: Path
    memory: str = "2g"
    master: str = "local"
    settings: Mapping[str, str] = field(default_factory=dict)
    records_classes: bool = False
    file_systems: Sequence[str] = ()
    start_timeout_s: float = 300.0
    session: SparkSession | None = None
    _process: subprocess.Popen[bytes] | None = None
    _is_restarting: bool = False
    _archive: ClassArchive | None = None
    _is_over: bool = False
    _is_late: bool = False

    def start(self, report: Callable[[str], None] = lambda text: None) -> SparkSession:
        """Start the JVM and the session; artifacts must have been fetched before.

        Raises:
            KsqlError: SPARK_FAILED when the JVM does not come up; its log has the reason. PROPERTY_INVALID,
                PROPERTY_UNKNOWN for a setting.
        """
        jars = self._own_jars(report)
        self.work_dir.mkdir(parents=True, exist_ok=True)
        self._clean()  # what a killed run left
        (self.work_dir / "tmp").mkdir()
        jvm.silence()
        more = self._file_system_jars()
        class_path = _class_path(jars)
        archive = self._archive = _archive(class_path)
        with self._in_time():
            session = self._session(class_path, more, archive, jars)
        if not master.is_local(self.master):
            master.await_executors(session, report)
        self.session = session
        return session

    @contextlib.contextmanager
    def _in_time(self) -> Iterator[None]:
        """Kill a JVM that is not ready in time, so that whatever waits for it fails."""

        def give_up() -> None:
            self._is_late = True
            self.kill()

        self._is_late = False
        limit = threading.Timer(self.start_timeout_s, give_up)
        limit.daemon = True
        limit.start()
        try:
            yield
        finally:
            limit.cancel()

    def _failure(self, reason: str, file: Path) -> KsqlError:
        if self._is_late:
            reason = f"it was not ready within {self.start_timeout_s:g} s (ksql.spark.start.timeout.ms)"
        return KsqlError("SPARK_FAILED", reason=reason, log=file)

    def _session(
        self, class_path: list[Path], more: list[Path], archive: ClassArchive, jars: list[Path]
    ) -> SparkSession:
        """Start the JVM, and a session in it.

        Raises:
            KsqlError: SPARK_FAILED, PROPERTY_INVALID, PROPERTY_UNKNOWN.
        """
        port, secret = self._launch(class_path, more, archive)
        os.environ["PYSPARK_PYTHON"] = sys.executable
        with jvm.joined(port, secret):
            jvm.name_user()
            _check(self.settings)
            conf = SparkConf().setMaster(master.url(self.master)).setAppName("ksql-spark")
            warehouse = (self.work_dir / "warehouse").as_uri()
            for name, value in {
                **SETTINGS,
                **function_limits(Config()),
                **({} if self.file_systems else _LOCAL_CHECKPOINTS),
                "spark.sql.warehouse.dir": warehouse,
                "spark.local.dir": str(self.work_dir / "scratch"),
                **object_stores.hadoop_settings(self.settings),
                **master.settings(
                    self.master,
                    [*jars, *more],
                    JAVA_OPTIONS,
                    self.memory,
                    self.settings,
                    class_path=class_path,
                    archive_options=archive.options(),
                ),
            }.items():
                conf.set(name, value)
            try:
                with own_interrupts():
                    return SparkSession.builder.config(conf=conf).getOrCreate()
            except Exception as error:  # Py4J's, whose text is to be had from the JVM only
                log.exception("Spark did not start with master %s", self.master)
                jvm.forget()  # what there is of a session
                reason = f"its session with the master {self.master} could not be created"
                raise self._failure(reason, self.work_dir / "spark.log") from error

    def class_archive(self, report: Callable[[str], None] = lambda text: None) -> ClassArchive:
        """The archive of the JVM's classes, which may be there or not."""
        return _archive(_class_path(self._own_jars(report)))

    def _own_jars(self, report: Callable[[str], None]) -> list[Path]:
        """Return the part of the class path before Spark's jars; compiles our classes if necessary."""
        return [artifacts.own_classes(report), *artifacts.jars("spark")]

    def _file_system_jars(self) -> list[Path]:
        confs = (artifacts.FILE_SYSTEMS.get(scheme) for scheme in self.file_systems)
        return [jar for conf in confs if conf is not None for jar in artifacts.jars(conf)]

    def wait(self) -> int:
        """Wait until the JVM has ended; its exit code, negative: the signal that ended it.

        Raises:
            KsqlError: NOT_READY if there is none.
        """
        process = self._process
        if process is None:
            raise KsqlError("NOT_READY")
        return process.wait()

    def restart(self, report: Callable[[str], None] = lambda text: None) -> SparkSession:
        """Start a JVM and a session, in place of those that have ended or did not start, if there are any.

        Raises:
            KsqlError: SPARK_FAILED, as start(); may be called again.
        """
        self._is_restarting = self._is_restarting or self.session is not None
        self.stop()
        session = self.start(report)
        self._is_restarting = False
        return session

    @property
    def running_session(self) -> SparkSession:
        """The session, once there is one.

        Raises:
            KsqlError: NOT_READY, SPARK_RESTARTING.
        """
        if self.session is None:
            raise KsqlError("SPARK_RESTARTING" if self._is_restarting else "NOT_READY")
        if not self.is_alive:
            raise KsqlError("SPARK_RESTARTING")
        return self.session

    @property
    def is_alive(self) -> bool:
        """Whether the JVM runs."""
        return self._process is not None and self._process.poll() is None

    def answers(self) -> bool:
        """Whether the JVM runs and answers; takes as long as a JVM that is frozen stays so."""
        session = self.session
        if session is None or not self.is_alive:
            return False
        return jvm.now_ms(session) > 0

    def kill_if_frozen(self) -> None:
        """Kill a JVM that runs but does not answer within ANSWER_S, so that calls of it fail at once."""
        if self.is_alive and not _ends_within(ANSWER_S, self.answers):
            log.error("Spark's process does not answer; it is killed")
            self.kill()

    def heap(self) -> jvm.HeapUse | None:
        """Return the use of the JVM's heap; None while there is no JVM."""
        return self._call_or_none(jvm.heap_use)

    def collect_garbage(self) -> None:
        """Collect the JVM's whole heap concurrently, return free memory to the system, and wait for that.

        Does nothing while there is no JVM.
        """
        self._call_or_none(jvm.give_back_heap)

    def _call_or_none(self, call: Callable[[SparkSession], T]) -> T | None:
        """The result of a call to the JVM; None while there is no JVM, or if it ends during the call."""
        session = self.session
        if session is None or not self.is_alive:
            return None
        try:
            return call(session)
        except Exception as error:
            if jvm.is_gone(error):  # the supervisor reports it
                return None
            raise

    def kill(self) -> None:
        """End the JVM and the processes of Python functions at once, if there are any."""
        if (process := self._process) is not None:
            kill_session(process)

    def end(self) -> None:
        """Kill the JVM for good: no other one starts."""
        self._is_over = True
        self.kill()

    @property
    def pid(self) -> int:
        """Process id of the JVM, once there is one.

        Raises:
            KsqlError: NOT_READY.
        """
        if self._process is None:
            raise KsqlError("NOT_READY")
        return self._process.pid

    def _launch(self, class_path: list[Path], more: list[Path], archive: ClassArchive) -> tuple[int, str]:
        own = self.settings.get("spark.driver.extraClassPath")
        printed = self.work_dir / "spark.out"
        with tempfile.TemporaryDirectory(prefix="ksql-spark-") as folder:
            address = Path(folder) / "gateway"
            command = [
                str(java.java_binary()),
                f"-Xmx{self.memory}",
                *HEAP_OPTIONS,
                # or the JVM looks through the whole heap while queries start, when it has loaded that much
                "-XX:MetaspaceSize=128m",
                *JAVA_OPTIONS,
                *(archive.recording() if self.records_classes else archive.options()),
                f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}",
                f"-Dksql.log.file={self.work_dir / 'spark.log'}",
                f"-Djava.io.tmpdir={self.work_dir / 'tmp'}",
                # Java asks the system, which has none for a user without a name
                f"-Duser.home={Path.home()}",
                "-cp",
                # an archive of classes serves a class path that begins as its own
                os.pathsep.join([*map(str, [*class_path, *more]), *filter(None, [own])]),
                "org.apache.spark.deploy.SparkSubmit",
                "--conf",
                "spark.ui.enabled=false",
                "pyspark-shell",
            ]
            environment = os.environ | {
                jvm.ADDRESS_FILE: str(address),
                "SPARK_CONNECT_MODE": "0",
                # without it, RocksDB's allocations get a heap for each of the many threads
                "MALLOC_ARENA_MAX": "2",
                **master.environment(
                    self.master, artifacts.pyspark_jars(), java.java_home(), self.work_dir / "home"
                ),
            }
            # The gateway exits when its standard input closes, so it never outlives us.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
            if self._is_over:
                self.kill()
                raise KsqlError("STOPPED")
            assert self._process.stdout is not None
            arguments = (self._process.stdout, printed)
            keeper = threading.Thread(target=_keep, args=arguments, name="spark-output", daemon=True)
            keeper.start()
            while not address.exists() or not address.stat().st_size:
                if self._process.poll() is not None:
                    reason = f"its JVM ended with code {self._process.returncode}"
                    keeper.join(5)  # it has the reason
                    raise self._failure(reason, printed)
                time.sleep(0.01)
            return jvm.address_in(address)

    def stop(self, report: Callable[[str], None] = lambda text: None) -> None:
        """Stop the session and the JVM; safe to call at any time, more than once.

        A JVM that does not stop its session within STOP_S is killed.

        Args:
            report: called with progress lines while the JVM writes an archive of its classes.
        """
        session, self.session = self.session, None
        if session is not None:
            if not _ends_within(STOP_S, *jvm.endings(session, is_alive=self.is_alive)):
                self.kill()
            jvm.forget()
        if self._process is not None:
            if self._process.stdin:
                self._process.stdin.close()
            archive = self._archive if self.records_classes else None
            if archive is None:
                ends_within(self._process, 5)
            else:
                archive.await_written("Spark", partial(ends_within, self._process), report)
            self.kill()  # also what has outlived it
            self._process = None
            if archive is not None:
                archive.keep()
        self._clean()

    def _clean(self) -> None:
        """Remove what only a running JVM needs: scratch files, libraries it unpacked."""
        for name in ("scratch", "tmp", "home"):
            shutil.rmtree(self.work_dir / name, ignore_errors=True)


def _check(settings: Mapping[str, str]) -> None:
    """Refuse settings that Spark does not accept. Plug-ins define others, whose names are like none of these.

    Raises:
        KsqlError: PROPERTY_INVALID, PROPERTY_UNKNOWN.
    """
    own = {name: str(value) for name, value in settings.items() if not name.startswith(_OTHERS)}
    if not own:
        return
    problems, names = jvm.settings_problems(own)
    for name, reason in problems.items():
        raise KsqlError("PROPERTY_INVALID", name=name, value=own[name], reason=reason)
    for name in sorted(own.keys() - set(names)):
        near = nearest(name, names, cutoff=_ALIKE)
        if near is not None:
            raise KsqlError("PROPERTY_UNKNOWN", name=name, hint=f"Did you mean '{near}'?")


def _archive(class_path: Iterable[Path]) -> ClassArchive:
    return ClassArchive("spark", class_path, has_profiles=True, options=JAVA_OPTIONS)


#: MLlib has functions for the first session, and initializes Scala's reflection for them,
#: which takes 40 % of the time of a start
_UNUSED = "spark-mllib_"


def _class_path(jars: list[Path]) -> list[Path]:
    # Spark's own before those of others: one has a class of DataSketches that accepts Java 25
    of_pyspark = [jar for jar in artifacts.pyspark_jars().glob("*.jar") if not jar.name.startswith(_UNUSED)]
    return [*jars, *sorted(of_pyspark, key=lambda jar: (not jar.name.startswith("spark-"), jar.name))]


def _keep(stream: IO[bytes], file: Path) -> None:
    """Write what comes to a file, of which the latest part is kept, until the stream ends."""
    handler = RotatingFileHandler(file, maxBytes=PRINTED_BYTES, backupCount=1, encoding="utf-8")
    with stream, contextlib.closing(handler):
        while line := stream.readline(8192):
            handler.handle(logging.makeLogRecord({"msg": line.decode(errors="replace").rstrip("\n")}))


def _ends_within(timeout_s: float, *calls: Callable[[], object]) -> bool:
    """Make calls of the JVM, one after another, whatever they raise; False if they last longer than that."""

    def make() -> None:
        for call in calls:
            with contextlib.suppress(Exception):  # the JVM may be gone
                call()

    # a call of a frozen JVM returns once that is killed
    thread = threading.Thread(target=make, name="spark-call", daemon=True)
    thread.start()
    thread.join(timeout_s)
    return not thread.is_alive()
