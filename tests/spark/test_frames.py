"""Projections and filters over a frame that Spark analyses together (spark/frames.py)."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, IllegalArgumentException, NumberFormatException
from pyspark.sql import SparkSession

from ksql_spark.spark.frames import Transformations

pytestmark = pytest.mark.spark


def test_they_are_applied_in_their_order(local_spark: SparkSession) -> None:
    frame = local_spark.range(6)
    rows = Transformations(frame).select("id * 10 AS a", "named_struct('n', id) AS `a b`").filter("a > 20")
    frame = rows.select("`a b`.*", "a").filter("n < 5").frame()
    assert frame.columns == ["n", "a"]
    assert [tuple(row) for row in frame.collect()] == [(3, 30), (4, 40)]


def test_one_may_use_a_column_that_the_one_below_leaves_out(local_spark: SparkSession) -> None:
    frame = local_spark.range(3).selectExpr("id", "id * 2 AS twice")
    assert [
        row["id"] for row in Transformations(frame).select("id").filter("twice = 4").frame().collect()
    ] == [2]


def test_the_settings_of_the_frames_session_hold(local_spark: SparkSession) -> None:
    lenient, strict = local_spark.newSession(), local_spark.newSession()
    lenient.conf.set("spark.sql.ansi.enabled", "false")
    strict.conf.set("spark.sql.ansi.enabled", "true")
    rows, refused = (
        Transformations(session.sql("SELECT 'x' AS t")).select("cast(t AS int) AS n").frame()
        for session in (lenient, strict)
    )
    assert [tuple(row) for row in rows.collect()] == [(None,)]
    with pytest.raises(NumberFormatException):
        refused.collect()


def test_errors_are_sparks(local_spark: SparkSession) -> None:
    with pytest.raises(AnalysisException, match="nothing"):
        Transformations(local_spark.range(1)).select("id AS a").filter("nothing > 1").frame()
    with pytest.raises(IllegalArgumentException):
        Transformations(local_spark.range(1)).select("id +").frame()
