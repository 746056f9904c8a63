"""Spark's master: tasks run in the JVM of the driver, or in executors of a cluster.

With a cluster our Java classes and Spark's connectors reach the executors as ``spark.jars``, and
ClusterPlugin.java connects their JVMs with that of the driver.
"""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from ksql_spark.errors import KsqlError
from ksql_spark.spark import jvm

#: task slots of a local master that says nothing about them: a slot is a thread, and idle ones cost nothing
LOCAL_SLOTS = 512
PLUGIN = "org.ksqlspark.cluster.ClusterPlugin"
#: Spark's limit of what all tasks of a batch hand back to the driver
MAX_RESULTS = "spark.driver.maxResultSize"
#: the script that starts executors on this machine. Spark gives them two options about modules that we do not
#: use, and a JVM with an incubator module takes no archive of linked classes
_JAVA = """#!/bin/sh
for option; do
  shift
  case $option in
    --add-modules=jdk.incubator.vector | --add-opens=java.security.jgss/*) ;;
    *) set -- "$@" "$option" ;;
  esac
done
exec {binary} "$@"
"""
#: how long executors may take to come up
EXECUTORS_S = 120.0
#: pause between two looks whether they are there
_POLL_S = 0.1


def is_local(master: str) -> bool:
    """Whether tasks run in the driver's JVM."""
    return re.fullmatch(r"local(\[[^\]]*\])?", master) is not None


def is_on_this_machine(master: str) -> bool:
    """Whether executors are here as well, as child processes of the driver."""
    return is_local(master) or master.startswith("local-cluster[")


def url(master: str) -> str:
    """Spark's URL of a master; ``local`` and ``local[*]`` have LOCAL_SLOTS."""
    return f"local[{LOCAL_SLOTS}]" if master in ("local", "local[*]") else master


def settings(
    master: str,
    jars: Sequence[Path],
    java_options: Sequence[str],
    memory: str,
    own: Mapping[str, str],
    *,
    class_path: Sequence[Path] = (),
    archive_options: Sequence[str] = (),
) -> dict[str, str]:
    """Settings of a session, besides those of every session.

    Args:
        master: as in Spark's ``--master``.
        jars: what executors need besides Spark's own jars.
        java_options: what their JVMs need.
        memory: the heap of the driver's JVM, as an argument of Java's -Xmx.
        own: settings of the user; lists and options are added to these.
        class_path: that of the driver's JVM, Spark's own jars among it.
        archive_options: Java options that use the archive of the classes of ``class_path``.
    """
    if is_local(master):
        return {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    if is_on_this_machine(master):
        java_options = [*java_options, *(f'"{option}"' for option in archive_options)]  # paths with spaces
    options = [*java_options, *filter(None, [own.get("spark.executor.extraJavaOptions")])]
    properties = {
        "spark.jars": ",".join([*filter(None, [own.get("spark.jars")]), *(jar.as_uri() for jar in jars)]),
        "spark.plugins": ",".join([*filter(None, [own.get("spark.plugins")]), PLUGIN]),
        "spark.executor.extraJavaOptions": " ".join(options),
        # without it, RocksDB's allocations get a heap for each of the many threads
        "spark.executorEnv.MALLOC_ARENA_MAX": "2",
        # results of queries that are exactly once go through the driver: an error rather than a full heap
        MAX_RESULTS: own.get(MAX_RESULTS, str(_bytes(memory) // 4)),
    }
    if is_on_this_machine(master):
        # an archive of classes serves a class path that begins as its own
        entries = [*map(str, class_path), *filter(None, [own.get("spark.executor.extraClassPath")])]
        properties["spark.executor.extraClassPath"] = os.pathsep.join(entries)
        properties |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return properties


def _bytes(memory: str) -> int:
    """Parse the memory size of Java's -Xmx; return bytes.

    >>> _bytes("2g"), _bytes("512m"), _bytes("1024")
    (2147483648, 536870912, 1024)
    """
    units = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
    unit = units.get(memory[-1:].lower(), 1)
    return int(memory[:-1] if unit > 1 else memory) * unit


def most_results(session: SparkSession) -> int:
    """The most bytes that all tasks of a batch may hand back to the driver; 0: any number."""
    return jvm.bytes_setting(session, MAX_RESULTS)


def environment(master: str, spark_jars: Path, java_home: Path, home: Path) -> dict[str, str]:
    """Return environment variables with which the driver's process can start executors itself.

    Args:
        master: as above.
        spark_jars: the folder of Spark's own jars.
        java_home: of the Java that runs them.
        home: a folder for what executors write; made as a Spark home if they are on this machine.
    """
    if not is_on_this_machine(master):
        return {}
    variables = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost"}
    if not is_local(master):
        scala = re.search(
            r"scala-library-(\d+\.\d+)", " ".join(jar.name for jar in spark_jars.glob("scala-*"))
        )
        assert scala is not None, spark_jars
        home.mkdir(parents=True, exist_ok=True)
        if not (home / "jars").exists():
            (home / "jars").symlink_to(spark_jars)
        java = home / "bin" / "java"
        java.parent.mkdir(exist_ok=True)
        java.write_text(_JAVA.format(binary=shlex.quote(str(java_home / "bin" / "java"))))
        java.chmod(0o755)
        variables |= {
            "SPARK_HOME": str(home),
            "SPARK_SCALA_VERSION": scala[1],
            # unless nothing in this folder may be executed
            "JAVA_HOME": str(home if os.access(java, os.X_OK) else java_home),
        }
    return variables


def await_executors(
    session: SparkSession, report: Callable[[str], None], timeout_s: float = EXECUTORS_S
) -> None:
    """Wait until there are executors.

    Raises:
        KsqlError: SPARK_NO_EXECUTORS.
    """
    deadline = time.monotonic() + timeout_s
    while (slots := jvm.task_slots(session)) == 0:
        if time.monotonic() >= deadline:
            raise KsqlError("SPARK_NO_EXECUTORS", master=session.sparkContext.master, seconds=int(timeout_s))
        time.sleep(_POLL_S)
    report(f"Spark has {slots} task slots at {session.sparkContext.master}")
