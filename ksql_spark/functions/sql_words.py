"""Names in other SQL dialects for what KSQL writes differently; for hints about unknown names.

Functions that only differ in name are ``aliases`` in their specs and need no hint.
"""

from __future__ import annotations

#: name in upper case -> what to write instead
INSTEAD: dict[str, str] = {
    "AGE": "a - b",
    "ANY_VALUE": "LATEST_BY_OFFSET(x)",
    "CONTAINS": "INSTR(text, part) > 0",
    "COUNT_IF": "COUNT(*) FILTER (WHERE condition)",
    "CUMULATE": "FROM name WINDOW CUMULATIVE (SIZE 1 DAY, STEP 1 HOUR)",
    "CURRENT_DATE": "CURRENT_DATE",
    "CURRENT_TIME": "CURRENT_TIME",
    "DATEDIFF": "UNIX_DATE(a) - UNIX_DATE(b)",
    "DATE_ADD": "DATEADD(DAYS, n, date)",
    "DATE_FORMAT": "FORMAT_TIMESTAMP(timestamp, pattern)",
    "DATE_SUB": "DATESUB(DAYS, n, date)",
    "DAY": "EXTRACT(DAY FROM timestamp)",
    "DECODE": "CASE WHEN … THEN … ELSE … END",
    "HOP": "FROM name WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 5 MINUTES)",
    "HOP_END": "WINDOWEND",
    "HOP_START": "WINDOWSTART",
    "HOUR": "EXTRACT(HOUR FROM timestamp)",
    "IF": "CASE WHEN condition THEN a ELSE b END",
    "IIF": "CASE WHEN condition THEN a ELSE b END",
    "ISNULL": "x IS NULL, or IFNULL(x, other)",
    "LOCALTIMESTAMP": "NOW()",
    "LOCATE": "INSTR(text, part)",
    "LOG10": "LOG(10, x)",
    "LOG2": "LOG(2, x)",
    "MINUTE": "EXTRACT(MINUTE FROM timestamp)",
    "MOD": "a % b",
    "MONTH": "EXTRACT(MONTH FROM timestamp)",
    "NVL2": "CASE WHEN x IS NOT NULL THEN a ELSE b END",
    "REGEXP_LIKE": "REGEXP_EXTRACT(pattern, text) IS NOT NULL",
    "SESSION": "FROM name WINDOW SESSION (5 MINUTES)",
    "SESSION_END": "WINDOWEND",
    "SESSION_START": "WINDOWSTART",
    "SIMILAR_TO": "REGEXP_EXTRACT(pattern, text) IS NOT NULL",
    "SPLIT_PART": "SPLIT(text, delimiter)[n]",
    "TIMEZONE": "CONVERT_TZ(timestamp, source, target)",
    "TO_CHAR": "FORMAT_TIMESTAMP(timestamp, pattern)",
    "TO_DATE": "PARSE_DATE(text, pattern)",
    "TO_NUMBER": "CAST(text AS DOUBLE)",
    "TRY_CAST": "CAST(x AS type), which returns NULL for values that cannot be cast",
    "TUMBLE": "FROM name WINDOW TUMBLING (SIZE 1 HOUR)",
    "TUMBLE_END": "WINDOWEND",
    "TUMBLE_START": "WINDOWSTART",
    "TYPEOF": "DESCRIBE of the stream or table",
    "YEAR": "EXTRACT(YEAR FROM timestamp)",
}
