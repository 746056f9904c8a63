"""What our Java classes, and the bridge to them, borrow of the private parts of Spark, Hadoop and Kafka.

borrowed.txt has each member, by the class of ours that calls or overrides it; ``BORROWED=write`` rewrites the
file. A failure after an upgrade says which member has gone. Private is what these projects leave out of their
API's documentation, except the rows that Spark hands to data sources and functions.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from ksql_spark.services import artifacts

from .tools import PRODUCT

TABLE = Path(__file__).with_name("borrowed.txt")
PRIVATE = re.compile(
    r"org/apache/(spark/(sql/(execution|internal|classic|kafka010|catalyst/(optimizer|rules|plans|trees|analysis"
    r"|parser|expressions/(?!(Base)?Generic|Specialized|Unsafe)))|shuffle|network|rpc|deploy|internal"
    r"|util/(Utils|ErrorNotifier))|hadoop/(?!conf/|fs/|util/)|kafka/(.*/internals?/|common/utils/))"
)
#: classes of ours that borrow something outside the packages of internals, and why they have to
OUTSIDE = {
    "extension.JarCall": "the settings of a session, in a task",
    "formats.KafkaCodec": "Kafka's hash of keys",
    "kafka.ArchivedRecords": "Kafka has no other class of headers",
    "kafka.CollectedRecords": "Kafka has no other class of headers",
    "kafka.TopicSink": "Kafka has no other class of headers; what a sink for updates has to be",
    "ownership.OwnedFiles": "Spark's setting for checkpoint files takes a class of that interface",
    "python.FunctionCode": "Spark's folder for files",
    "python.PythonFunctions": "the settings of a session, in a task",
    "python.PythonWorker": "rows as Arrow's",
    "registry.RegistryClient": "the settings of a session, in a task",
    "state.AggregateFilters": "as Aggregator",
    "state.Aggregator": "Catalyst's aggregate functions, with buffers that our state keeps",
    "state.LateRows": "projections of Catalyst over a late row",
    "state.MatchRecognize": "as Aggregator",
    "state.Over": "as Aggregator",
    "state.PairCondition": "a predicate of Catalyst over two rows",
    "state.PatternExpressions": "Catalyst's predicates and projections over rows",
    "state.StateFolder": "as OwnedFiles",
    "state.TopN": "Catalyst's order of values",
    "transaction.TransactionalFiles": "as OwnedFiles",
}
#: members that are named by texts, which no compiler sees: of reflection, and of Py4J
BY_NAME = {
    "internals.kafka.MatchedTopics": [
        "org.apache.spark.sql.kafka010.KafkaOffsetReaderAdmin "
        "consumerStrategy:Lorg/apache/spark/sql/kafka010/ConsumerStrategy;"
    ],
    "internals.kafka.ProducerEpoch": [
        "org.apache.kafka.clients.producer.KafkaProducer "
        "transactionManager:Lorg/apache/kafka/clients/producer/internals/TransactionManager;",
        "org.apache.kafka.clients.producer.internals.TransactionManager "
        "producerIdAndEpoch()Lorg/apache/kafka/common/utils/ProducerIdAndEpoch;",
        "org.apache.kafka.clients.producer.internals.TransactionManager "
        "setProducerIdAndEpoch(Lorg/apache/kafka/common/utils/ProducerIdAndEpoch;)V",
    ],
    "internals.task.KeptPlan": [
        "org.apache.spark.sql.internal.SessionState "
        "optimizer:Lorg/apache/spark/sql/catalyst/optimizer/Optimizer;"
    ],
    "internals.state.BeforeCommit": [
        "org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.ttl.TTLState "
        "clearExpiredStateForAllKeys(J)J"
    ],
    "ksql_spark/spark/jvm.py": [
        "org.apache.kafka.clients.producer.internals.BuiltInPartitioner partitionForKey([BI)I",
        "org.apache.spark.SparkContext cancelJobGroupAndFutureJobs(Ljava/lang/String;)V",
        "org.apache.spark.SparkContext maxNumConcurrentTasks(Lorg/apache/spark/resource/ResourceProfile;)I",
        "org.apache.spark.SparkContext "
        "resourceProfileManager()Lorg/apache/spark/resource/ResourceProfileManager;",
        "org.apache.spark.deploy.SparkSubmit main([Ljava/lang/String;)V",
        "org.apache.spark.resource.ResourceProfileManager "
        "defaultResourceProfile()Lorg/apache/spark/resource/ResourceProfile;",
    ],
}
REFLECTION = re.compile(r"getDeclared\w+\(|setAccessible|newProxyInstance|Class\.forName|privateLookupIn")


class ClassFile(NamedTuple):
    """What a class file says (Java Virtual Machine Specification, chapter 4); names have slashes.

    ``members`` and ``used`` are texts: ``name:type`` of fields, ``name(types)type`` of methods.
    """

    parents: list[str]
    members: set[str]
    used: set[tuple[str, str]]


def read(data: bytes) -> ClassFile:
    """Read a class file."""

    def number(at: int, size: int = 2) -> int:
        return int.from_bytes(data[at : at + size])

    pool: dict[int, str | tuple[int, ...]] = {}
    at, index = 10, 1
    while index < number(8):
        match data[at]:
            case 1:
                pool[index] = data[at + 3 : at + 3 + number(at + 1)].decode("utf-8", "replace")
                size = 3 + number(at + 1)
            case 7 | 8 | 16 | 19 | 20:
                pool[index], size = (data[at], number(at + 1)), 3
            case 15:
                size = 4
            case 5 | 6:
                index, size = index + 1, 9
            case _:
                pool[index], size = (data[at], number(at + 1), number(at + 3)), 5
        at, index = at + size, index + 1

    def text(index: int) -> str:
        found = pool[index]
        return found if isinstance(found, str) else text(found[1])

    def member(name: int, kind: int) -> str:
        return text(name) + (text(kind) if text(kind)[0] == "(" else f":{text(kind)}")

    interfaces = [text(number(at + 8 + 2 * i)) for i in range(number(at + 6))]
    parents = [text(number(at + 4)), *interfaces] if number(at + 4) else interfaces
    at += 8 + 2 * len(interfaces)
    members = set()
    for _ in ("fields", "methods"):
        count, at = number(at), at + 2
        for _ in range(count):
            members.add(member(number(at + 2), number(at + 4)))
            attributes, at = number(at + 6), at + 8
            for _ in range(attributes):
                at += 6 + number(at + 2, 4)
    used = set()
    for one in pool.values():
        if isinstance(one, tuple) and one[0] in (9, 10, 11):
            pair = pool[one[2]]
            assert isinstance(pair, tuple)
            used.add((text(one[1]), member(pair[1], pair[2])))
        elif isinstance(one, tuple) and one[0] == 7:
            used.add((text(one[1]).lstrip("[").removeprefix("L").removesuffix(";"), ""))
    return ClassFile(parents, members, used)


@cache
def _jar_of() -> dict[str, zipfile.ZipFile]:
    """Class -> the jar of Spark's that has it; those of Ivy only where they were fetched."""
    jars = [*artifacts.jars("spark"), *sorted(artifacts.pyspark_jars().glob("*.jar"))]
    opened = [zipfile.ZipFile(jar) for jar in reversed(jars)]
    return {name.removesuffix(".class"): jar for jar in opened for name in jar.namelist()}


@cache
def _class(name: str) -> ClassFile | None:
    """A class of Spark's jars; None: there is none."""
    jar = _jar_of().get(name)
    return None if jar is None else read(jar.read(f"{name}.class"))


def _has(name: str, member: str) -> bool:
    """Whether a class, or one that it derives from, has a member."""
    found = _class(name)
    return found is not None and (
        not member or member in found.members or any(_has(parent, member) for parent in found.parents)
    )


def _ancestors(parents: list[str]) -> Iterator[str]:
    for name in parents:
        if (found := _class(name)) is not None:
            yield name
            yield from _ancestors(found.parents)


def _borrowed() -> dict[str, set[str]]:
    """Class of ours -> what it borrows."""
    result = {ours: set(members) for ours, members in BY_NAME.items()}
    with zipfile.ZipFile(artifacts.compile_java(PRODUCT)) as jar:
        for file in (name for name in jar.namelist() if name.endswith(".class")):
            found = read(jar.read(file))
            overridden = {
                (name, member)
                for name in _ancestors(found.parents)
                for member in found.members & _class(name).members  # type: ignore[union-attr]
                if not member.startswith("<") and "(" in member
            }
            # what derives from the JDK's is in no jar
            used = {(owner, member) for owner, member in found.used if _has(owner, member)}
            members = {(owner, member) for owner, member in used | overridden if PRIVATE.match(owner)}
            whole = {owner for owner, member in members if member}
            listed = {f"{o.replace('/', '.')} {m}".strip() for o, m in members if m or o not in whole}
            ours = re.split(r"[$.]", file.removeprefix("org/ksqlspark/"))[0].replace("/", ".")
            result[ours] = result.get(ours, set()) | listed
    return {ours: members for ours, members in result.items() if members}


def _table() -> list[tuple[str, str]]:
    """Class of ours, and a member that it borrows."""
    found, ours = [], ""
    for line in TABLE.read_text(encoding="utf-8").splitlines() if TABLE.exists() else ():
        if line.startswith("  "):
            found.append((ours, line.strip()))
        elif line:
            ours = line.removesuffix(":")
    return found


@pytest.mark.parametrize("ours, borrowed", _table(), ids=lambda text: text)
def test_a_borrowed_member_is_there(ours: str, borrowed: str) -> None:
    owner, _, member = borrowed.partition(" ")
    name = owner.replace(".", "/")
    if re.match(r"org/apache/(kafka/|spark/sql/kafka010/)", name) and name not in _jar_of():
        pytest.skip("the jars of Ivy were not fetched")
    assert _has(name, member), f"{ours} borrows it"


@pytest.mark.spark
def test_what_is_borrowed_is_in_the_table() -> None:
    found = _borrowed()
    if os.environ.get("BORROWED") == "write":
        parts = ("\n  ".join([f"{ours}:", *sorted(found[ours])]) for ours in sorted(found))
        TABLE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    listed = _table()
    assert {ours: {member for name, member in listed if name == ours} for ours, _ in listed} == found


def test_borrowing_is_done_in_one_place() -> None:
    outside = {ours for ours, _ in _table() if not ours.startswith(("internals.", "ksql_spark/"))}
    assert outside == OUTSIDE.keys()


def test_only_internals_use_reflection() -> None:
    folder = PRODUCT / "org" / "ksqlspark"
    for file in folder.rglob("*.java"):
        # the package extension looks at the classes of users
        if file.relative_to(folder).parts[0] not in ("internals", "extension"):
            assert not REFLECTION.search(file.read_text(encoding="utf-8")), file
