CREATE STREAM s (id INT KEY, name STRING, price DOUBLE, n INT, m MAP<STRING, INT>, tags ARRAY<STRING>) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE TABLE t (id INT PRIMARY KEY, d STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE STREAM w (id INT KEY, n INT) WITH (KAFKA_TOPIC='w', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='1 MINUTE');
----
CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.price AS start, LAST(B.price) AS bottom, C.price - A.price AS change, MATCH_ROWTIME() AS seen ONE ROW PER MATCH AFTER MATCH SKIP TO LAST C PATTERN (A B+ C) WITHIN INTERVAL '1' HOUR DEFINE B AS B.price < LAST(B.price, 1) OR LAST(B.price, 1) IS NULL AND B.price < A.price, C AS C.price > LAST(B.price)) AS m;
    STREAM O SINK
      columns `ID` INTEGER KEY, `START` DOUBLE, `BOTTOM` DOUBLE, `CHANGE` DOUBLE, `SEEN` BIGINT
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [START AS START, BOTTOM AS BOTTOM, CHANGE AS CHANGE, SEEN AS SEEN]
      Project key [ID AS ID] value [KSQL_MATCH_1 AS START, KSQL_MATCH_2 AS BOTTOM, (KSQL_MATCH_3 - KSQL_MATCH_1) AS CHANGE, KSQL_MATCH_4 AS SEEN]
        MatchRecognize (A B+ C) by ID one row, skip TO LAST C, within 3600000 ms: row PRICE AS KSQL_ROW_0, ROWTIME AS KSQL_ROW_1; values LAST(B.PRICE, 1), LAST(A.PRICE), LAST(B.PRICE), LAST(C.PRICE), LAST(ROWTIME); define ((KSQL_ROW_0 < KSQL_MATCH_0) OR ((KSQL_MATCH_0 IS NULL) AND (KSQL_ROW_0 < KSQL_MATCH_1))) AS B, (KSQL_ROW_0 > KSQL_MATCH_2) AS C
          Source S

CREATE STREAM o WITH (KEY_FORMAT='JSON') AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY name, id ORDER BY ROWTIME MEASURES SUM(A.n) AS total, FINAL SUM(n) AS overall, COUNT(*) AS c, CLASSIFIER() AS what, FIRST(B.n, 2) AS third, PREV(A.n, 2) AS back, PREV(LAST(A.n, 1)) AS backs ALL ROWS PER MATCH PATTERN ((A | B){2,} C??) WITHIN 10 SECONDS DEFINE A AS n > PREV(n) AND AVG(A.price * 2) < 15, B AS n < 3 AND CLASSIFIER() = 'B') AS m;
    STREAM O SINK
      columns `NAME` STRING KEY, `ID` INTEGER KEY, `TOTAL` INTEGER, `OVERALL` INTEGER, `C` BIGINT, `WHAT` STRING, `THIRD` INTEGER, `BACK` INTEGER, `BACKS` INTEGER, `PRICE` DOUBLE, `N` INTEGER, `M` MAP<STRING, INTEGER>, `TAGS` ARRAY<STRING>
      topic O, key JSON, value JSON
    Project key [NAME AS NAME, ID AS ID] value [TOTAL AS TOTAL, OVERALL AS OVERALL, C AS C, WHAT AS WHAT, THIRD AS THIRD, BACK AS BACK, BACKS AS BACKS, PRICE AS PRICE, N AS N, M AS M, TAGS AS TAGS]
      Project key [NAME AS NAME, ID AS ID] value [KSQL_MATCH_1 AS TOTAL, KSQL_MATCH_2_FINAL AS OVERALL, KSQL_MATCH_3 AS C, KSQL_MATCH_4 AS WHAT, KSQL_MATCH_5 AS THIRD, KSQL_MATCH_6 AS BACK, KSQL_MATCH_7 AS BACKS, PRICE AS PRICE, N AS N, M AS M, TAGS AS TAGS]
        MatchRecognize ((A | B){2,} C??) by NAME, ID all rows, skip PAST LAST ROW, within 10000 ms: row N AS KSQL_ROW_0; values CLASSIFIER(), FIRST(B.N, 2), PREV(A.N, 2), PREV(LAST(A.N, 1)); aggregates AVG((A.PRICE * 2)), SUM(A.N), SUM(N), COUNT(*); previous PREV(N), PREV(N, 2); define ((KSQL_ROW_0 > KSQL_PREV_0) AND (KSQL_MATCH_0 < CAST(15 AS DOUBLE))) AS A, ((KSQL_ROW_0 < 3) AND ('B' = 'B')) AS B
          Source S

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.tags[1] AS tag, TRANSFORM(A.tags, x => UCASE(x)) AS tags PATTERN (A) WITHIN 1 DAY) AS m;
    STREAM O SINK
      columns `ID` INTEGER KEY, `TAG` STRING, `TAGS` ARRAY<STRING>
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [TAG AS TAG, TAGS AS TAGS]
      Project key [ID AS ID] value [KSQL_MATCH_0[1] AS TAG, TRANSFORM(KSQL_MATCH_0, (X) => UCASE(X)) AS TAGS]
        MatchRecognize (A) by ID one row, skip PAST LAST ROW, within 86400000 ms: row TAGS AS KSQL_ROW_0; values LAST(A.TAGS)
          Source S

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: MATCH_RECOGNIZE needs PARTITION BY. Write MATCH_RECOGNIZE (PARTITION BY column ORDER BY ROWTIME MEASURES … PATTERN (…) WITHIN 1 HOUR …).
    line 1:97
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A) WITHIN 1 HOUR) AS m
                                                                                                      ^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id MEASURES A.n AS n PATTERN (A) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: The order of MATCH_RECOGNIZE is that of arrival: ORDER BY ROWTIME. Write MATCH_RECOGNIZE (PARTITION BY column ORDER BY ROWTIME MEASURES … PATTERN (…) WITHIN 1 HOUR …).
    line 1:96
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id MEASURES A.n AS n PATTERN (A) WITHIN 1 HOUR) AS m
                                                                                                     ^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY n MEASURES A.n AS n PATTERN (A) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: The order of MATCH_RECOGNIZE is that of arrival: ORDER BY ROWTIME. Write MATCH_RECOGNIZE (PARTITION BY column ORDER BY ROWTIME MEASURES … PATTERN (…) WITHIN 1 HOUR …).
    line 1:78
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY n MEASURES A.n AS n PATTERN (A) WITHIN 1 HOUR) AS m
                                                                                   ^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A B*)) AS m;
    INVALID_STATEMENT: MATCH_RECOGNIZE needs WITHIN: without it, partial matches would be kept forever. Write PATTERN (A B*) WITHIN 1 HOUR.
    line 1:113
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A B*)) AS m
                                                                                                                      ^^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A* B{0,3} (C D | E?)) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: The pattern matches no rows at all, as every part of it is optional. At least one symbol must be there: A+ instead of A*.
    line 1:113
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A* B{0,3} (C D | E?)) WITHIN 1 HOUR) AS m
                                                                                                                      ^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME PATTERN (A) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: ONE ROW PER MATCH needs MEASURES: a match has no other columns.
    line 1:95
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME PATTERN (A) WITHIN 1 HOUR) AS m
                                                                                                    ^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id + 1 ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: PARTITION BY of MATCH_RECOGNIZE takes columns, got (ID + 1). Compute it in a sub-query: FROM (SELECT *, expression AS name FROM s) …
    line 1:66
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id + 1 ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A) WITHIN 1 HOUR) AS m
                                                                       ^^^^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY m ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: PARTITION BY cannot compare MAPs: M (MAP<STRING, INTEGER>).
    line 1:66
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY m ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A) WITHIN 1 HOUR) AS m
                                                                       ^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id, id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: Duplicate PARTITION BY column: ID.
    line 1:70
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id, id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A) WITHIN 1 HOUR) AS m
                                                                           ^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS id PATTERN (A) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: There is a column ID already: give the measure another name.
    line 1:95
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS id PATTERN (A) WITHIN 1 HOUR) AS m
                                                                                                    ^^^^^^^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS price ALL ROWS PER MATCH PATTERN (A) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: There is a column PRICE already: give the measure another name.
    line 1:95
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS price ALL ROWS PER MATCH PATTERN (A) WITHIN 1 HOUR) AS m
                                                                                                    ^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS rowtime PATTERN (A) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: ROWTIME is the name of a pseudo column: give the measure another one.
    line 1:95
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS rowtime PATTERN (A) WITHIN 1 HOUR) AS m
                                                                                                    ^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES NULL AS x PATTERN (A) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: Can't infer a type of null. Please explicitly cast it to a required type, e.g. CAST(null AS VARCHAR).
    line 1:95
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES NULL AS x PATTERN (A) WITHIN 1 HOUR) AS m
                                                                                                    ^^^^^^^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES DOWM.n AS n PATTERN (START_ROW DOWN) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: PATTERN has no symbol DOWM. Did you mean DOWN?
    line 1:95
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES DOWM.n AS n PATTERN (START_ROW DOWN) WITHIN 1 HOUR) AS m
                                                                                                    ^^^^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.nope AS n PATTERN (A) WITHIN 1 HOUR) AS m;
    COLUMN_UNKNOWN: MEASURES column 'NOPE' cannot be resolved. There are: ID, NAME, PRICE, N, M, TAGS.
    line 1:95
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.nope AS n PATTERN (A) WITHIN 1 HOUR) AS m
                                                                                                    ^^^^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A) WITHIN 1 HOUR DEFINE B AS n > 1) AS m;
    INVALID_STATEMENT: PATTERN has no symbol B. It has A.
    line 1:137
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A) WITHIN 1 HOUR DEFINE B AS n > 1) AS m
                                                                                                                                              ^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A) WITHIN 1 HOUR DEFINE A AS n > 1, A AS n > 2) AS m;
    INVALID_STATEMENT: DEFINE has two conditions of A: join them by AND.
    line 1:149
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A) WITHIN 1 HOUR DEFINE A AS n > 1, A AS n > 2) AS m
                                                                                                                                                          ^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A) WITHIN 1 HOUR DEFINE A AS n) AS m;
    PREDICATE_TYPE: Type error in DEFINE expression: Should evaluate to boolean but is N (INTEGER) instead.
    line 1:142
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A) WITHIN 1 HOUR DEFINE A AS n) AS m
                                                                                                                                                   ^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n AFTER MATCH SKIP TO LAST X PATTERN (A) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: PATTERN has no symbol X. It has A.
    line 1:129
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n AFTER MATCH SKIP TO LAST X PATTERN (A) WITHIN 1 HOUR) AS m
                                                                                                                                      ^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n AFTER MATCH SKIP TO FIRST B PATTERN (A B*) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: AFTER MATCH SKIP TO FIRST B: a match may lack B.
    line 1:130
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n AFTER MATCH SKIP TO FIRST B PATTERN (A B*) WITHIN 1 HOUR) AS m
                                                                                                                                       ^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A{1000} B{10}) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: The pattern has more than 1000 symbols once its quantifiers are written out.
    line 1:113
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A{1000} B{10}) WITHIN 1 HOUR) AS m
                                                                                                                      ^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES SUM(A.n * B.n) AS n PATTERN (A B) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: FIRST, LAST, PREV and aggregates take values of one row, got A.column and B.column.
    line 1:95
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES SUM(A.n * B.n) AS n PATTERN (A B) WITHIN 1 HOUR) AS m
                                                                                                    ^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES LAST(A.n * n) AS n PATTERN (A B) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: FIRST, LAST, PREV and aggregates take values of one row, got A.column and column.
    line 1:100
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES LAST(A.n * n) AS n PATTERN (A B) WITHIN 1 HOUR) AS m
                                                                                                         ^^^^^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES COLLECT_LIST(A.n) AS n PATTERN (A B) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: COLLECT_LIST is not for the rows of a match: AVG, COUNT, MAX, MIN, SUM are.
    line 1:95
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES COLLECT_LIST(A.n) AS n PATTERN (A B) WITHIN 1 HOUR) AS m
                                                                                                    ^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES COUNT(DISTINCT A.n) AS n PATTERN (A B) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: COUNT(DISTINCT …) is not for the rows of a match: AVG, COUNT, MAX, MIN, SUM are.
    line 1:95
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES COUNT(DISTINCT A.n) AS n PATTERN (A B) WITHIN 1 HOUR) AS m
                                                                                                    ^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES NEXT(A.n) AS n PATTERN (A B) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: NEXT looks at a row that has not come yet: map that row to a symbol of its own.
    line 1:95
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES NEXT(A.n) AS n PATTERN (A B) WITHIN 1 HOUR) AS m
                                                                                                    ^^^^^^^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES MATCH_NUMBER() AS n PATTERN (A B) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: MATCH_NUMBER is not supported: a key would have to be remembered forever.
    line 1:95
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES MATCH_NUMBER() AS n PATTERN (A B) WITHIN 1 HOUR) AS m
                                                                                                    ^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES LAST(A.n, B.n) AS n PATTERN (A B) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: This needs a number of rows from 0 to 1000.
    line 1:105
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES LAST(A.n, B.n) AS n PATTERN (A B) WITHIN 1 HOUR) AS m
                                                                                                              ^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES LAST(1) AS n PATTERN (A B) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: LAST needs a column, as in LAST(A.x).
    line 1:95
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES LAST(1) AS n PATTERN (A B) WITHIN 1 HOUR) AS m
                                                                                                    ^^^^^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES LAST(PREV(A.n)) AS n PATTERN (A B) WITHIN 1 HOUR) AS m;
    INVALID_STATEMENT: PREV is not allowed here. PREV(LAST(A.x, 1), 2) is.
    line 1:100
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES LAST(PREV(A.n)) AS n PATTERN (A B) WITHIN 1 HOUR) AS m
                                                                                                         ^^^^^^^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A B) WITHIN 1 HOUR DEFINE A AS FINAL LAST(A.n) > 1) AS m;
    INVALID_STATEMENT: FINAL is for MEASURES: DEFINE sees the rows so far.
    line 1:144
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A B) WITHIN 1 HOUR DEFINE A AS FINAL LAST(A.n) > 1) AS m
                                                                                                                                                     ^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A B) WITHIN 1 HOUR DEFINE A AS MATCH_ROWTIME() > 1) AS m;
    INVALID_STATEMENT: MATCH_ROWTIME() is for MEASURES: in DEFINE, use ROWTIME.
    line 1:144
      CREATE STREAM o AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A B) WITHIN 1 HOUR DEFINE A AS MATCH_ROWTIME() > 1) AS m
                                                                                                                                                     ^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT m.id AS id, m.n + 1 AS n, t.d AS d FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A B) WITHIN 1 HOUR) m JOIN t ON m.id = t.id WHERE m.n > 3;
    STREAM O SINK
      columns `ID` INTEGER KEY, `N` INTEGER, `D` STRING
      topic O, key KAFKA, value JSON
    Project key [M_ID AS ID] value [(M_N + 1) AS N, T_D AS D]
      Filter (M_N > 3)
        Join INNER STREAM_TABLE on M_ID = T_ID as M_ID
          Project key [ID AS M_ID] value [N AS M_N]
            Project key [ID AS ID] value [KSQL_MATCH_0 AS N]
              MatchRecognize (A B) by ID one row, skip PAST LAST ROW, within 3600000 ms: row N AS KSQL_ROW_0; values LAST(A.N)
                Source S
          Source T prefixed

CREATE TABLE o AS SELECT id, COUNT(*) AS c FROM (SELECT * FROM s WHERE n > 0) MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A B) WITHIN 1 HOUR) GROUP BY id;
    TABLE O SINK
      columns `ID` INTEGER KEY, `C` BIGINT
      topic O, key KAFKA, value JSON
    Project key [ID AS ID] value [KSQL_AGG_VARIABLE_0 AS C]
      Aggregate by [ID AS ID] COUNT(*) AS KSQL_AGG_VARIABLE_0
        Project key [ID AS ID] value [KSQL_MATCH_0 AS N]
          MatchRecognize (A B) by ID one row, skip PAST LAST ROW, within 3600000 ms: row N AS KSQL_ROW_0; values LAST(A.N)
            Project key [ID AS ID] value [NAME AS NAME, PRICE AS PRICE, N AS N, M AS M, TAGS AS TAGS]
              Filter (N > 0)
                Source S

SELECT *, ROWTIME FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A B) WITHIN 1 HOUR) EMIT CHANGES;
    OUTPUT `ID` INTEGER, `N` INTEGER, `ROWTIME` BIGINT
    Project key [ID AS ID] value [N AS N]
      Project key [ID AS ID] value [KSQL_MATCH_0 AS N]
        MatchRecognize (A B) by ID one row, skip PAST LAST ROW, within 3600000 ms: row N AS KSQL_ROW_0; values LAST(A.N)
          Source S

SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A B) WITHIN 1 HOUR);
    INVALID_STATEMENT: MATCH_RECOGNIZE is for persistent and push queries. Add EMIT CHANGES.
    line 1:15
      SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A B) WITHIN 1 HOUR)
                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

CREATE STREAM o AS SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A B) WITHIN 1 HOUR);
    INVALID_STATEMENT: MATCH_RECOGNIZE is for streams: the rows of a table have no order. Read the table's changes as a stream: CREATE STREAM … over its topic.
    line 1:34
      CREATE STREAM o AS SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A B) WITHIN 1 HOUR)
                                       ^

CREATE STREAM o AS SELECT * FROM w MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A B) WITHIN 1 HOUR);
    INVALID_STATEMENT: MATCH_RECOGNIZE cannot read a windowed stream.
    line 1:34
      CREATE STREAM o AS SELECT * FROM w MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES A.n AS n PATTERN (A B) WITHIN 1 HOUR)
                                       ^

CREATE STREAM o AS SELECT FINAL LAST(n) AS x FROM s;
    INVALID_STATEMENT: FINAL and RUNNING are for MEASURES of MATCH_RECOGNIZE.
    line 1:27
      CREATE STREAM o AS SELECT FINAL LAST(n) AS x FROM s
                                ^^^^^^^^^^^^^

CREATE STREAM o AS SELECT id, PREV(n) AS x FROM s;
    FUNCTION_UNKNOWN: Can't find any functions with the name 'PREV'. SHOW FUNCTIONS lists all functions.
    line 1:31
      CREATE STREAM o AS SELECT id, PREV(n) AS x FROM s
                                    ^^^^
