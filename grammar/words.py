"""The words of the language: reserved, non-reserved, and contextual ones.

From reference §1.2. Used by the lexer's callers, by error messages, and by the shell to complete and colour.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: keywords that may be identifiers without quoting
NON_RESERVED = _words(
    """
    SHOW TABLES COLUMNS COLUMN PARTITIONS FUNCTIONS FUNCTION SESSION STRUCT MAP ARRAY PARTITION
    INTEGER DATE TIME TIMESTAMP INTERVAL ZONE STRING YEAR MONTH DAY HOUR MINUTE SECOND EXPLAIN ANALYZE
    TYPE TYPES SET RESET IF SOURCE SINK PRIMARY KEY EMIT CHANGES FINAL ESCAPE REPLACE ASSERT ALTER ADD
    HEADER HEADERS GRACE PERIOD DEFINE UNDEFINE VARIABLES SERVICES PLUGINS SYSTEM TIMEOUT SCHEMA SUBJECT ID
    """
)

#: keywords that need quoting to be identifiers
RESERVED = _words(
    """
    ADVANCE ALL AND AS AT BEGINNING BETWEEN BY CASE CAST CATALOG CONNECTOR CONNECTORS CREATE DAYS
    DECIMAL DELETE DESCRIBE DISTINCT DROP ELSE END EXISTS EXPORT EXTENDED FALSE FROM FULL GROUP HAVING
    HOPPING HOURS IN INNER INSERT INTO IS JOIN LEFT LIKE LIMIT LIST LOAD MATERIALIZED MILLISECOND
    MILLISECONDS MINUTES MONTHS NAMESPACE NOT NULL ON OR OUTER PAUSE PRINT PROPERTIES QUERIES QUERY
    RENAME RESUME RETENTION RIGHT RUN SAMPLE SCRIPT SECONDS SELECT SIZE STREAM STREAMS TABLE TERMINATE
    THEN TO TOPIC TOPICS TRUE TUMBLING UNSET VALUES VIEW WHEN WHERE WINDOW WITH WITHIN YEARS
    """
)

#: words of clauses beyond ksqlDB: special only where such a clause can begin, identifiers elsewhere
CONTEXTUAL = _words(
    "UNION ORDER OFFSET ASC DESC NULLS FIRST LAST RETURNS LANGUAGE PYTHON ERRORS LATE OF EVOLUTION FRESHNESS"
    " OLD NEW REPLAY CASCADE SINKS SWAP ABORT VERSIONS VERSION ROLLBACK UNDROP MISSING RECORD"
    " QUALIFY FILTER OVER ROWS RANGE PRECEDING UNBOUNDED CURRENT ROW"
    " GROUPING SETS ROLLUP CUBE TRY_CAST UPDATE CHECK CONSTRAINT FOR SYSTEM_TIME CROSS UNNEST ORDINALITY"
    " MATCH_RECOGNIZE MEASURES ONE PER MATCH AFTER SKIP PAST NEXT PATTERN RUNNING"
    " CUMULATIVE STEP WEEK WEEKS EVERY EXCEPT INTERSECT SLIDING TRUNCATE REFRESH COMPACT RETURNING"
    " FOLLOWING LATERAL USING FETCH ONLY RECURSIVE INDEX INDEXES COMMENT REPROCESS PREVIEW FORGET"
)

#: the names of types that are not reserved, which are keywords where a type stands
TYPES = _words(
    "ARRAY BIGINT BOOLEAN BYTES DATE DOUBLE INT INTEGER MAP STRING STRUCT TIME TIMESTAMP VARCHAR VARIANT"
)

#: every keyword, for completion and highlighting
KEYWORDS = NON_RESERVED | RESERVED | CONTEXTUAL

#: units of time, singular and plural -> the plural that TimeSpan has (reference §2.6)
UNITS = {
    word: plural
    for plural in ("MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS")
    for word in (plural, plural[:-1])
}


#: the milliseconds of units of a fixed length; a week has 7 days here
UNIT_MS = {
    "MILLISECONDS": 1, "SECONDS": 1000, "MINUTES": 60_000, "HOURS": 3_600_000, "DAYS": 86_400_000,
    "WEEKS": 604_800_000,
}  # fmt: skip

#: units of the calendar, for windows (beyond ksqlDB)
CALENDAR_UNITS = {word: plural for plural in ("WEEKS", "MONTHS", "YEARS") for word in (plural, plural[:-1])}


def nearest(word: str, candidates: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The candidate most similar to ``word``, ignoring case, or None if none is similar.

    One with the same letters in another order comes first: SGIN is SIGN, not SIN.
    """
    folded = word.upper()
    by_folded = {candidate.upper(): candidate for candidate in sorted(candidates)}
    similar = difflib.get_close_matches(folded, by_folded, n=3, cutoff=cutoff)
    best = max(similar, key=lambda each: sorted(each) == sorted(folded), default=None)
    return None if best is None else by_folded[best]
