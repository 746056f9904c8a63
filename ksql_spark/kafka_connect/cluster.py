"""The port to a Connect cluster: one that a property names, or none; the embedded worker is a third kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ksql_spark.errors import KsqlError
from ksql_spark.kafka_connect.client import ConnectClient


class ConnectCluster(Protocol):
    """A Connect cluster. Calls may take seconds."""

    def client(self) -> ConnectClient:
        """Return the cluster's client; starts an on-demand worker first.

        Raises:
            KsqlError: CONNECT_MISSING; CONNECT_FAILED: a worker of ours did not start, or is restarting.
        """

    def address(self) -> str | None:
        """The cluster's current address; None if there is none, or a worker of ours has not started."""

    def is_in_use(self) -> bool:
        """Whether there may be connectors; does not start anything."""

    def problem(self) -> str | None:
        """The reason why a worker of ours should be running but is not; None if there is none."""

    def last_seen(self) -> Mapping[str, Any]:
        """The last known connectors of a worker that has exited: name -> info, as in
        ConnectClient.connectors(); empty for external clusters.
        """

    def complaints(self) -> Mapping[str, str]:
        """Recent complaints in the log of a worker of ours about connectors that cannot do their work: name
        -> message or Java stack trace; empty for external clusters.
        """

    def worker_properties(self) -> Mapping[str, str]:
        """The properties in the file that configures a worker of ours; empty for external clusters."""

    def completed(self, kind: str, config: Mapping[str, str]) -> dict[str, str]:
        """``config`` for a new connector of a kind (SOURCE, SINK), with this cluster's own settings."""


@dataclass(frozen=True)
class ConfiguredConnect:
    """An external cluster."""

    connect: ConnectClient

    def client(self) -> ConnectClient:
        """See ConnectCluster."""
        return self.connect

    def address(self) -> str | None:
        """See ConnectCluster."""
        return self.connect.url

    def is_in_use(self) -> bool:
        """See ConnectCluster."""
        return True

    def problem(self) -> str | None:
        """See ConnectCluster."""
        return None

    def last_seen(self) -> Mapping[str, Any]:
        """See ConnectCluster."""
        return {}

    def complaints(self) -> Mapping[str, str]:
        """See ConnectCluster."""
        return {}

    def worker_properties(self) -> Mapping[str, str]:
        """See ConnectCluster."""
        return {}

    def completed(self, kind: str, config: Mapping[str, str]) -> dict[str, str]:
        """See ConnectCluster."""
        return dict(config)


class NoConnect:
    """The absence of a cluster: every statement about connectors is refused."""

    def client(self) -> ConnectClient:
        """See ConnectCluster."""
        raise KsqlError("CONNECT_MISSING")

    def address(self) -> str | None:
        """See ConnectCluster."""
        return None

    def is_in_use(self) -> bool:
        """See ConnectCluster."""
        return False

    def problem(self) -> str | None:
        """See ConnectCluster."""
        return None

    def last_seen(self) -> Mapping[str, Any]:
        """See ConnectCluster."""
        return {}

    def complaints(self) -> Mapping[str, str]:
        """See ConnectCluster."""
        return {}

    def worker_properties(self) -> Mapping[str, str]:
        """See ConnectCluster."""
        return {}

    def completed(self, kind: str, config: Mapping[str, str]) -> dict[str, str]:
        """See ConnectCluster."""
        return dict(config)
