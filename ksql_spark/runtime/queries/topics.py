"""The topics of a query, which others may delete, make again, shorten or give more partitions at any time.

Kafka gives each topic an id. The ids that a query has seen are noted beside its checkpoints, so a topic that
was made again is recognized, although it has the old name and perhaps more records than the old one. Offsets
of the old topic mean nothing in the new one: the query goes on at its beginning, with the state that it has.

With another number of partitions, keys move to other partitions, but their state stays where it was. A query
that relies on where keys are then stops; a rebuild repartitions rows by key from the beginning.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin, Partition, TopicIdentity
from ksql_spark.physical.distribution import distribution
from ksql_spark.physical.steps import PhysicalPlan
from ksql_spark.runtime.queries import exactly_once
from ksql_spark.runtime.queries.checkpoints import Checkpoint
from ksql_spark.storage import Folder

#: the file with what is noted
_NOTE = "topics.json"
#: what a sink has again that is made again
_KEPT = ("cleanup.policy", "retention.ms", "retention.bytes", "max.message.bytes", "min.insync.replicas")


@dataclass(frozen=True)
class Loss:
    """A topic whose records are lost for a query; ``text``: what has happened, in one sentence."""

    topic: str
    text: str


@dataclass(frozen=True)
class NotedTopics:
    """What is noted of a query's topics.

    Args:
        ids: Kafka's, by topic.
        sink: partitions, replicas and configuration of the sink.
        scattered: topics whose number of partitions has changed: records of one key may be in several.
    """

    ids: Mapping[str, str] = field(default_factory=dict)
    sink: Mapping[str, Any] = field(default_factory=dict)
    scattered: tuple[str, ...] = ()


class QueryTopics:
    """The topics of one query, from one of its starts to the next.

    Args:
        admin: of the cluster.
        folder: of the query's checkpoints.
        query_id: the query's id.
        plan: what it runs.
        partitions: how many partitions each of its topics had when it was planned.
    """

    def __init__(
        self,
        admin: KafkaAdmin,
        folder: Folder,
        query_id: str,
        plan: PhysicalPlan,
        partitions: Mapping[str, int],
    ) -> None:
        self._admin = admin
        self._folder = folder
        self._id = query_id
        self._plan = plan
        self._partitions = partitions
        #: what was noted when it was last looked at
        self._known: NotedTopics | None = None
        self.sources = tuple(dict.fromkeys(source.topic for source in plan.sources))
        self.internal = tuple(stage.sink.topic for stage in plan.inner)

    @property
    def names(self) -> tuple[str, ...]:
        """All its topics."""
        return tuple(dict.fromkeys((*self.sources, *self.internal, self._plan.sink.topic)))

    def missing(self, there: Mapping[str, TopicIdentity]) -> list[str]:
        """The sources that do not exist; ``there``: the topics that exist."""
        return [name for name in self.sources if name not in there]

    def changed(self, there: Mapping[str, TopicIdentity]) -> list[str]:
        """The topics that have gone, or were made again, since the query was started; ``there`` as above."""
        try:
            known = (self._known or self._read()).ids
        except (OSError, KsqlError):  # the store is away, or Spark; it will be looked at again
            return []
        return [name for name in self.names if name in known and _id(there, name) != known[name]]

    @property
    def scattered(self) -> tuple[str, ...]:
        """The topics that have records of one key in several partitions, which the query repartitions by key.

        Raises:
            OSError, KsqlError: the note cannot be read.
        """
        return (self._known or self._read()).scattered

    def noted_for_rebuild(self, there: Mapping[str, TopicIdentity]) -> NotedTopics:
        """What stays noted once the state is removed: the sink, and the sources with other partitions now.

        Args:
            there: the topics that exist.

        Raises:
            OSError, KsqlError: the note cannot be read.
        """
        known, sink = self._read(), self._plan.sink.topic
        moved = [name for name in self.sources if name in there and self._has_other_count(there, name)]
        ids = {name: id_ for name, id_ in known.ids.items() if name == sink}
        return NotedTopics(ids, known.sink, tuple(sorted({*known.scattered, *moved})))

    def note(self, known: NotedTopics) -> None:
        """Write the note.

        Raises:
            OSError, KsqlError: it cannot be written.
        """
        self._folder.write(_NOTE, json.dumps(asdict(known)))
        self._known = known

    def check_partitions(self, there: Mapping[str, TopicIdentity]) -> None:
        """Make sure that keys are where the query looks for their state.

        Args:
            there: the topics that exist.

        Raises:
            KsqlError: PARTITIONS_CHANGED, SINK_PARTITIONS_CHANGED; the note cannot be read.
            OSError: as above.
        """
        sink = self._plan.sink
        for name in [*self._placed(), *([sink.topic] if sink.is_table else [])]:
            if name in there and self._has_other_count(there, name):
                condition = "SINK_PARTITIONS_CHANGED" if name == sink.topic else "PARTITIONS_CHANGED"
                before, now = self._partitions[name], there[name].partitions
                raise KsqlError(condition, topic=name, before=before, now=now, id=self._id)

    def _placed(self) -> list[str]:
        """The topics whose keys have their state in the task that reads their partition."""
        scattered = self.scattered
        hows = [
            distribution(self._plan, number, self._partitions, scattered)
            for number, _ in enumerate(self._plan.stages)
        ]
        placed = [
            stage.topics
            for stage, how in zip(self._plan.stages, hows, strict=True)
            if how is not None and how.is_co_partitioned
        ]
        return list(dict.fromkeys(topic for topics in placed for topic in topics))

    def _has_other_count(self, there: Mapping[str, TopicIdentity], name: str) -> bool:
        return name in self._partitions and there[name].partitions != self._partitions[name]

    def fit(self, *, accepts_loss: bool, sink_partitions: int, checks_ends: bool = False) -> list[Loss]:
        """Make the query fit its topics as they are now, and note them. The query does not run.

        A sink that has gone is made again. Where a topic that is read was made again, the query will read it
        from its beginning; where it has lost its end, from there on.

        Args:
            accepts_loss: whether the query may go on where records are lost.
            sink_partitions: how many the sink has had when nothing is noted about it.
            checks_ends: whether to look for topics that have lost their end.

        Returns:
            what is lost.

        Raises:
            KsqlError: SOURCE_TOPIC_DELETED; DATA_LOST where losses are not accepted; as check_partitions();
                as KafkaAdmin.
            OSError: the note cannot be read or written.
        """
        there = self._admin.identities(self.names)
        if missing := self.missing(there):
            raise KsqlError("SOURCE_TOPIC_DELETED", topic=missing[0])
        self.check_partitions(there)
        known, sink = self._read(), self._plan.sink.topic
        losses = []
        for name in self.names:
            if name in known.ids and _id(there, name) != known.ids[name]:
                how = "was deleted" if name not in there else "was deleted and recreated"
                what = f"Its earlier results are gone: topic {name}" if name == sink else f"Topic {name}"
                losses.append(Loss(name, f"{what} {how}."))
        lost = {loss.topic for loss in losses}
        moves = [
            (number, topic, _of_one(self._admin.beginning_offsets(topic)))
            for number, stage in enumerate(self._plan.stages)
            for topic in lost.intersection(stage.topics)
        ]
        if checks_ends:
            for number, topic, ends in self._shortened(lost):
                losses.append(Loss(topic, f"Topic {topic} has lost its last records."))
                moves.append((number, topic, ends))
        if losses and not accepts_loss:
            raise KsqlError("DATA_LOST", what=" ".join(loss.text for loss in losses))
        for number in {number for number, *_ in moves}:  # a batch that is visible counts as read
            exactly_once.settle(self._admin, self._plan.stages[number], Checkpoint(self._folder, number))
        for number, topic, offsets in moves:
            Checkpoint(self._folder, number).move(topic, offsets)
        if sink not in there and sink in known.ids:
            made = known.sink or {"partitions": sink_partitions, "replicas": -1, "config": {}}
            self._admin.create_topic(sink, made["partitions"], made["replicas"], made["config"])
            there = self._admin.identities(self.names)
        ids = {name: topic.id for name, topic in there.items()}
        if ids != dict(known.ids):
            self.note(replace(known, ids=ids, sink=known.sink or self._described(sink)))
        return losses

    def _shortened(self, known: Collection[str]) -> Iterator[tuple[int, str, dict[str, int]]]:
        """Which sub-topologies have read beyond the end of a topic that is not ``known``, and that end."""
        for number in range(len(self._plan.stages)):
            committed = Checkpoint(self._folder, number).committed() or {}
            for topic in committed.keys() - known:
                ends = _of_one(self._admin.end_offsets(topic))
                reached = {p: min(offset, ends.get(p, offset)) for p, offset in committed[topic].items()}
                if reached != committed[topic]:
                    yield number, topic, reached

    def _described(self, sink: str) -> dict[str, Any]:
        topic = self._admin.topic(sink)
        if topic is None:
            return {}
        config = self._admin.config(sink)
        return {
            "partitions": topic.partitions,
            "replicas": topic.replicas[0],
            "config": {name: config[name] for name in _KEPT if name in config},
        }

    def _read(self) -> NotedTopics:
        """What is noted; nothing where the note is damaged, since it can be made anew.

        Raises:
            OSError: it cannot be read now.
            KsqlError: SPARK_RESTARTING, NOT_READY, where Spark reads it.
        """
        try:
            noted: Any = json.loads(self._folder.read(_NOTE))
            scattered = tuple(noted.get("scattered", ()))
            self._known = NotedTopics(dict(noted["ids"]), dict(noted["sink"]), scattered)
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return NotedTopics()
        return self._known


def _id(there: Mapping[str, TopicIdentity], name: str) -> str | None:
    return there[name].id if name in there else None


def _of_one(offsets: Mapping[Partition, int]) -> dict[str, int]:
    """Offsets of one topic, as Spark writes them."""
    return {str(partition): offset for (_, partition), offset in offsets.items()}


def all_names(topics: Sequence[QueryTopics]) -> list[str]:
    """The topics of several queries, each once."""
    return list(dict.fromkeys(name for each in topics for name in each.names))


__all__ = ["Loss", "NotedTopics", "QueryTopics", "all_names"]
