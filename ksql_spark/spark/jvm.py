"""The bridge to Spark's JVM: what the engine calls there beyond PySpark's own methods, with types.

Only this module knows Py4J and the members that PySpark keeps to itself; tests/test_borrowed.py lists them.
Other modules import it by its name: ``jvm.partition_of(session, key, 12)``.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pwd
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession, SQLContext
from pyspark.sql.streaming.query import StreamingQuery

#: the environment's variable with the file to which the JVM writes the address of its gateway
ADDRESS_FILE = "_PYSPARK_DRIVER_CONN_INFO_PATH"
_ADDRESS = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")

#: how long Kafka may take to forget a member of a group
_GROUP_TIMEOUT_MS = 5000

#: classes of the JVM that were looked up, by the view of the JVM that Py4J gives
_KNOWN: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def _class(session: SparkSession, name: str) -> Any:
    """A class of the JVM; ``name``: with its package, as ``org.example.Name``.

    ``jvm.org.example.Name`` asks the JVM about each part of the name, which looks for a class ``org`` in all
    of its jars; this asks once, for the whole name.

    Raises:
        JvmError: there is no such class, or no such JVM any more.
    """
    classes = _KNOWN.setdefault(session._jvm, {})
    class_ = classes.get(name)
    if class_ is None:
        class_ = classes[name] = getattr(session._jvm, name)
    return class_


def _map(session: SparkSession, entries: Mapping[str, str]) -> Any:
    """Return a Java HashMap of a mapping."""
    java_map = _class(session, "java.util.HashMap")()
    for key, value in entries.items():
        java_map.put(key, value)
    return java_map


def _context(session: SparkSession) -> Any:
    """Spark's context, as Scala has it."""
    return session.sparkContext._jsc.sc()


# -- errors ------------------------------------------------------------------------------------------------

#: a call to the JVM failed: Java raised an exception, or the JVM is gone
JvmError = Py4JError


def is_gone(error: BaseException) -> bool:
    """Whether a call to the JVM failed because the JVM has exited, rather than raised an exception."""
    return isinstance(error, (Py4JError, ConnectionError)) and not isinstance(error, Py4JJavaError)


def innermost_message(error: BaseException) -> str | None:
    """The message of the innermost Java exception outside ``java.``; None if Java raised nothing."""
    if not isinstance(error, Py4JJavaError):
        return None
    with contextlib.suppress(Exception):  # the JVM may be gone
        innermost = cause = error.java_exception
        while (cause := cause.getCause()) is not None:
            if not cause.getClass().getName().startswith("java."):
                innermost = cause
        return str(innermost.getMessage() or innermost.toString())
    return None


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and its causes, including those that PySpark passes on from the JVM."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = getattr(error, "_cause", None) or error.__cause__


def text_of(error: BaseException) -> str:
    """An error's message and JVM stack trace, which names the exceptions that Spark has merged into one."""
    return f"{getattr(error, '_desc', error)} {getattr(error, '_stackTrace', '')}"


def silence() -> None:
    """Silence Py4J's log: callers report failed calls.

    Py4J logs each with a stack trace, by its own logger and by the root's.
    """
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_from_py4j)  # once, however often it is added


def _is_not_from_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


# -- the JVM and its sessions ------------------------------------------------------------------------------


class HeapUse(NamedTuple):
    """The use of the JVM's heap at one moment."""

    #: how often new objects were collected since the JVM started
    collections: int
    #: bytes that the JVM has taken from the operating system
    committed: int
    #: bytes that the last of these collections left; 0 before the first one
    needed: int


def address_in(file: Path) -> tuple[int, str]:
    """The port and the secret of the gateway of a JVM that was started with ``ADDRESS_FILE``."""
    with file.open("rb") as info:
        port, length = struct.unpack("!ii", info.read(8))
        return port, info.read(length).decode()


@contextlib.contextmanager
def joined(port: int, secret: str) -> Iterator[None]:
    """Within this context, new sessions attach to a running JVM."""
    os.environ.update(zip(_ADDRESS, (str(port), secret), strict=True))
    try:
        yield
    finally:
        for name in _ADDRESS:
            del os.environ[name]


def name_user() -> None:
    """Tell Hadoop, within ``joined``, who runs the JVM where the system has no name for that user.

    Containers may run as any user. Hadoop, which finds no name, refuses to read and write files.
    """
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        SparkContext._ensure_initialized()
        users = getattr(SparkContext._jvm, "org.apache.hadoop.security.UserGroupInformation")
        users.setLoginUser(users.createRemoteUser(os.environ.get("HADOOP_USER_NAME") or str(os.getuid())))


def settings_problems(settings: Mapping[str, str]) -> tuple[dict[str, str], Sequence[str]]:
    """Find, within ``joined``, settings whose values Spark does not accept (SparkSettings.java).

    Returns:
        name -> what is wrong with its value, as a clause; and the names of all settings that Spark defines.
    """
    SparkContext._ensure_initialized()
    view: Any = SparkContext._jvm
    values = getattr(view, "java.util.HashMap")()
    for name, value in settings.items():
        values.put(name, value)
    checked = getattr(view, "org.ksqlspark.internals.settings.SparkSettings")
    return dict(checked.problems(values)), checked.names().split("\n")


def endings(session: SparkSession, *, is_alive: bool) -> Sequence[Callable[[], object]]:
    """The calls that stop a session, then its JVM; ``is_alive``: the JVM runs. Call ``forget`` afterwards."""
    if not is_alive:
        session.sparkContext._jsc = None  # or PySpark tries to stop it, and warns
    gateway = SparkContext._gateway
    return [session.stop] if gateway is None else [session.stop, gateway.shutdown]


def forget() -> None:
    """Make PySpark forget its JVM, which it keeps in class variables."""
    SparkContext._gateway = SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    SQLContext._instantiatedContext = None


def now_ms(session: SparkSession) -> int:
    """The JVM's clock, epoch ms."""
    return int(_class(session, "java.lang.System").currentTimeMillis())


def heap_use(session: SparkSession) -> HeapUse:
    """Return the current use of the heap."""
    return HeapUse(*_class(session, "org.ksqlspark.memory.SpareHeap").use())


def give_back_heap(session: SparkSession) -> None:
    """Collect the whole heap concurrently, and return free memory to the system."""
    _class(session, "org.ksqlspark.memory.SpareHeap").giveBack()


def figures(session: SparkSession) -> dict[str, float]:
    """Figures about the JVM by their names in JvmFigures.java."""
    by_name: dict[str, float] = json.loads(str(_class(session, "org.ksqlspark.cluster.JvmFigures").report()))
    return by_name


def bytes_setting(session: SparkSession, name: str) -> int:
    """A setting of Spark's context that is a size, in bytes."""
    return int(_context(session).conf().getSizeAsBytes(name))


def task_slots(session: SparkSession) -> int:
    """Return the number of tasks that the current executors can run at once."""
    context = _context(session)
    return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))


def cancel_jobs(session: SparkSession, group: str) -> None:
    """Cancel the jobs of a group, including those that have not started yet."""
    _context(session).cancelJobGroupAndFutureJobs(group)


# -- frames ------------------------------------------------------------------------------------------------


def transformed(frame: DataFrame, transformations: Sequence[Sequence[str]]) -> DataFrame:
    """``frame`` with projections and filters, analysed together (Transformations.java).

    Raises:
        AnalysisException: as DataFrame's methods.
        IllegalArgumentException: a text is not Spark SQL.
    """
    session = frame.sparkSession
    java_frame = _class(session, "org.ksqlspark.internals.task.Transformations").apply(
        frame._jdf, json.dumps(transformations)
    )
    return DataFrame(java_frame, session)


def ddl_of(frame: DataFrame) -> str:
    """The columns of a frame, as Spark's DDL."""
    return str(frame._jdf.schema().toDDL())


def empty_frame(session: SparkSession, ddl: str) -> DataFrame:
    """An empty frame with these columns, which the optimizer cannot see to be empty."""
    rows = session._jsparkSession.emptyDataFrame().javaRDD()
    schema = _class(session, "org.apache.spark.sql.types.StructType").fromDDL(ddl)
    return DataFrame(session._jsparkSession.createDataFrame(rows, schema), session)


def keyed_operator(name: str, frame: DataFrame, *arguments: Any) -> DataFrame:
    """A keyed operator over ``frame``: the method ``name`` of KeyedOperators.java."""
    session = frame.sparkSession
    operators = _class(session, "org.ksqlspark.state.KeyedOperators")
    return DataFrame(getattr(operators, name)(frame._jdf, *arguments), session)


def aggregator(
    template: DataFrame, has_condition: bool, appended: int = 0
) -> tuple[Any, list[str], list[str]]:
    """Return an object that computes the aggregates of ``template``'s columns, and their buffers' layouts.

    Args:
        template: an empty frame.
        has_condition: whether its last column is HAVING's condition.
        appended: how many of the last aggregates the state may lack, because they came later.

    Returns:
        an argument of ``keyed_operator``, for each aggregate the layout of its buffer, and the one of release
        0.1.0.
    """
    operators = _class(template.sparkSession, "org.ksqlspark.state.KeyedOperators")
    java_aggregator = operators.aggregator(template._jdf, has_condition, appended)
    layouts = java_aggregator.layout(), java_aggregator.formerLayout()
    # by index: the end of a Java iterator is an exception, which takes dozens of calls to the JVM
    current, former = ([layout[i] for i in range(len(layout))] for layout in layouts)
    return java_aggregator, current, former


def pair_condition(template: DataFrame, left_columns: int) -> Any:
    """A condition on two rows, an argument of ``keyed_operator``.

    Args:
        template: an empty frame of the columns of both rows, filtered by the condition.
        left_columns: how many of them are the left row's.
    """
    operators = _class(template.sparkSession, "org.ksqlspark.state.KeyedOperators")
    return operators.pairCondition(template._jdf, left_columns)


def pattern_expressions(
    template: DataFrame,
    arguments: int,
    slots: int,
    previous: Sequence[int],
    offsets: Sequence[int],
    needed: Sequence[int],
) -> Any:
    """Return MATCH_RECOGNIZE's expressions, an argument of ``keyed_operator``; see KeyedOperators.java.

    ``pattern_symbol`` and its method ``aggregator`` add the parts (PatternExpressions.java).
    """
    operators = _class(template.sparkSession, "org.ksqlspark.state.KeyedOperators")
    lists = (list(previous), list(offsets), list(needed))
    return operators.patternExpressions(template._jdf, arguments, slots, *lists)


def pattern_symbol(
    expressions: Any, condition: DataFrame | None, is_known_early: bool, takes: DataFrame
) -> None:
    """Add a symbol to ``pattern_expressions``.

    Args:
        expressions: its result.
        condition: the template, filtered by the symbol's condition, or None if it has none.
        is_known_early: whether the condition needs nothing of the match so far.
        takes: the slots as they are with a row of the symbol.
    """
    expressions.symbol(None if condition is None else condition._jdf, is_known_early, takes._jdf)


def python_batches(frame: DataFrame, functions: Sequence[str], arguments: Sequence[str]) -> DataFrame:
    """``frame`` with the results of user functions (PythonBatches.java).

    Args:
        frame: packed rows, then the packed arguments of each function.
        functions: the code of each.
        arguments: the columns of each one's arguments, as Spark's DDL.
    """
    session = frame.sparkSession
    batches = _class(session, "org.ksqlspark.python.PythonBatches")
    return DataFrame(batches.apply(frame._jdf, functions, arguments), session)


def end_python_workers(session: SparkSession, folder: str) -> None:
    """End the idle processes that run the user functions of ``folder``."""
    _class(session, "org.ksqlspark.python.PythonWorker").end(folder)


# -- runs of queries ---------------------------------------------------------------------------------------


class Runs(Protocol):
    """DrainableSource.java: runs by their ids."""

    def drain(self, run: str) -> int:
        """Read nothing more; the last batch that may have read something."""
        ...

    def isDrained(self, run: str) -> bool:
        """Whether a run in micro-batches has ended the batch that ran when it was drained."""
        ...

    def endBatch(self, run: str) -> None:
        """End the batch of a run in real time."""
        ...

    def release(self, run: str, feeds: str) -> None:
        """Forget a run that was stopped; ``feeds``: the internal topic that it wrote, or nothing."""
        ...


def runs(session: SparkSession) -> Runs:
    """The runs of all queries of the JVM."""
    java_runs: Runs = _class(session, "org.ksqlspark.kafka.DrainableSource")
    return java_runs


def keep_plan(session: SparkSession, query: StreamingQuery) -> None:
    """Reuse the optimized plan of a query's first batch in the next ones (KeptPlan.java)."""
    _class(session, "org.ksqlspark.internals.task.KeptPlan").keep(query._jsq)


def open_transactions(
    session: SparkSession,
    run: str,
    commits: str,
    settings: Mapping[str, str],
    limits: tuple[int, int],
    log: str,
    query: str,
) -> str:
    """Open a transactional producer for a run (TransactionalProducer.java).

    Args:
        session: any of the JVM.
        run: id of the run.
        commits: the topic of the query's commits.
        settings: of the producer.
        limits: max.request.size, and max.message.bytes of the sink.
        log: the processing log's name, or nothing.
        query: the query's id in that log.

    Returns:
        why the cluster does not do it, so that there is none; empty: it does.

    Raises:
        PySparkException, JvmError: the JVM is gone.
    """
    producer = _class(session, "org.ksqlspark.transaction.TransactionalProducer")
    return str(producer.open(run, commits, settings, *limits, log, query))


def open_fenced(
    session: SparkSession,
    run: str,
    name: str,
    settings: Mapping[str, str],
    limits: tuple[int, int],
    log: str,
    query: str,
    feeds: str,
) -> str:
    """Open a producer for a run that fences those of earlier runs (FencedProducer.java).

    Args:
        session: any of the JVM.
        run: id of the run.
        name: of the producers of all runs.
        settings: of the producer.
        limits: max.request.size, and max.message.bytes of the sink.
        log: the processing log's name, or nothing.
        query: the query's id in that log.
        feeds: the internal topic that it writes, or nothing.

    Returns:
        why the cluster does not do it; empty: it does.

    Raises:
        PySparkException, JvmError: the JVM is gone.
    """
    producer = _class(session, "org.ksqlspark.kafka.FencedProducer")
    return str(producer.open(run, name, settings, *limits, log, query, feeds))


class CacheUse(NamedTuple):
    """Bytes that the caches of all keyed operators hold, and may hold at most (CacheBudget.java)."""

    used: int
    bound: int


def bound_cache(session: SparkSession, most: int) -> None:
    """Limit all caches together to this many bytes; 0: every access goes to the state store."""
    _class(session, "org.ksqlspark.state.CacheBudget").shared().bound(most)


def cache_use(session: SparkSession) -> CacheUse:
    """Return the current size and bound of the state caches."""
    budget = _class(session, "org.ksqlspark.state.CacheBudget").shared()
    return CacheUse(int(budget.used()), int(budget.bound()))


#: the first bytes of what an encoder makes for a row that cannot be written
_UNWRITABLE = b"\xffksql"


class JavaLog(Protocol):
    """ProcessingLog.java: the processing logs of all servers by their names."""

    def open(self, name: str, topic: str, settings: Any, late_rows: int) -> None:
        """Write entries to a topic; ``settings``: of a producer, as a HashMap."""
        ...

    def mute(self, name: str, query: str) -> None:
        """Only count a query's errors."""
        ...

    def queryFailed(self, name: str, query: str, reason: str) -> None:
        """Write that a query stopped with an error."""
        ...

    def of(self, name: str) -> Any:
        """Return the log with this name."""
        ...

    def counts(self, name: str, query: str) -> Sequence[int]:
        """Unreadable, failed, late and lost records of a query; epoch ms of the last error, or 0."""
        ...

    def graces(self, name: str, query: str) -> Sequence[int]:
        """Grace periods, ms, each followed by the number of late records for which it is just enough."""
        ...

    def gather(self, name: str) -> None:
        """Keep entries in memory instead of writing them."""
        ...

    def gathered(self, name: str) -> Sequence[str]:
        """The entries that were kept, which are forgotten."""
        ...

    def close(self, name: str) -> None:
        """Write what is queued, then close."""
        ...


def unwritable(session: SparkSession, data: bytes | None) -> str | None:
    """Return why a row cannot be written, if an encoder wrote a reason for its bytes; else None."""
    if data is None or not data.startswith(_UNWRITABLE):
        return None
    reason = _class(session, "org.ksqlspark.formats.Unwritable").reason(bytearray(data))
    return None if reason is None else str(reason)


def processing_logs(session: SparkSession) -> JavaLog:
    """The processing logs of the JVM."""
    logs: JavaLog = _class(session, "org.ksqlspark.log.ProcessingLog")
    return logs


def open_log(
    session: SparkSession, name: str, topic: str, settings: Mapping[str, str], late_rows: int
) -> None:
    """Make a processing log write to a topic.

    Args:
        session: of the JVM.
        name: the log's.
        topic: the topic.
        settings: of a Kafka client.
        late_rows: the most late rows of a query and step in a second.
    """
    processing_logs(session).open(name, topic, _map(session, settings), late_rows)


def traffic_report(session: SparkSession, server: str) -> str:
    """JSON about all queries of a server (Traffic.java); ``server``: the name of its processing log."""
    return str(_class(session, "org.ksqlspark.kafka.Traffic").report(server))


def state_entries(session: SparkSession, server: str, query: str, run: str) -> int:
    """The number of entries in the state of a Spark query; ``run``: its id (StateEntries.java)."""
    return int(_class(session, "org.ksqlspark.state.StateEntries").of(server, query, run))


def forget_figures(session: SparkSession, server: str, query: str) -> None:
    """Forget the traffic and the state's size of a query that has ended."""
    for name in ("org.ksqlspark.kafka.Traffic", "org.ksqlspark.state.StateEntries"):
        _class(session, name).forget(server, query)


# -- Kafka, other servers and file systems -----------------------------------------------------------------


def partition_of(session: SparkSession, key: bytes, partitions: int) -> int:
    """The partition, out of so many, that Kafka's Java producers choose for a key."""
    partitioner = _class(session, "org.apache.kafka.clients.producer.internals.BuiltInPartitioner")
    return int(partitioner.partitionForKey(bytearray(key), partitions))


def remove_member(session: SparkSession, settings: Mapping[str, str], group: str, instance: str) -> None:
    """Remove a static member from a group by its ``group.instance.id``; only the Java client can.

    Raises:
        Exception: of the JVM; Kafka forgets the member after its session.
    """
    limit = str(_GROUP_TIMEOUT_MS)
    limits = {"request.timeout.ms": limit, "default.api.timeout.ms": limit}
    package = "org.apache.kafka.clients.admin"
    admin = _class(session, f"{package}.Admin").create(_map(session, {**settings, **limits}))
    try:
        members = _class(session, "java.util.HashSet")()
        members.add(_class(session, f"{package}.MemberToRemove")(instance))
        options = _class(session, f"{package}.RemoveMembersFromConsumerGroupOptions")
        admin.removeMembersFromConsumerGroup(group, options(members)).all().get()
    finally:
        admin.close()


def ownership_stamp(session: SparkSession) -> int:
    """The time on the JVM's clock for write permission (Ownership.java)."""
    return int(_class(session, "org.ksqlspark.ownership.Ownership").now())


def confirm_ownership(session: SparkSession, stamp: int, seconds: float) -> None:
    """Confirm that no other server runs this server's queries until ``seconds`` after ``stamp``."""
    _class(session, "org.ksqlspark.ownership.Ownership").confirm(stamp, seconds)


def call_folder(session: SparkSession, uri: str, method: str, *arguments: str) -> Any:
    """Call a method of StateFolder.java, for the folder ``uri`` of one of Hadoop's file systems.

    Raises:
        OSError: the store failed, or Spark's JVM is gone.
    """
    try:
        settings = session.sparkContext._jsc.hadoopConfiguration()
        folder = _class(session, "org.ksqlspark.state.StateFolder")(uri, settings)
        return getattr(folder, method)(*arguments)
    except Py4JJavaError as error:
        raise OSError(str(error.java_exception.getMessage() or error.java_exception)) from error
    except Py4JError as error:
        raise OSError("Spark's JVM does not answer") from error


# -- archives ----------------------------------------------------------------------------------------------


def reach_object_stores(session: SparkSession, jars: Sequence[Path]) -> None:
    """Let Hadoop reach S3; ``jars``: for a JVM that has started without them (ObjectStores.java)."""
    hadoop = session.sparkContext._jsc.hadoopConfiguration()
    _class(session, "org.ksqlspark.kafka.ObjectStores").reach(hadoop, os.pathsep.join(map(str, jars)))


def archived_files(session: SparkSession, folder: str, begins: str) -> list[str]:
    """The files of an archive with offsets below those where its topic begins (Archive.java).

    Args:
        session: any session.
        folder: where the archive is.
        begins: partition -> offset, as JSON.

    Raises:
        JvmError: it cannot be read.
    """
    return [str(name) for name in _class(session, "org.ksqlspark.kafka.Archive").files(folder, begins)]
