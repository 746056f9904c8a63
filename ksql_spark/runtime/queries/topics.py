"""The topics of a query, which others may delete, recreate, truncate or extend at any time.

Kafka gives each topic an id. The ids that a query has seen are recorded beside its checkpoints, so a
recreated topic is recognized although it has the old name and perhaps more records than the old one. Offsets
of the old topic mean nothing in the new one: the query continues at its beginning, with its existing state.

With another number of partitions, keys move to other partitions, but their state stays where it was. A query
that relies on the location of keys then stops; a rebuild repartitions rows by key from the beginning.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ksql_spark import topic_patterns
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin, Partition, TopicIdentity
from ksql_spark.plan.distribution import distribution
from ksql_spark.plan.stages import Plan
from ksql_spark.runtime.queries import exactly_once
from ksql_spark.runtime.queries.checkpoints import Checkpoint, Offsets
from ksql_spark.storage import Folder

#: the file with the recorded ids
_NOTE = "topics.json"
#: the configuration that a recreated sink keeps
_KEPT = ("cleanup.policy", "retention.ms", "retention.bytes", "max.message.bytes", "min.insync.replicas")


@dataclass(frozen=True)
class Loss:
    """A topic whose records a query has lost; ``text``: what has happened, in one sentence."""

    topic: str
    text: str


@dataclass(frozen=True)
class NotedTopics:
    """The recorded facts about a query's topics, which must still hold when it resumes.

    Args:
        ids: Kafka's, by topic.
        sink: partitions, replicas and configuration of the sink.
        scattered: topics whose number of partitions has changed: records of one key may be in several.
    """

    ids: Mapping[str, str] = field(default_factory=dict)
    sink: Mapping[str, Any] = field(default_factory=dict)
    scattered: tuple[str, ...] = ()


class QueryTopics:
    """The topics of one query, from one start to the next.

    Args:
        admin: of the cluster.
        folder: of the query's checkpoints.
        query_id: the query's id.
        plan: what it runs.
        partitions: the number of partitions of each topic when the query was planned.
        starts: where it began.
    """

    def __init__(
        self,
        admin: KafkaAdmin,
        folder: Folder,
        query_id: str,
        plan: Plan,
        partitions: Mapping[str, int],
        starts: Offsets,
    ) -> None:
        self._starts = starts
        self._admin = admin
        self._folder = folder
        self._id = query_id
        self._plan = plan
        self._partitions = partitions
        #: the record of the last check
        self._note: NotedTopics | None = None
        self.sources = tuple(dict.fromkeys(source.topic for source in plan.sources))
        self.patterns = [topic for topic in self.sources if topic_patterns.pattern_of(topic) is not None]
        self.internal = tuple(stage.sink.topic for stage in plan.inner)

    @property
    def names(self) -> tuple[str, ...]:
        """All its topics, also the topics that its patterns have found."""
        matching = self.matching(self._note.ids if self._note is not None else ())
        return tuple(dict.fromkeys((*self.sources, *matching, *self.internal, self._plan.sink.topic)))

    def matching(self, there: Iterable[str]) -> list[str]:
        """Return the topics among ``there`` that match the patterns of the query's sources."""
        return [name for topic in self.patterns for name in topic_patterns.names(topic, there)]

    def missing(self, there: Mapping[str, TopicIdentity]) -> list[str]:
        """The sources that do not exist; ``there``: the existing topics."""
        return [name for name in self.sources if name not in there and name not in self.patterns]

    def note_new_matches(self, there: Mapping[str, TopicIdentity]) -> list[str]:
        """Record the topics that patterns have found since the last record, and return them; ``there`` as
        above.

        Raises:
            OSError, KsqlError: the note cannot be read or written.
        """
        if not self.patterns:
            return []
        noted = self._note or self._read()
        new = [name for name in self.matching(there) if name not in noted.ids]
        if new:
            self.note(replace(noted, ids={**noted.ids, **{name: there[name].id for name in new}}))
        return new

    def changed(self, there: Mapping[str, TopicIdentity]) -> list[str]:
        """The topics that have been deleted or recreated since the query was started; ``there`` as above."""
        try:
            ids = (self._note or self._read()).ids
        except (OSError, KsqlError):  # the store or Spark is unavailable; the next check follows
            return []
        return [name for name in self.names if name in ids and _id(there, name) != ids[name]]

    @property
    def scattered(self) -> tuple[str, ...]:
        """The topics with records of one key in several partitions.

        The query takes their records in the order of times, and repartitions them by key.

        Raises:
            OSError, KsqlError: the record cannot be read.
        """
        return (self._note or self._read()).scattered

    def noted_for_rebuild(self, there: Mapping[str, TopicIdentity]) -> NotedTopics:
        """Return the facts that stay recorded after the state is removed: the sink, and the sources whose
        number of partitions has changed.

        Args:
            there: the existing topics.

        Raises:
            OSError, KsqlError: the note cannot be read.
        """
        noted, sink = self._read(), self._plan.sink.topic
        ids = {name: id_ for name, id_ in noted.ids.items() if name == sink}
        return NotedTopics(ids, noted.sink, self._scattered(noted, there))

    def _scattered(self, noted: NotedTopics, there: Mapping[str, TopicIdentity]) -> tuple[str, ...]:
        moved = [name for name in self.sources if name in there and self._has_other_count(there, name)]
        return tuple(sorted({*noted.scattered, *moved}))

    def forget(self, sink: str) -> None:
        """Forget a topic that the query no longer writes; the next check notes the one that it writes now.

        Raises:
            OSError, KsqlError: the note cannot be read or written.
        """
        noted = self._read()
        ids = {name: id_ for name, id_ in noted.ids.items() if name != sink}
        self.note(replace(noted, ids=ids, sink={}))

    def note(self, noted: NotedTopics) -> None:
        """Write the note.

        Raises:
            OSError, KsqlError: it cannot be written.
        """
        self._folder.write(_NOTE, json.dumps(asdict(noted)))
        self._note = noted

    def check_partitions(self, there: Mapping[str, TopicIdentity]) -> None:
        """Make sure that keys are where the query looks for their state.

        Args:
            there: the existing topics.

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
        placed = [
            stage.topics
            for stage in self._plan.stages
            if (how := distribution(stage, self._partitions, scattered)) is not None and how.is_co_partitioned
        ]
        return list(dict.fromkeys(topic for topics in placed for topic in topics))

    def _has_other_count(self, there: Mapping[str, TopicIdentity], name: str) -> bool:
        return name in self._partitions and there[name].partitions != self._partitions[name]

    def fit(self, *, accepts_loss: bool, sink_partitions: int, checks_ends: bool = False) -> list[Loss]:
        """Adapt the query to its topics and record them. The query must not be running.

        A deleted sink is recreated. The query will read a recreated source from its beginning, and a
        truncated one from its new end.

        Args:
            accepts_loss: whether the query may continue after losing records.
            sink_partitions: the sink's number of partitions if nothing is recorded.
            checks_ends: whether to look for topics that have lost their end.

        Returns:
            the losses.

        Raises:
            KsqlError: SOURCE_TOPIC_DELETED; DATA_LOST where losses are not accepted; as check_partitions();
                as KafkaAdmin.
            OSError: the note cannot be read or written.
        """
        noted, sink = self._read(), self._plan.sink.topic
        there = self._admin.identities(self.names)
        if missing := self.missing(there):
            raise KsqlError("SOURCE_TOPIC_DELETED", topic=missing[0])
        self.check_partitions(there)
        losses = []
        for name in self.names:
            if name in noted.ids and _id(there, name) != noted.ids[name]:
                how = "was deleted" if name not in there else "was deleted and recreated"
                what = f"Its earlier results are gone: topic {name}" if name == sink else f"Topic {name}"
                losses.append(Loss(name, f"{what} {how}."))
        lost = {loss.topic for loss in losses}
        moves = [
            # a topic that a pattern found may be gone for good
            (number, name, _of_one(self._admin.beginning_offsets(name)) if name in there else {})
            for number, stage in enumerate(self._plan.stages)
            for topic in stage.topics
            for name in topic_patterns.names(topic, lost)
        ]
        if checks_ends:
            for number, topic, ends in self._shortened(lost):
                losses.append(Loss(topic, f"Topic {topic} has lost its last records."))
                moves.append((number, topic, ends))
        if losses and not accepts_loss:
            raise KsqlError("DATA_LOST", what=" ".join(loss.text for loss in losses))
        for number in {number for number, *_ in moves}:  # a visible batch counts as read
            exactly_once.settle(self._admin, self._plan.stages[number], Checkpoint(self._folder, number))
        for number, topic, offsets in moves:
            Checkpoint(self._folder, number).move(topic, offsets)
        if sink not in there and sink in noted.ids:
            recorded = noted.sink or {"partitions": sink_partitions, "replicas": -1, "config": {}}
            self._admin.create_topic(sink, recorded["partitions"], recorded["replicas"], recorded["config"])
            there = {**there, **self._admin.identities([sink])}
        ids = {name: topic.id for name, topic in there.items()}
        scattered = self._scattered(noted, there)
        if (ids, scattered) != (dict(noted.ids), noted.scattered):
            self.note(NotedTopics(ids, noted.sink or self._described(sink), scattered))
        return losses

    def _shortened(self, lost: Collection[str]) -> Iterator[tuple[int, str, dict[str, int]]]:
        """The sub-topologies that are beyond the end of a topic that is not ``lost``, and that end."""
        for number, stage in enumerate(self._plan.stages):
            position = Checkpoint(self._folder, number).position(self._starts)
            read = {name for topic in stage.topics for name in topic_patterns.names(topic, position)}
            for topic in (name for name in read - set(lost) if position[name]):
                ends = _of_one(self._admin.end_offsets(topic))
                reached = {p: min(offset, ends.get(p, offset)) for p, offset in position[topic].items()}
                if reached != position[topic]:
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
        """The record; empty if it is damaged, because it can be recreated.

        Raises:
            OSError: it cannot be read now.
            KsqlError: SPARK_RESTARTING, NOT_READY, where Spark reads it.
        """
        try:
            noted: Any = json.loads(self._folder.read(_NOTE))
            scattered = tuple(noted.get("scattered", ()))
            self._note = NotedTopics(dict(noted["ids"]), dict(noted["sink"]), scattered)
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return NotedTopics()
        return self._note


def _id(there: Mapping[str, TopicIdentity], name: str) -> str | None:
    return there[name].id if name in there else None


def _of_one(offsets: Mapping[Partition, int]) -> dict[str, int]:
    """Offsets of one topic, as Spark writes them."""
    return {str(partition): offset for (_, partition), offset in offsets.items()}


def all_names(topics: Sequence[QueryTopics]) -> list[str]:
    """The topics of several queries, each once."""
    return list(dict.fromkeys(name for each in topics for name in each.names))


__all__ = ["Loss", "NotedTopics", "QueryTopics", "all_names"]
