"""The metastore of a server, and the copy of it that queries read."""

from __future__ import annotations

from collections.abc import Mapping

from ksql_spark.functions.spec import Spec
from ksql_spark.metastore.store import MetaStore


class Catalog:
    """The metastore, which statements change one after the other, and its published copy.

    Whoever reads or changes ``metastore`` holds the lock of statements. ``published`` is as the last
    statement left it. It never changes, so queries read it without a lock.
    """

    def __init__(self) -> None:
        self.metastore = MetaStore()
        self.published = MetaStore()

    def publish(self) -> None:
        """Let queries see the metastore as it is now."""
        self.published = self.metastore.copy()

    def functions(self) -> Mapping[str, Spec]:
        """The user functions of the metastore, by name."""
        return self.metastore.functions()

    def published_functions(self) -> Mapping[str, Spec]:
        """The user functions that queries see, by name."""
        return self.published.functions()
