"""Ownership of the state directory, which belongs to one service id on one Kafka cluster.

Ids of queries and checkpoints are only meaningful there. Another service that used the directory would resume
from state that is not its own, and remove what it does not know.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from ksql_spark.errors import KsqlError
from ksql_spark.storage import Folder

#: the file in the directory that names its owner
OWNER_FILE = ".owner.json"


@dataclass(frozen=True)
class StateOwner:
    """A service: the id of its Kafka cluster, and its ksql.service.id."""

    kafka_cluster_id: str
    service_id: str


def claim(folder: Folder, owner: StateOwner) -> None:
    """Record the owner in the directory, unless it already has one.

    Raises:
        KsqlError: STATE_DIR_IN_USE, it belongs to another service; STATE_DIR_UNUSABLE.
    """
    try:
        existing = _owner(folder)
        if existing is None:
            folder.write(OWNER_FILE, json.dumps(asdict(owner)))
    except OSError as error:
        raise KsqlError("STATE_DIR_UNUSABLE", uri=folder, reason=error) from error
    if existing not in (None, owner):
        raise KsqlError(
            "STATE_DIR_IN_USE",
            uri=folder,
            id=existing.service_id,
            cluster=existing.kafka_cluster_id,
            file=OWNER_FILE,
        )


def _owner(folder: Folder) -> StateOwner | None:
    """The recorded owner; None if there is none, or the file is unreadable."""
    try:
        return StateOwner(**json.loads(folder.read(OWNER_FILE)))
    except (FileNotFoundError, ValueError, TypeError):
        return None
