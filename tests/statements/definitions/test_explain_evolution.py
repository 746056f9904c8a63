"""Which way a new version of a stream or table takes, and why it takes none: EXPLAIN EVOLUTION tells.

Each statement of the table is explained and then carried out: both must agree.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ksql_spark.authorization import Rights
from ksql_spark.engine.request import Request
from ksql_spark.kafka.admin import Consumers
from ksql_spark.spark.traffic import Times, Traffic, Volume
from tests.statements.topic_rows import TopicRows
from tests.statements.world import World

MORE = """
CREATE STREAM s2 (k STRING KEY, v INT, x INT) WITH (KAFKA_TOPIC='s2', VALUE_FORMAT='JSON', PARTITIONS=3);
CREATE TABLE u (k STRING PRIMARY KEY, a INT, b STRING)
  WITH (KAFKA_TOPIC='u', VALUE_FORMAT='JSON', PARTITIONS=3);
"""
KINDS = {
    "TABLE": {"kind": "table", "beside": "EVOLVE = 'backfill'", "instead": "EVOLVE = 'backfill'"},
    "STREAM": {
        "kind": "stream",
        "beside": "EVOLVE = 'backfill', HISTORY = 'keep'",
        "instead": "EVOLVE = 'from-now'",
    },
}
#: the first lines of the ways; {x}: the query that writes x
IN_PLACE = "In place: {x} continues from its current position, with its state."
ONCE = "Each record is answered once, by the old version or by the new one. This cannot be undone."
FROM_NOW = ("From now: {x} ends. The new version begins at its position, without its state.", ONCE)
WARM_UP = (
    "Warm-up: {x} ends. The new version reads again what it has read, for its state.",
    "Meanwhile X gets no rows. Then the new version goes on at the old one's position.",
    ONCE,
)
BESIDE = (
    "Backfill: a new query runs beside {x}, from its start.",
    "Once it has caught up, the swap writes what differs to topic X, and the new query goes on there.",
    "Until then ABORT EVOLUTION X; leaves everything as it is; a swap cannot be undone.",
)
#: what else is possible
BY_NAME = "Possible in place, with its state: WITH (EVOLVE = 'in-place')."
OR_BESIDE = "Possible as a backfill: WITH ({beside})."

ANEW = "DROP it and CREATE it again."
RULE = (
    "CREATE OR REPLACE may change the WHERE on the source and append columns to SELECT that use existing "
    f"aggregate functions. To change more, {ANEW}"
)
APPEND = "CREATE OR REPLACE ... AS SELECT may change WHERE, and append value columns."


def no(how: str, reason: str, *rest: str) -> str:
    return " ".join([f"Not possible {how}: {reason}", *rest])


def more(way: str) -> str:
    return f"WITH ({way}) changes more."


def fixed(reason: str, rule: str = RULE) -> str:
    """Of a statement without EVOLVE that changes more than ksqlDB allows."""
    return no("in place", f"Cannot upgrade the query that writes `X`: {reason}", rule, more("{beside}"))


def columns(reason: str) -> str:
    """Of one whose columns do not fit the old ones."""
    start = "Cannot add {kind} 'X': Cannot upgrade data source:"
    return no("in place", start, reason, APPEND, more("{beside}"))


def state(reason: str) -> str:
    """Of EVOLVE = 'in-place' whose state does not fit."""
    return no("in place", f"X cannot evolve in place: {reason}", more("{instead}"))


def empty(call: str) -> str:
    return f"  {call} begins empty: only records from now on count, also in groups that exist."


COUNT = "v, COUNT(*) AS n FROM s GROUP BY v"
LAG = "k, LAG(v) OVER (PARTITION BY v ORDER BY ROWTIME) AS l"
LEAD = "k, LEAD(v) OVER (PARTITION BY v ORDER BY ROWTIME) AS l"
FIRST = "FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) = 1"
ADDED = "ALTER STREAM s ADD COLUMN y INT"
JOIN = "s.k AS k, s.v AS v FROM s JOIN t ON s.k = t.k"
DAILY = "v, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 DAY) GROUP BY v"
OF_TABLE = "v, COUNT(*) AS n FROM t GROUP BY v"
CHANGED = "The following columns are changed, missing or reordered: [`V` INTEGER]."
#: id -> kind, SELECT before (and statements that follow it), SELECT after, what EXPLAIN EVOLUTION says
WITHOUT_EVOLVE: dict[str, tuple[str, ...]] = {
    "a stream gains a WHERE": ("STREAM", "k, v FROM s", "k, v FROM s WHERE v > 1", IN_PLACE),
    "a stream loses its WHERE": ("STREAM", "k, v FROM s WHERE v > 1", "k, v FROM s", IN_PLACE),
    "a column is appended": ("STREAM", "k, v FROM s", "k, v, w FROM s WHERE v > 1", IN_PLACE),
    "a WHERE before GROUP BY, and what the aggregates give": (
        "TABLE", COUNT, "v, COUNT(*) AS n, COUNT(*) * 2 AS m FROM s WHERE w > 'a' GROUP BY v", IN_PLACE),
    "another WHERE of a table": ("TABLE", "k, v FROM t WHERE v > 1", "k, v FROM t WHERE v > 2", IN_PLACE),
    "the WHERE of a sub-query": (
        "STREAM", "k, v FROM (SELECT * FROM s WHERE v > 1)", "k, v FROM (SELECT * FROM s WHERE v > 2)",
        IN_PLACE),
    "the length of EVERY": (
        "TABLE", f"{COUNT} EMIT CHANGES EVERY 1 SECOND", f"{COUNT} EMIT CHANGES EVERY 10 SECONDS", IN_PLACE),
    "a column beside DISTINCT ON": (
        "STREAM", "DISTINCT ON (v) k, v FROM s", "DISTINCT ON (v) k, v, w FROM s", IN_PLACE),
    "a new column beside LAG": ("STREAM", f"{LAG} FROM s; {ADDED}", f"{LAG}, y FROM s", IN_PLACE),
    "a new column beside LEAD, which keeps rows": (
        "STREAM", f"{LEAD} FROM s; {ADDED}", f"{LEAD}, y FROM s",
        fixed("the columns of the rows that LEAD keeps cannot change."), OR_BESIDE),
    "a new column beside QUALIFY, which keeps rows": (
        "TABLE", f"k, v {FIRST}; {ADDED}", f"k, v, y {FIRST}",
        fixed("the columns of the rows that QUALIFY keeps cannot change."), OR_BESIDE),
    "another source": ("STREAM", "k, v FROM s", "k, v FROM s2", fixed("FROM cannot change."), OR_BESIDE),
    "another expression": (
        "STREAM", "k, v FROM s", "k, v + 1 AS v FROM s",
        fixed("columns of SELECT cannot be changed, removed or reordered."), BY_NAME, OR_BESIDE),
    "another key": (
        "STREAM", "k, v FROM s", "v AS k2, k, w FROM s PARTITION BY v",
        columns("key columns must stay the same: `K` STRING KEY.")),
    "a column is missing": ("STREAM", "k, v FROM s", "k, w FROM s", columns(CHANGED), BY_NAME, OR_BESIDE),
    "a column has another type": (
        "STREAM", "k, v FROM s", "k, CAST(v AS BIGINT) AS v FROM s", columns(CHANGED), BY_NAME, OR_BESIDE),
    "how long DISTINCT ON remembers": (
        "STREAM", "DISTINCT ON (v) k, v FROM s WITHIN 1 HOUR", "DISTINCT ON (v) k, v FROM s WITHIN 2 HOURS",
        fixed("DISTINCT ON or QUALIFY cannot change."), OR_BESIDE),
    "the WHERE of DISTINCT ON": (
        "STREAM", "DISTINCT ON (k) k, v FROM s WHERE k IS NOT NULL", "DISTINCT ON (k) k, v FROM s",
        fixed("the WHERE cannot change."), OR_BESIDE),
    "what OVER computes": (
        "STREAM", f"{LAG} FROM s", f"{LAG.replace('(v)', '(v, 2)')} FROM s", fixed("OVER cannot change."),
        OR_BESIDE),
    "an aggregate is appended": (
        "TABLE", COUNT, f"v, COUNT(*) AS n, MAX(w) AS m {COUNT[COUNT.index('FROM'):]}",
        fixed("the aggregate functions cannot change."), BY_NAME, empty("MAX(W)"), OR_BESIDE),
    "an aggregate of another type": (
        "TABLE", COUNT, COUNT.replace("COUNT(*)", "SUM(v)"),
        columns(CHANGED.replace("V` INTEGER", "N` BIGINT")), OR_BESIDE),
    "HAVING": (
        "TABLE", f"{COUNT} HAVING COUNT(*) > 1", COUNT, fixed("HAVING cannot change."), BY_NAME, OR_BESIDE),
    "EVERY is new": (
        "TABLE", COUNT, f"{COUNT} EMIT CHANGES EVERY 10 SECONDS",
        fixed("whether it has EVERY cannot change."), OR_BESIDE),
    "the columns of a sub-query": (
        "STREAM", "k, v FROM (SELECT * FROM s)", "k, v FROM (SELECT k, v FROM s)",
        fixed("the sub-query cannot change."), OR_BESIDE),
    "a join is new": ("STREAM", "k, v FROM s", JOIN, fixed("FROM cannot change."), OR_BESIDE),
    "a join": (
        "STREAM", JOIN, JOIN, fixed("queries with joins cannot be replaced.", ANEW), BY_NAME, OR_BESIDE),
    "a window": (
        "TABLE", DAILY, DAILY, fixed("windowed aggregations cannot be replaced.", ANEW), BY_NAME, OR_BESIDE),
    "an aggregate of a table": (
        "TABLE", OF_TABLE, OF_TABLE, fixed("aggregations of tables cannot be replaced.", ANEW), BY_NAME,
        OR_BESIDE),
    "UNION ALL": (
        "STREAM", "k, v FROM s UNION ALL SELECT k, v FROM s2", "k, v FROM s",
        fixed("queries with UNION ALL, UNION, EXCEPT or INTERSECT cannot be replaced.", ANEW), OR_BESIDE),
    "INSERT INTO writes it too": (
        "STREAM", "k, v FROM s; INSERT INTO x SELECT k, v FROM s", "k, v, w FROM s",
        no("in place",
           "REPLACE for sink X is not supported: INSERT INTO writes it too: CSAS_X_4, INSERTQUERY_5.",
           "TERMINATE these queries first.")),
    "another one runs beside it": (
        "TABLE", f"{COUNT}; CREATE OR REPLACE TABLE x WITH (EVOLVE = 'backfill') AS SELECT {COUNT}", COUNT,
        no("in place", "CTAS_X_5, a new version of X, runs beside the current one.",
           "SWAP X; or ABORT EVOLUTION X; first.")),
    "no query writes it": (
        "STREAM", "k, v FROM s; TERMINATE ALL", "k, v FROM s", "New query: no query writes the sink now."),
}  # fmt: skip

SUMS = "v, COUNT(*) AS n, SUM(LEN(w)) AS total FROM s GROUP BY v"
JOINED = "s.k AS k, s.v AS v, u.a AS a FROM s JOIN u ON s.k = u.k"
BOTH = "s.k AS k, s.v AS v, s2.x AS x FROM s JOIN s2 WITHIN 1 HOUR ON s.k = s2.k"
WINDOWED = "v, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 HOUR, {}GRACE PERIOD 1 HOUR) GROUP BY v"
HOURLY = WINDOWED.format("")
JOINED_TABLES = "u.k AS k, u.{0} AS {0} FROM u JOIN t ON u.k = t.k"
#: the same with EVOLVE = 'in-place'
BY_STATE: dict[str, tuple[str, ...]] = {
    "columns and the WHERE above a join with a table": (
        "STREAM", JOINED,
        JOINED.replace("s.v AS v, u.a AS a", "u.b AS b, s.v + u.a AS both") + " WHERE u.a > 1", IN_PLACE),
    "columns and the WHERE above a join of streams": (
        "STREAM", BOTH, BOTH.replace("s.v AS v, ", "") + " WHERE s.w = 'x'", IN_PLACE),
    "a column that a join's rows have": ("STREAM", f"{BOTH}; {ADDED}", BOTH.replace("s.v", "s.w"), IN_PLACE),
    "a column that came later than a join's rows": (
        "STREAM", f"{BOTH}; {ADDED}", BOTH.replace("s.v", "s.y"),
        state("the rows in its state have no column S_Y, which came to the source later.")),
    "what a join does not keep": (
        "STREAM", JOINED, JOINED.replace("u.a AS a", "u.ROWTIME AS seen"),
        state("the rows in its state have no ROWTIME of U.")),
    "the type of a join": (
        "STREAM", JOINED, JOINED.replace("JOIN", "LEFT JOIN"), state("the join cannot change.")),
    "which of a table's rows are joined": (
        "STREAM", JOINED, JOINED.replace(" ON", " FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP ON"),
        state("the join cannot change.")),
    "WITHIN": ("STREAM", BOTH, BOTH.replace("1 HOUR", "2 HOURS"), state("the join cannot change.")),
    "an aggregate is exchanged": ("TABLE", SUMS, SUMS.replace("SUM", "MAX"), IN_PLACE, empty("MAX(LEN(W))")),
    "HAVING with a new aggregate": ("TABLE", SUMS, f"{SUMS} HAVING MAX(w) > 'a'", IN_PLACE, empty("MAX(W)")),
    "HAVING with a key column": (
        "TABLE", SUMS, f"{SUMS} HAVING v > 3", state("the key columns in HAVING cannot change.")),
    "another value in HAVING": (
        "TABLE", f"{SUMS} HAVING v > 3", f"{SUMS} HAVING v > 4 AND COUNT(*) > 1", IN_PLACE),
    "a new aggregate in HAVING with a key column": (
        "TABLE", f"{SUMS} HAVING v > 3", f"{SUMS} HAVING v > LEN(MAX(w))",
        state("no aggregate can be appended while HAVING has a key column, V.")),
    "a new aggregate in HAVING with EVERY": (
        "TABLE", f"{SUMS} EMIT CHANGES EVERY 1 SECOND",
        f"{SUMS} HAVING MAX(w) > 'a' EMIT CHANGES EVERY 1 SECOND",
        state("its state has no MAX(W), and results that wait for EVERY would be without it.")),
    "whether it has EVERY": (
        "TABLE", SUMS, f"{SUMS} EMIT CHANGES EVERY 1 SECOND", state("whether it has EVERY cannot change.")),
    "an aggregate over a table has another name": (
        "TABLE", "b, COUNT(*) AS n FROM u GROUP BY b", "b, COUNT(*) AS m FROM u GROUP BY b", IN_PLACE),
    "an aggregate is appended over a table": (
        "TABLE", "b, COUNT(*) AS n FROM u GROUP BY b", "b, SUM(a) AS m FROM u GROUP BY b",
        state("its state has no SUM(A), which cannot begin empty over a table: changes would take rows "
              "away from it that it has never had.")),
    "the WHERE of an aggregate over a table": (
        "TABLE", "b, COUNT(*) AS n FROM u WHERE a > 1 GROUP BY b",
        "b, COUNT(*) AS n FROM u WHERE a > 2 GROUP BY b", state("the WHERE cannot change here.")),
    "another source of an aggregate": (
        "TABLE", COUNT, COUNT.replace("FROM s", "FROM s2"), state("FROM S cannot change.")),
    "GROUP BY": (
        "TABLE", COUNT, "v + 1 AS v, COUNT(*) AS n FROM s GROUP BY v + 1", state("GROUP BY cannot change.")),
    "a shorter GRACE PERIOD": ("TABLE", HOURLY, HOURLY.replace("PERIOD 1 HOUR", "PERIOD 1 MINUTE"), IN_PLACE),
    "a longer GRACE PERIOD": (
        "TABLE", HOURLY, HOURLY.replace("PERIOD 1 HOUR", "PERIOD 1 DAY"),
        state("a longer GRACE PERIOD would open windows again whose rows the state has no more.")),
    "RETENTION": (
        "TABLE", WINDOWED.format("RETENTION 1 DAY, "), WINDOWED.format("RETENTION 2 DAYS, "), IN_PLACE),
    "the size of a window": (
        "TABLE", HOURLY, HOURLY.replace("SIZE 1", "SIZE 2"),
        no("in place", "X cannot evolve: its windows, which are part of its keys, cannot change.")),
    "columns and the WHERE of a table": ("TABLE", "k, a FROM u", "k, b FROM u WHERE a > 1", IN_PLACE),
    "columns beside DISTINCT ON": (
        "STREAM", "DISTINCT ON (v) k, v FROM s", "DISTINCT ON (v) k, w FROM s", IN_PLACE),
    "DISTINCT ON": (
        "STREAM", "DISTINCT ON (v) k, v FROM s", "DISTINCT ON (w) k, v FROM s",
        state("DISTINCT ON or QUALIFY cannot change.")),
    "the columns of a sub-query": (
        "STREAM", "k, v FROM (SELECT k, v FROM s)", "k, v FROM (SELECT k, LEN(w) AS v FROM s)",
        state("the sub-query cannot change.")),
    "UNION ALL is new": (
        "STREAM", "k, v FROM s", "k, v FROM s UNION ALL SELECT k, x AS v FROM s2",
        state("UNION ALL, UNION, EXCEPT and INTERSECT cannot change.")),
    "other columns while queries read it": (
        "TABLE", f"{COUNT}; CREATE TABLE y AS SELECT * FROM x", COUNT.replace("AS n", "AS many"),
        no("in place",
           "X cannot evolve: columns can only be appended while queries read it: CTAS_Y_5 would find "
           "other columns than before.")),
    "no query writes it": (
        "STREAM", "k, v FROM s; TERMINATE ALL", "k, v + 1 AS v FROM s",
        no("in place", "X cannot evolve in place: no query writes it, so there is no state to go on with.")),
}  # fmt: skip

COUNTS = "AS SELECT k, COUNT(*) AS n FROM s GROUP BY k"
SUMMED = "AS SELECT k, CAST(SUM(v) AS BIGINT) AS n FROM s GROUP BY k"
PAST = "WITH (HISTORY = '1 DAY') AS SELECT k, COUNT(*) AS n FROM s GROUP BY k"
READ = f"{COUNTS}; CREATE TABLE y AS SELECT k, n FROM x"
COPY = "AS SELECT k, v FROM s"
DISTINCT = "AS SELECT DISTINCT ON (k) k, v FROM s WITHIN 1 DAY"
PLACED = "WITH (VALUE_FORMAT = 'DELIMITED') AS SELECT k, v, w FROM s"
KEEP = "EVOLVE = 'backfill', HISTORY = 'keep'"
TWICE = f"SELECT {LAG.replace('BY v', 'BY k')} FROM (SELECT {LAG}, v FROM s)"
READ_AS = "Give the column another name, or CAST it to {}."
BY_PLACE = "columns by position (DELIMITED), so these cannot change. Keep the columns and their order."
NEITHER = "Or CREATE a {} beside X, with a topic of its own."
#: the same with WITH of their own
WITH: dict[str, tuple[str, ...]] = {
    "beside: other aggregates, and a WHERE": (
        "TABLE", COUNTS, "WITH (EVOLVE = 'backfill') AS SELECT k, SUM(v) AS n FROM s WHERE v > 3 GROUP BY k",
        *BESIDE),
    "beside: no query writes it": (
        "TABLE", f"{COUNTS}; TERMINATE ALL", f"WITH (EVOLVE = 'backfill') {COUNTS}",
        BESIDE[0].replace("beside {x}", "in a topic of its own"), *BESIDE[1:]),
    "beside: columns are appended while queries read it": (
        "TABLE", READ, f"WITH (EVOLVE = 'backfill') {COUNTS.replace('AS n', 'AS n, SUM(v) AS total')}",
        *BESIDE),
    "beside: columns go while queries read it": (
        "TABLE", READ, f"WITH (EVOLVE = 'backfill') {COUNTS.replace('AS n', 'AS total')}",
        no("as a backfill",
           "X cannot evolve: columns can only be appended while queries read it: CTAS_Y_5 would find "
           "other columns than before.")),
    "beside: made of itself": (
        "TABLE", READ, "WITH (EVOLVE = 'backfill') AS SELECT k, COUNT(*) AS n FROM y GROUP BY k",
        no("as a backfill", "Y is made of X, so the new version would read its own results.")),
    "beside: other key columns": (
        "TABLE", COUNTS, "WITH (EVOLVE = 'backfill') AS SELECT w, COUNT(*) AS n FROM s GROUP BY w",
        no("as a backfill", "X cannot evolve: key columns must stay the same: `K` STRING KEY.")),
    "beside: another format": (
        "TABLE", COUNTS, f"WITH (EVOLVE = 'backfill', VALUE_FORMAT = 'AVRO') {COUNTS}",
        no("as a backfill", "X cannot evolve: the value format cannot change.",
           "Its value format is JSON: WITH (VALUE_FORMAT = 'JSON').")),
    "beside: other partitions": (
        "TABLE", COUNTS, f"WITH (EVOLVE = 'backfill', PARTITIONS = 7) {COUNTS}",
        no("as a backfill", "X cannot evolve: its topic has 3 partitions, which cannot change.")),
    "beside: a window is new": (
        "TABLE", COUNTS,
        f"WITH (EVOLVE = 'backfill') {COUNTS.replace('FROM s', 'FROM s WINDOW TUMBLING (SIZE 1 MINUTE)')}",
        no("as a backfill", "X cannot evolve: its windows, which are part of its keys, cannot change.")),
    "beside: windows whose ends are part of the keys": (
        "TABLE", COUNTS.replace("FROM s", "FROM s WINDOW TUMBLING (SIZE 1 MINUTE)"),
        f"WITH (EVOLVE = 'backfill') {COUNTS.replace('FROM s', 'FROM s WINDOW SESSION (1 MINUTE)')}",
        no("as a backfill", "X cannot evolve: its windows, which are part of its keys, cannot change.")),
    "beside: a second one": (
        "TABLE", f"{COUNTS}; CREATE OR REPLACE TABLE x WITH (EVOLVE = 'backfill') {COUNTS}",
        f"WITH (EVOLVE = 'backfill') {COUNTS}",
        no("as a backfill", "CTAS_X_5, a new version of X, already runs beside the current one.",
           "SWAP X; or ABORT EVOLUTION X; first.")),
    "beside: HISTORY = 'keep' of a table": (
        "TABLE", COUNTS, f"WITH ({KEEP}) {COUNTS}",
        no("at once", "HISTORY = 'keep' is for streams: a table's topic gets what differs.")),
    "beside: a past whose columns come and go": (
        "TABLE", PAST,
        "WITH (EVOLVE = 'backfill') AS SELECT k, LATEST_BY_OFFSET(w) AS n, MAX(v) AS m FROM s GROUP BY k",
        *BESIDE),
    "beside: a past that cannot be read as the new type": (
        "TABLE", PAST, "WITH (EVOLVE = 'backfill') AS SELECT k, MAX(v) AS n FROM s GROUP BY k",
        no("as a backfill",
           "X cannot evolve so: rows of its past (HISTORY) have N as BIGINT, which cannot be read as "
           "INTEGER.", READ_AS.format("BIGINT"), NEITHER.format("table"))),
    "beside: a past whose columns have no names": (
        "TABLE", PAST.replace("DAY'", "DAY', VALUE_FORMAT = 'DELIMITED'"),
        "WITH (EVOLVE = 'backfill', VALUE_FORMAT = 'DELIMITED') AS SELECT k, MAX(v) AS m FROM s GROUP BY k",
        no("as a backfill", "X cannot evolve so: rows of its past (HISTORY) have", BY_PLACE,
           NEITHER.format("table"))),
    "at once: a stream without state": (
        "STREAM", COPY, f"WITH ({KEEP}) AS SELECT k, v + 1 AS v FROM s WHERE v > 3", *FROM_NOW),
    "at once: a stream with state": ("STREAM", COPY, f"WITH ({KEEP}) {DISTINCT}", *WARM_UP),
    "at once: a stream with state, from now": (
        "STREAM", COPY, f"WITH (EVOLVE = 'from-now') {DISTINCT}", *FROM_NOW),
    "at once: a table": ("TABLE", COUNTS, f"WITH (EVOLVE = 'from-now') {SUMMED}", *FROM_NOW),
    "at once: a stream without HISTORY": (
        "STREAM", COPY, f"WITH (EVOLVE = 'backfill') {COPY}",
        no("as a backfill",
           "A backfill of a stream needs HISTORY = 'keep': rows that the old version has written stay.")),
    "at once: SWAP of a stream": (
        "STREAM", COPY, f"WITH ({KEEP}, SWAP = 'manual') {COPY}",
        no("at once", "X cannot evolve: its new version takes over at once, without SWAP.")),
    "at once: START of a stream without state": (
        "STREAM", COPY, f"WITH ({KEEP}, START = 'latest') {COPY}",
        no("at once", "X cannot evolve: its new version takes over at once, without START.")),
    "at once: a window is new": (
        "TABLE", COUNTS,
        f"WITH (EVOLVE = 'from-now') {SUMMED.replace('FROM s', 'FROM s WINDOW TUMBLING (SIZE 1 MINUTE)')}",
        no("at once", "X cannot evolve: its windows, which are part of its keys, cannot change.")),
    "at once: no query writes it": (
        "STREAM", f"{COPY}; TERMINATE ALL", f"WITH ({KEEP}) {COPY}",
        no("at once",
           "X cannot evolve: no query writes it, so there is no position where a new version could begin.")),
    "at once: internal topics": (
        "STREAM", COPY, f"WITH ({KEEP}) AS {TWICE}",
        no("at once",
           "X cannot evolve: its new version has internal topics, so it cannot read again what the old one "
           "has read, and no more.",
           "EVOLVE = 'from-now' begins without history, where the old version ends.")),
    "at once: internal topics of the old version": (
        "STREAM", f"AS {TWICE}", f"WITH (EVOLVE = 'from-now') AS {TWICE}",
        no("at once",
           "X cannot evolve: CSAS_X_4 has internal topics, so it has no single position where another "
           "could begin.")),
    "at once: a table's rows that cannot be read as the new type": (
        "TABLE", COUNTS, "WITH (EVOLVE = 'from-now') AS SELECT k, SUM(v) AS n FROM s GROUP BY k",
        no("at once",
           "X cannot evolve so: rows that stay in its topic have N as BIGINT, which cannot be read as "
           "INTEGER.", READ_AS.format("BIGINT"), "Or use EVOLVE = 'backfill', which writes all rows again.")),
    "at once: a stream's rows that cannot be read as the new type": (
        "STREAM", COPY, f"WITH ({KEEP}) AS SELECT k, ARRAY[v] AS v FROM s",
        no("at once",
           "X cannot evolve so: rows that stay in its topic have V as INTEGER, which cannot be read as "
           "ARRAY<INTEGER>.", READ_AS.format("INTEGER"), NEITHER.format("stream"))),
    "at once: columns by position have other names": (
        "STREAM", PLACED, f"WITH ({KEEP}, VALUE_FORMAT = 'DELIMITED') AS SELECT k, v AS x, w FROM s",
        no("at once", "X cannot evolve so: rows that stay in its topic have", BY_PLACE,
           NEITHER.format("stream"))),
    "at once: columns by position are appended": (
        "STREAM", PLACED, f"WITH ({KEEP}, VALUE_FORMAT = 'DELIMITED') AS SELECT k, v, w, v * 2 AS w2 FROM s",
        no("at once", "X cannot evolve so: rows that stay in its topic have", BY_PLACE,
           NEITHER.format("stream"))),
    "in place: a table's rows with TTL": (
        "TABLE", "WITH (TTL = '1 DAY') AS SELECT k, a FROM u",
        "WITH (TTL = '1 DAY', EVOLVE = 'in-place') AS SELECT k, b FROM u", IN_PLACE),
    "in place: rows of a join that wait in a topic for TTL": (
        "TABLE", f"WITH (TTL = '1 DAY') AS SELECT {JOINED_TABLES.format('a')}",
        f"WITH (TTL = '1 DAY', EVOLVE = 'in-place') AS SELECT {JOINED_TABLES.format('b')}",
        state("with TTL its rows pass an internal topic, so their columns cannot change.")),
    "in place: START": (
        "STREAM", COPY, f"WITH (START = 'earliest') {COPY}",
        no("in place",
           "The query that writes X continues from its current position: START is only for new queries. To "
           "read again, DROP it first."), BY_NAME),
    "another topic": (
        "TABLE", COUNTS, f"WITH (KAFKA_TOPIC = 'other', EVOLVE = 'in-place') {COUNTS}", IN_PLACE),
    "another topic of a table that queries read": (
        "TABLE", READ, f"WITH (KAFKA_TOPIC = 'other', EVOLVE = 'in-place') {COUNTS}",
        no("in place", "X cannot evolve: its topic cannot change while queries read it: CTAS_Y_5.",
           "DROP what these queries write first.")),
    "another topic with other partitions": (
        "TABLE", COUNTS, f"WITH (KAFKA_TOPIC = 'narrow', EVOLVE = 'in-place') {COUNTS}",
        no("in place", "X cannot evolve: topic narrow has 1 partitions, and its topic has 3.")),
    "another topic, which a query writes": (
        "TABLE", f"{COUNTS}; CREATE STREAM z AS SELECT * FROM s",
        f"WITH (KAFKA_TOPIC = 'Z', EVOLVE = 'in-place') {COUNTS}",
        no("in place", "X cannot evolve: topic Z is written by CSAS_Z_5.")),
    "another topic, which it reads": (
        "TABLE", COUNTS, f"WITH (KAFKA_TOPIC = 's', EVOLVE = 'in-place') {COUNTS}",
        no("in place", "X cannot evolve: its query reads topic s.")),
    "another topic, at once": (
        "TABLE", COUNTS, f"WITH (KAFKA_TOPIC = 'other', EVOLVE = 'from-now') {COUNTS}",
        no("at once", "X cannot evolve: its topic, X, cannot change.")),
    "another topic, beside": (
        "TABLE", COUNTS, f"WITH (KAFKA_TOPIC = 'other', EVOLVE = 'backfill') {COUNTS}",
        no("as a backfill", "X cannot evolve: its topic, X, cannot change.")),
    "another topic of a stream": (
        "STREAM", COPY, f"WITH (KAFKA_TOPIC = 'other', EVOLVE = 'in-place') {COPY}",
        no("in place", "X cannot evolve: its topic, X, cannot change.")),
}  # fmt: skip
BY_NAMES = {
    f"in place: {name}": (kind, f"AS SELECT {old}", f"WITH (EVOLVE = 'in-place') AS SELECT {new}", *told)
    for name, (kind, old, new, *told) in BY_STATE.items()
}
PLAIN = {
    f"without EVOLVE: {name}": (kind, f"AS SELECT {old}", f"AS SELECT {new}", *told)
    for name, (kind, old, new, *told) in WITHOUT_EVOLVE.items()
}
CASES = PLAIN | BY_NAMES | WITH


def report(world: World, statement: str) -> list[str]:
    described = world.one(f"EXPLAIN EVOLUTION {statement}")["queryDescription"]
    return str(described["executionPlan"]).splitlines()


def running(world: World) -> list[tuple[str, str, str]]:
    return [(query.id, query.statement, query.state) for query in world.queries.all()]


@pytest.mark.parametrize(("kind", "old", "new", "told"), [(*c[:3], c[3:]) for c in CASES.values()], ids=CASES)
def test_the_way_of_a_new_version(
    world: World, topics: TopicRows, kind: str, old: str, new: str, told: tuple[str, ...]
) -> None:
    """It is told, with what else is possible, and the statement does the same."""
    world.admin.create_topic("narrow", 1)
    world.run(MORE)
    world.run(f"CREATE {kind} x {old};")
    before, topics = running(world), world.admin.topics()
    statement = f"CREATE OR REPLACE {kind} x {new};"
    lines = report(world, statement)
    until = next(n for n, line in enumerate(lines) if line.startswith("Columns"))
    said = [line for line in lines[:until] if not line.startswith(("line 1:", "  CREATE", "   "))]
    expected = [line.format(x=before[0][0] if before else "", **KINDS[kind]) for line in told]
    assert said == expected
    assert (running(world), world.admin.topics()) == (before, topics)
    if told[0].startswith("Not possible"):
        refusal = world.refused(statement).message.split("\nline 1:")[0]
        assert refusal.replace(": EXPLAIN EVOLUTION tells how.", ".") == expected[0].partition(": ")[2]
        assert (running(world), world.admin.topics()) == (before, topics)
        return
    answer = world.one(statement)
    assert answer["commandStatus"]["status"] == "SUCCESS"
    after = running(world)
    assert len(after) == len(before) + told[0].startswith(("Backfill", "New query"))
    assert {state for _, _, state in after} == {"RUNNING"} and statement in [text for _, text, _ in after]


# ---- what else EXPLAIN EVOLUTION tells ----------------------------------------------------------------

A = "CREATE STREAM a AS SELECT k, v FROM s EMIT CHANGES;"
N = "CREATE TABLE counts AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;"
NOTHING = "Reads again: nothing. Rows that are already written stay as they are."
HISTORY = "  topic s: at most 1,234 records, from 2023-11-14T22:13:20Z on"


def test_columns_plan_and_readers(world: World) -> None:
    world.run(A + "CREATE STREAM b AS SELECT * FROM a EMIT CHANGES;")
    lines = report(world, "CREATE OR REPLACE STREAM a AS SELECT k, v, w FROM s WHERE v > 3 EMIT CHANGES;")
    assert lines[1:] == [
        "Columns",
        "  + W STRING",
        "Plan",
        "  - Project | Key: K | Values: V",
        "  + Project | Key: K | Values: V, W",
        "  + Filter | (V > 3)",
        NOTHING,
        f"Read by: {world.ids()[1]}; 0 consumer groups of topic A",
    ]


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        (("billing",), "1 consumer group of topic A: billing"),
        (("a", "connect-crm"), "2 consumer groups of topic A: a, connect-crm (connector crm)"),
        (tuple("abcdefg"), "7 consumer groups of topic A: a, b, c, d, e and 2 more"),
    ],
)
def test_consumer_groups(
    world: World, monkeypatch: pytest.MonkeyPatch, groups: tuple[str, ...], text: str
) -> None:
    world.run(A)
    monkeypatch.setattr(world.admin, "consumers", lambda: {"A": Consumers(1, groups)})
    lines = report(world, "CREATE OR REPLACE STREAM a AS SELECT k, v, w FROM s EMIT CHANGES;")
    assert lines[-1] == f"Read by: no query; {text}"


def test_what_a_backfill_costs(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    world.run(N + f"CREATE SINK lake FROM counts WITH (TYPE = 'delta', PATH = '{tmp_path}');")
    (query_id,) = world.ids()
    world.admin.ends[("s", 0)] = 1200
    query = world.queries.find(query_id)
    assert query is not None
    batches = [{"numInputRows": 50, "batchDuration": 1000}, {"numInputRows": 200, "batchDuration": 2000}]
    monkeypatch.setattr(query.spark[0], "recent", batches)
    none = Times((), (0,), 0.0)
    traffic = {query_id: Traffic({"s": Volume(10, 1000)}, {}, {}, none, None, {})}
    monkeypatch.setattr(world.queries.figures, "traffic", lambda: traffic)
    backfill = "CREATE OR REPLACE TABLE counts WITH (EVOLVE = 'backfill') AS "
    lines = report(world, backfill + "SELECT k, COUNT(*) AS n FROM s WHERE v > 3 GROUP BY k;")
    at = lines.index("Reads again, unless START says otherwise:")
    assert lines[at + 1 :] == [
        "  topic s: at most 1,200 records, about 120,000 bytes, from 2023-11-14T22:13:20Z on",
        f"  about 12 s, at the 100 records/s that {query_id} has reached",
        "Read by: sink LAKE; 0 consumer groups of topic COUNTS",
        "  sink LAKE receives an update of each key that differs",
    ]


def test_internal_topics_that_a_new_version_saves(world: World) -> None:
    counts = "AS SELECT v, COUNT(*) AS n FROM t GROUP BY v EMIT CHANGES"
    world.run(f"CREATE TABLE counts {counts} EVERY 1 MINUTE;")
    lines = report(world, f"CREATE OR REPLACE TABLE counts WITH (EVOLVE = 'backfill') {counts};")
    assert "Internal topics: 1 of the running version, 0 of the new one" in lines
    lines = report(world, f"CREATE OR REPLACE TABLE counts {counts} EVERY 1 MINUTE;")
    assert not any(line.startswith("Internal topics") for line in lines)


def test_a_manual_swap_and_what_verifies_it(world: World) -> None:
    world.run(N + "CREATE TABLE d AS SELECT * FROM counts EMIT CHANGES;")
    reader = world.ids()[1]
    more = ", SWAP = 'manual', VERIFY = 'rows, values .10'"
    way = f"CREATE OR REPLACE TABLE counts WITH (EVOLVE = 'backfill'{more}) AS SELECT k, "
    lines = report(world, way + "COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k;")
    assert lines[1:3] == [
        "SWAP COUNTS; then writes what differs to topic COUNTS, and the new query goes on there.",
        "The swap is refused while VERIFY does not hold: rows, values 0.1.",
    ]
    assert lines[-1] == f"  {reader} receives an update of each key that differs, without TOTAL"


@pytest.mark.parametrize(
    ("statement", "reading"),
    [
        ("TABLE counts AS SELECT k, SUM(v) AS n FROM s GROUP BY k", ["The backfill reads:", HISTORY]),
        (
            "TABLE counts WITH (EVOLVE = 'backfill') AS SELECT k, SUM(v) AS n FROM s GROUP BY k",
            ["Reads again, unless START says otherwise:", HISTORY],
        ),
        ("STREAM a AS SELECT k, v + 1 AS v FROM s", [NOTHING]),
        ("STREAM a WITH (EVOLVE = 'backfill', HISTORY = 'keep') AS SELECT k, v + 1 AS v FROM s", [NOTHING]),
        (
            "STREAM a WITH (EVOLVE = 'backfill', HISTORY = 'keep') AS SELECT DISTINCT ON (k) k, v FROM s",
            ["Reads again, unless START says otherwise:", HISTORY],
        ),
        ("STREAM a WITH (EVOLVE = 'from-now') AS SELECT DISTINCT ON (k) k, v FROM s", [NOTHING]),
        (
            "STREAM a AS SELECT v AS v2, k, w FROM s PARTITION BY v",
            [
                "Instead: DROP it and CREATE it again, with START = 'earliest' to read what the topics still "
                "hold:",
                HISTORY,
            ],
        ),
    ],
)
def test_what_is_read_again(world: World, statement: str, reading: list[str]) -> None:
    world.run(A + N)
    world.admin.ends[("s", 0)] = 1234
    lines = report(world, f"CREATE OR REPLACE {statement};")
    assert lines[-1 - len(reading) : -1] == reading


def test_an_aggregate_begins_empty_once(world: World) -> None:
    world.run(N)
    appended = (
        "CREATE OR REPLACE TABLE counts WITH (EVOLVE = 'in-place') AS "
        "SELECT k, MAX(v) AS {} FROM s GROUP BY k;"
    )
    (answer,) = world.run(appended.format("many"))
    assert [warning["message"] for warning in answer["warnings"]] == [
        "MAX(V) begins empty: records from before this statement do not count."
    ]
    for _ in range(2):
        assert "begins empty" not in "".join(report(world, appended.format("most")))
        world.restart()


@pytest.mark.parametrize(
    ("statement", "condition", "message"),
    [
        (
            A, "INVALID_STATEMENT",
            "EXPLAIN EVOLUTION takes CREATE OR REPLACE … AS SELECT, or ROLLBACK of a query's result."),
        ("SELECT * FROM s EMIT CHANGES;", "INVALID_STATEMENT", "EXPLAIN EVOLUTION takes CREATE OR REPLACE"),
        ("CREATE OR REPLACE STREAM b AS SELECT k FROM s;", "SOURCE_UNKNOWN", "B"),
        ("CREATE OR REPLACE STREAM a AS SELECT nothing FROM s;", "COLUMN_UNKNOWN", "NOTHING"),
        (
            "CREATE OR REPLACE STREAM a AS SELECT k FROM s;", "INVALID_STATEMENT",
            "The projection contains no value columns."),
    ],
)  # fmt: skip
def test_statements_that_are_not_explained(
    world: World, statement: str, condition: str, message: str
) -> None:
    world.run(A)
    error = world.refused(f"EXPLAIN EVOLUTION {statement}")
    assert error.condition == condition and message in error.message


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (
            "EVOLVE = 'magic'",
            "Configuration EVOLVE is invalid: 'magic' is none of backfill, from-now, in-place."),
        (
            "EVOLVE = 'backfill', SWAP = 'never'",
            "Configuration SWAP is invalid: 'never' is none of auto, manual."),
        ("SWAP = 'manual'", "'SWAP' needs 'EVOLVE' too."),
        ("HISTORY = 'keep'", "'HISTORY' needs 'EVOLVE' too."),
        (
            "EVOLVE = 'from-now', SWAP = 'auto'",
            "'SWAP' is not for EVOLVE = 'from-now', which begins where the old one ends."),
        (
            "EVOLVE = 'in-place', START = 'earliest'",
            "'START' is not for EVOLVE = 'in-place', which begins where the old one ends."),
        (
            "EVOLVE = 'backfill', HISTORY = 'new'",
            "A backfill of a stream needs HISTORY = 'keep': rows that the old version has written stay."),
    ],
)  # fmt: skip
def test_settings_that_mean_nothing(world: World, more: str, reason: str) -> None:
    world.run(A)
    statement = f"CREATE OR REPLACE STREAM a WITH ({more}) AS SELECT k, v FROM s;"
    told = world.refused(statement).message
    assert told.startswith(reason)
    if "HISTORY = 'new'" not in more:
        assert told == world.refused(f"EXPLAIN EVOLUTION {statement}").message  # at the same place


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (
            "CREATE OR REPLACE STREAM counts WITH (EVOLVE = 'from-now') AS SELECT k, v FROM s;",
            "COUNTS is a table."),
        (
            "CREATE TABLE counts WITH (EVOLVE = 'backfill') AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;",
            "Cannot add table 'COUNTS': A table with the same name already exists. Use CREATE OR REPLACE, "
            "or DROP TABLE COUNTS; first."),
        (
            "CREATE OR REPLACE TABLE t WITH (EVOLVE = 'backfill') AS SELECT k, COUNT(*) AS n FROM s GROUP "
            "BY k;", "EVOLVE is for streams and tables that a query writes."),
    ],
)  # fmt: skip
def test_what_does_not_evolve(world: World, statement: str, reason: str) -> None:
    world.run(N)
    assert world.refused(statement).message.startswith(reason)


def test_where_it_is_disabled(make_world: Callable[..., World]) -> None:
    world = make_world(**{"ksql.create.or.replace.enabled": "false"})
    world.run(A)
    reason = "CREATE OR REPLACE is disabled (ksql.create.or.replace.enabled=false)."
    assert report(world, f"CREATE OR REPLACE {A[7:]}")[0].startswith(f"Not possible in place: {reason}")
    assert world.refused(f"CREATE OR REPLACE {A[7:]}").message.startswith(reason)


def test_who_may_not_read_the_sources_of_the_running_version_does_not_see_its_plan(world: World) -> None:
    world.run(A + "CREATE STREAM other (k STRING KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');")
    text = "EXPLAIN EVOLUTION CREATE OR REPLACE STREAM a AS SELECT k, v FROM other EMIT CHANGES;"
    (entity,) = world.answers(Request(text, rights=Rights.of(["reader:A", "reader:OTHER"])))
    shown = entity["queryDescription"]["executionPlan"]
    assert "Plan: not shown" in shown and "STREAM S" not in shown
