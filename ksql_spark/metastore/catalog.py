"""The metastore of a server, and the copy of it that queries read."""

from __future__ import annotations

from collections.abc import Mapping

from ksql_spark.functions.spec import Spec
from ksql_spark.metastore.store import MetaStore


class Catalog:
    """A server's metastore, which statements change one by one, and its published copy.

    Readers and writers of ``metastore`` hold the lock of statements. ``published`` is the state after the
    last statement. It never changes, so queries read it without a lock.
    """

    def __init__(self) -> None:
        self.metastore = MetaStore()
        self.published = MetaStore()

    def publish(self) -> None:
        """Make the current metastore visible to queries."""
        self.published = self.metastore.copy()

    def functions(self) -> Mapping[str, Spec]:
        """The user functions of the metastore, by name."""
        return self.metastore.functions()

    def published_functions(self) -> Mapping[str, Spec]:
        """The user functions that queries see, by name."""
        return self.published.functions()
