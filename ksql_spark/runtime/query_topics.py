"""The topics of a query, which others may delete, make again or shorten, also while no server runs.

Kafka gives each topic an id. The ids that a query has seen are noted beside its checkpoints, so a topic that
was made again is recognized, although it has the old name and perhaps more records than the old one. Offsets
of the old topic mean nothing in the new one: the query goes on at its beginning, with the state that it has.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ksql_spark.errors import KsqlError
from ksql_spark.folders import Folder
from ksql_spark.kafka.admin import KafkaAdmin, Partition
from ksql_spark.physical.steps import PhysicalPlan
from ksql_spark.runtime import exactly_once
from ksql_spark.runtime.checkpoints import Checkpoint

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
class _Known:
    """What is noted: ids by topic; of the sink its partitions, replicas and configuration."""

    ids: Mapping[str, str] = field(default_factory=dict)
    sink: Mapping[str, Any] = field(default_factory=dict)


class QueryTopics:
    """The topics of one query, from one of its starts to the next.

    Args:
        admin: of the cluster.
        folder: of the query's checkpoints.
        plan: what it runs.
    """

    def __init__(self, admin: KafkaAdmin, folder: Folder, plan: PhysicalPlan) -> None:
        self._admin = admin
        self._folder = folder
        self._plan = plan
        #: what was noted when it was last looked at
        self._known: _Known | None = None
        self.sources = tuple(dict.fromkeys(source.topic for source in plan.sources))
        self.internal = tuple(stage.sink.topic for stage in plan.inner)

    @property
    def names(self) -> tuple[str, ...]:
        """All its topics."""
        return tuple(dict.fromkeys((*self.sources, *self.internal, self._plan.sink.topic)))

    def missing(self, there: Mapping[str, str]) -> list[str]:
        """The sources that do not exist; ``there``: ids of the topics that exist, by name."""
        return [name for name in self.sources if name not in there]

    def changed(self, there: Mapping[str, str]) -> list[str]:
        """The topics that have gone, or were made again, since the query was started; ``there`` as above."""
        try:
            known = (self._known or self._read()).ids
        except (OSError, KsqlError):  # the store is away, or Spark; it will be looked at again
            return []
        return [name for name in self.names if name in known and there.get(name) != known[name]]

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
            KsqlError: SOURCE_TOPIC_DELETED; DATA_LOST where losses are not accepted; as KafkaAdmin.
            OSError: the note cannot be read or written.
        """
        there = self._admin.topic_ids(self.names)
        if missing := self.missing(there):
            raise KsqlError("SOURCE_TOPIC_DELETED", topic=missing[0])
        known, sink = self._read(), self._plan.sink.topic
        losses = []
        for name in self.names:
            if name in known.ids and there.get(name) != known.ids[name]:
                how = "was deleted" if name not in there else "was deleted and made again"
                what = f"Its results before that are gone: topic {name}" if name == sink else f"Topic {name}"
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
            there = self._admin.topic_ids(self.names)
        if dict(there) != dict(known.ids):
            self._write(_Known(there, known.sink or self._described(sink)))
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

    def _read(self) -> _Known:
        """What is noted; nothing where the note is damaged, since it can be made anew.

        Raises:
            OSError: it cannot be read now.
            KsqlError: SPARK_RESTARTING, NOT_READY, where Spark reads it.
        """
        try:
            noted: Any = json.loads(self._folder.read(_NOTE))
            self._known = _Known(dict(noted["ids"]), dict(noted["sink"]))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return _Known()
        return self._known

    def _write(self, known: _Known) -> None:
        self._folder.write(_NOTE, json.dumps({"ids": dict(known.ids), "sink": dict(known.sink)}))
        self._known = known


def _of_one(offsets: Mapping[Partition, int]) -> dict[str, int]:
    """Offsets of one topic, as Spark writes them."""
    return {str(partition): offset for (_, partition), offset in offsets.items()}


def all_names(topics: Sequence[QueryTopics]) -> list[str]:
    """The topics of several queries, each once."""
    return list(dict.fromkeys(name for each in topics for name in each.names))


__all__ = ["Loss", "QueryTopics", "all_names"]
