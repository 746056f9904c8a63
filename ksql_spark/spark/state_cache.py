"""The cache of what keyed operators keep (StateCache.java): one bound for all queries of the JVM."""

from __future__ import annotations

from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from ksql_spark.spark.java_classes import java_class


class CacheUse(NamedTuple):
    """Bytes that all caches hold now, and the most that they may hold."""

    used: int
    bound: int


def bound_cache(session: SparkSession, most: int) -> None:
    """Let all caches together hold so many bytes; 0: every access goes to the state store."""
    _budget(session).bound(most)


def cache_use(session: SparkSession) -> CacheUse:
    """What the caches hold now; each is empty when a batch begins."""
    budget = _budget(session)
    return CacheUse(int(budget.used()), int(budget.bound()))


def _budget(session: SparkSession) -> Any:
    return java_class(session._jvm, "org.ksqlspark.state.CacheBudget").shared()
