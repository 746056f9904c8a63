"""The port to a Connect cluster: one that a property names, or none; the embedded worker is a third kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ksql_spark.connect.client import ConnectClient
from ksql_spark.errors import KsqlError


class ConnectCluster(Protocol):
    """A Connect cluster. Calls may take seconds."""

    def client(self) -> ConnectClient:
        """Its client; a worker that is started only when it is needed is started first.

        Raises:
            KsqlError: CONNECT_MISSING; CONNECT_FAILED: a worker of ours could not be started, or has ended
                and is being started again.
        """

    def address(self) -> str | None:
        """Where it answers now; None: there is none, or a worker of ours is not started."""

    def is_in_use(self) -> bool:
        """Whether there may be connectors; asking starts nothing."""

    def problem(self) -> str | None:
        """Why a worker of ours does not run although it should; None: it runs, or nothing has needed it."""

    def last_seen(self) -> Mapping[str, Any]:
        """What was last heard of the connectors of a worker that has ended: name -> info, as in
        ConnectClient.connectors(); empty for clusters of others.
        """

    def complaints(self) -> Mapping[str, str]:
        """What the log of a worker of ours said lately of connectors that cannot do their work: name ->
        message or Java stack trace; empty for clusters of others.
        """

    def worker_properties(self) -> Mapping[str, str]:
        """The properties in the file that configures a worker of ours; empty for clusters of others."""

    def completed(self, kind: str, config: Mapping[str, str]) -> dict[str, str]:
        """``config`` with what this cluster needs besides, for a new connector of a kind (SOURCE, SINK)."""


@dataclass(frozen=True)
class ConfiguredConnect:
    """A cluster that somebody else runs."""

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
    """No cluster: every statement about connectors is refused."""

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
