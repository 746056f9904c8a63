"""Words that the prompt expands to the beginning of a statement (reference §8.2)."""

from __future__ import annotations

#: word -> what it expands to
SKELETONS: dict[str, str] = {
    "cs": "CREATE STREAM s (k STRING KEY, v STRING)\n"
    "  WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=1);",
    "ct": "CREATE TABLE t (k STRING PRIMARY KEY, v STRING)\n"
    "  WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=1);",
    "csas": "CREATE STREAM s2 AS SELECT * FROM s EMIT CHANGES;",
    "ctas": "CREATE TABLE t2 AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;",
    "ii": "INSERT INTO s (k, v) VALUES ('key', 'value');",
}
