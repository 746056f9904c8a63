"""Spark's process: how it starts, what watches it, and where queries store their state."""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Sequence
from pathlib import Path

from ksql_spark.config import Config
from ksql_spark.engine.bootstrap.lifecycle import Lifecycle
from ksql_spark.errors import KsqlError
from ksql_spark.runtime.driver.clock_monitor import ClockMonitor
from ksql_spark.runtime.driver.heap_monitor import LOOK_EVERY_S, HeapMonitor
from ksql_spark.runtime.driver.startup import SparkStart
from ksql_spark.runtime.driver.supervisor import SparkSupervisor
from ksql_spark.runtime.queries.manager import QueryManager
from ksql_spark.runtime.queries.watching.periodic import PeriodicTask
from ksql_spark.services import memory
from ksql_spark.services.data_dir import folder_id
from ksql_spark.spark import master
from ksql_spark.spark.hadoop_folder import HadoopFolder
from ksql_spark.spark.session import SparkProcess, function_limits
from ksql_spark.storage import Folder, LocalFolder


def file_systems(config: Config) -> tuple[str, ...]:
    """The schemes of the file systems, besides local files, that Spark must reach.

    Raises:
        KsqlError: PROPERTY_INVALID.
    """
    folder = str(config["ksql.state.dir"])
    scheme, colon, _ = folder.partition(":")
    if not colon or scheme == "file" or "/" in scheme:
        return ()
    if scheme in ("s3", "s3n"):
        reason = "Hadoop's scheme for S3 is s3a"
        raise KsqlError("PROPERTY_INVALID", name="ksql.state.dir", value=folder, reason=reason)
    return (scheme,)


def begin_spark(
    config: Config, data_dir: Path, process: SparkProcess | None, lifecycle: Lifecycle
) -> tuple[SparkProcess, SparkStart]:
    """Start Spark without waiting for it.

    Args:
        config: the server's.
        data_dir: the server's.
        process: a running process to use instead, which stays running.
        lifecycle: the engine's.

    Raises:
        KsqlError: PROPERTY_INVALID.
    """

    def limit_s() -> float:
        return float(config["ksql.statement.timeout.ms"]) / 1000

    if process is not None:
        return process, SparkStart(lambda: None, limit_s, lifecycle.is_stopping)
    spark = SparkProcess(
        data_dir / "spark",
        memory=memory.heap(config),
        master=str(config["ksql.spark.master"]),
        settings={
            **function_limits(config),
            "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB": str(memory.cached_blocks(config)),
            **{f"spark.hadoop.{name}": value for name, value in config.with_prefix("fs.").items()},
            **config.with_prefix("spark."),
        },
        file_systems=file_systems(config),
        start_timeout_s=float(config["ksql.spark.start.timeout.ms"]) / 1000,
    )
    lifecycle.on_stop(spark.stop)
    lifecycle.kills(spark.end)

    def start() -> None:
        lifecycle.report("starting Spark")
        spark.restart(lifecycle.report)
        if lifecycle.is_stopping():  # stop() may have been called before there was anything to stop
            spark.stop()

    starting = SparkStart(start, limit_s, lifecycle.is_stopping, lifecycle.report)
    starting.begin()
    return spark, starting


def create_watchers(
    spark: SparkProcess,
    starting: SparkStart,
    queries: QueryManager,
    restarted: Callable[[], None],
    lifecycle: Lifecycle,
    restart: Callable[[str], None],
) -> Sequence[SparkSupervisor | ClockMonitor | PeriodicTask]:
    """The watchers of our own Spark process, once started: its exit, the wall clock, its heap.

    Args:
        spark: the process.
        starting: starts it.
        queries: on it.
        restarted: called with a new process, before queries start on it.
        lifecycle: the engine's.
        restart: replaces the whole server, and does not return; returns where nobody can do that.
    """
    lifecycle.on_stop(spark.kill_if_frozen)  # otherwise queries could not be stopped
    supervisor = SparkSupervisor(spark, starting, queries, restarted)

    def set_back(seconds: float) -> None:
        restart(f"the clock was set back by {seconds:.0f} s")
        supervisor.clock_set_back(seconds)

    clock = ClockMonitor(set_back)
    heap = HeapMonitor(queries.runs, spark.heap, spark.collect_garbage)
    watchers = (supervisor, clock, PeriodicTask("heap-watch", LOOK_EVERY_S, heap.look))
    for watcher in watchers:
        lifecycle.on_stop(watcher.close)
    return watchers


def state_folder(config: Config, data_dir: Path, spark: SparkProcess) -> Folder:
    """The folder for the state of queries.

    Raises:
        KsqlError: PROPERTY_INVALID, STATE_DIR_UNUSABLE.
    """
    location = str(config["ksql.state.dir"])
    if not location:
        return LocalFolder(data_dir / "checkpoints")
    if not file_systems(config):
        is_uri = location.startswith("file:")
        path = urllib.parse.unquote(urllib.parse.urlsplit(location).path) if is_uri else location
        return LocalFolder(Path(path).expanduser().absolute())
    folder = HadoopFolder(location, lambda: spark.running_session)
    probe = f".{folder_id(data_dir)}"
    try:
        folder.write(probe, "")
        folder.forget(probe)
    except OSError as error:
        raise KsqlError("STATE_DIR_UNUSABLE", uri=location, reason=error) from error
    return folder


def scratch_folder(config: Config, data_dir: Path, state: Folder) -> Folder:
    """The folder for the checkpoints of push queries, which end with this server.

    Args:
        config: the server's.
        data_dir: the server's.
        state: the folder of the state of queries.
    """
    is_far = not master.is_on_this_machine(str(config["ksql.spark.master"]))
    if is_far and config["ksql.state.dir"]:  # executors cannot reach the data folder
        return state.sub(f"push-{folder_id(data_dir)}")
    return LocalFolder(data_dir / "checkpoints")
