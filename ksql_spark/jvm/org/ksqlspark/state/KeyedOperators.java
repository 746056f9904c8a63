package org.ksqlspark.state;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

import java.util.List;

/** The entry points for Python; see KeyedOperator for inputs and outputs. */
public final class KeyedOperators {
    private KeyedOperators() {}

    /**
     * A table filter whose deletions pass only for keys that were passed on before.
     *
     * @param isResumed keys that are not in the state may have been passed on too
     */
    public static Dataset<Row> tombstoneFilter(Dataset<Row> input, boolean isResumed) {
        return KeyedOperator.apply(input, new TombstoneFilter(isResumed));
    }

    /**
     * The first record of each key.
     *
     * @param within how long a key is remembered, ms; negative: forever
     */
    public static Dataset<Row> deduplicate(Dataset<Row> input, long within) {
        return KeyedOperator.apply(input, new Deduplicate(within));
    }

    /**
     * Each record with aggregates of the last records of its key.
     *
     * @param aggregators one for each frame
     * @param firsts how many records before the current one each frame begins; negative: with the
     *     key's first record
     * @param lasts how many records before the current one each frame ends; negative: so many after
     *     it, and the frame begins after it too
     * @param ranges how much older than the current one each frame begins, ms; negative: a frame of
     *     records
     * @param merges whether each frame's aggregates can be made of those of its parts
     * @param within how long a key is remembered after its last record, ms; negative: forever
     */
    public static Dataset<Row> over(
            Dataset<Row> input,
            List<Aggregator> aggregators,
            List<Integer> firsts,
            List<Integer> lasts,
            List<? extends Number> ranges,
            List<Boolean> merges,
            long within) {
        return KeyedOperator.apply(
                input, new Over(aggregators, firsts, lasts, ranges, merges, within));
    }

    /**
     * What a pattern says of rows, to which its symbols and aggregators are added.
     *
     * @param template a frame of the columns of a row, the slots, and the results of aggregators
     * @param arguments how many of a row's columns are arguments of its record
     * @param slots how many slots there are
     * @param previous for each further column of a row, the argument of an earlier record
     * @param offsets how many records earlier
     * @param needed the numbers of the slots that conditions need
     */
    public static PatternExpressions patternExpressions(
            Dataset<Row> template,
            int arguments,
            int slots,
            List<Integer> previous,
            List<Integer> offsets,
            List<Integer> needed) {
        return new PatternExpressions(template, arguments, slots, previous, offsets, needed);
    }

    /**
     * The matches of a pattern in the records of each key.
     *
     * @param symbols the number of each state's symbol
     * @param first the states that take a match's first row, the preferred one first
     * @param follow for each state those that take the next row, or at last -1: it is a match
     * @param within how far apart the rows of a match may be, ms
     * @param skip PAST_LAST_ROW, TO_NEXT_ROW, TO_FIRST or TO_LAST
     * @param skipTo the symbol of the last two; negative: none
     * @param isAllRows whether each row of a match is a result
     * @param idle see KeyedOperator.apply
     */
    public static Dataset<Row> matchRecognize(
            Dataset<Row> input,
            List<Integer> symbols,
            List<Integer> first,
            List<List<Integer>> follow,
            PatternExpressions expressions,
            long within,
            String skip,
            int skipTo,
            boolean isAllRows,
            long idle) {
        Automaton automaton = Automaton.of(symbols, first, follow);
        MatchRecognize.Skip skipped = MatchRecognize.Skip.valueOf(skip);
        return KeyedOperator.apply(
                input,
                new MatchRecognize(automaton, expressions, within, skipped, skipTo, isAllRows),
                idle);
    }

    /**
     * The best records of each key, by place.
     *
     * @param types those of the values that order them, as Spark's DDL
     * @param isDescending of each value
     * @param hasNullsFirst of each value
     * @param limit ROW_NUMBER, RANK or DENSE_RANK: which number is limited
     * @param most the greatest such number
     * @param isTable whether the records are changes of a table
     */
    public static Dataset<Row> topN(
            Dataset<Row> input,
            String types,
            List<Boolean> isDescending,
            List<Boolean> hasNullsFirst,
            String limit,
            int most,
            boolean isTable) {
        TopN.Limit limited = TopN.Limit.valueOf(limit);
        return KeyedOperator.apply(
                input, new TopN(types, isDescending, hasNullsFirst, limited, most, isTable));
    }

    /** A table whose changes leave out what they do not change, see FormerRows. */
    public static Dataset<Row> keepUnchanged(Dataset<Row> input) {
        return KeyedOperator.apply(input, new FormerRows.Table());
    }

    /**
     * A table whose rows are deleted when they have not changed for some time.
     *
     * @param ttl that time, ms
     */
    public static Dataset<Row> expire(Dataset<Row> input, long ttl) {
        return KeyedOperator.apply(input, new Expire(ttl));
    }

    /**
     * Stream records (side 0) with the current row of a table (side 1).
     *
     * @param condition what both must satisfy besides equal keys; null: nothing
     */
    public static Dataset<Row> streamTableJoin(
            Dataset<Row> input, boolean isOuter, PairCondition condition) {
        return KeyedOperator.apply(input, new TableJoins.StreamTable(isOuter, condition));
    }

    /**
     * A condition for joins.
     *
     * @param template a frame of both rows' columns, filtered by the condition
     * @param left how many columns are the left row's
     */
    public static PairCondition pairCondition(Dataset<Row> template, int left) {
        return PairCondition.of(template, left);
    }

    /**
     * Stream records (side 0) with the row that a table (side 1) had at their time.
     *
     * @param condition what both must satisfy besides equal keys; null: nothing
     * @param grace how long a record waits for rows of the table, in ms of stream time
     * @param idle see KeyedOperator.apply
     */
    public static Dataset<Row> versionedTableJoin(
            Dataset<Row> input, boolean isOuter, PairCondition condition, long grace, long idle) {
        return KeyedOperator.apply(input, new VersionedTableJoin(isOuter, condition, grace), idle);
    }

    /** Rows of two tables with equal keys; an outer side keeps rows without a match. */
    public static Dataset<Row> tableTableJoin(
            Dataset<Row> input, boolean leftOuter, boolean rightOuter) {
        return KeyedOperator.apply(input, new TableJoins.TableTable(leftOuter, rightOuter));
    }

    /**
     * Set operations over the current rows of tables, in postfix notation; a row comes out as the
     * key, with itself or without a value.
     *
     * @param operation numbers of tables, UNION, EXCEPT and INTERSECT; the side of the records of
     *     table n is n, or from 2 on n + 2
     */
    public static Dataset<Row> setOperation(Dataset<Row> input, List<String> operation) {
        return KeyedOperator.apply(input, new SetOperation(operation));
    }

    /**
     * A table's changes: old rows with the sign -1, and new rows with 1, in {@code ws}; the new row
     * is beside the old one too, in {@code r}.
     */
    public static Dataset<Row> tableChanges(Dataset<Row> input) {
        return KeyedOperator.apply(input, new TableChanges());
    }

    /** First part of a foreign-key join: sends rows of the left table to their foreign keys. */
    public static Dataset<Row> foreignKeySubscribe(Dataset<Row> input, boolean isOuter) {
        return KeyedOperator.apply(input, new ForeignKeyJoin.Subscribe(isOuter));
    }

    /**
     * Second part: joins these (side 0) with the right table (side 1), and sends them back to the
     * left keys.
     */
    public static Dataset<Row> foreignKeyAnswer(Dataset<Row> input, boolean isOuter) {
        return KeyedOperator.apply(input, new ForeignKeyJoin.Answer(isOuter));
    }

    /** Third part: passes the answers to the current left rows. */
    public static Dataset<Row> foreignKeyLatest(Dataset<Row> input) {
        return KeyedOperator.apply(input, new ForeignKeyJoin.Latest());
    }

    /**
     * Pairs of records of two streams with the right time in [left - before, left + after]; all
     * times in ms.
     *
     * @param isSemi instead of pairs, records of the left stream with a partner, each once
     * @param condition what both must satisfy besides equal keys; null: nothing
     * @param before negative: records of any times are pairs, all are kept, and no side is outer
     * @param grace how late a record may be; negative: none given, so unmatched rows of an outer
     *     side are emitted at once, and late records are accepted for 24 hours
     * @param idle see KeyedOperator.apply
     */
    public static Dataset<Row> streamStreamJoin(
            Dataset<Row> input,
            boolean leftOuter,
            boolean rightOuter,
            boolean isSemi,
            PairCondition condition,
            long before,
            long after,
            long grace,
            long idle) {
        return KeyedOperator.apply(
                input,
                new StreamStreamJoin(
                        leftOuter, rightOuter, isSemi, condition, before, after, grace),
                idle);
    }

    /**
     * Aggregates for {@link #aggregate}.
     *
     * @param template the aggregates as a global aggregation over a frame of the packed rows'
     *     columns; with {@code hasFilter} its last column is HAVING's predicate
     * @param appended how many of the last aggregates the state may lack, see Aggregator
     */
    public static Aggregator aggregator(Dataset<Row> template, boolean hasFilter, int appended) {
        return Aggregator.of(template, hasFilter, appended);
    }

    /**
     * Aggregates per key, or per key and window. Without windows, a record of side {@code REPLACED}
     * is added and its result is not emitted, as the group's next record follows.
     *
     * @param kind NONE, TUMBLING, HOPPING, CUMULATIVE, SLIDING or SESSION; SLICES is HOPPING with
     *     state of slices, see SliceAggregate
     * @param size window size, inactivity gap, or without windows the TTL of groups (0: none), ms
     * @param advance advance of hopping windows, step of cumulative ones, ms
     * @param calendar of windows by a calendar, see CalendarWindows; else empty
     * @param step of cumulative windows that grow by a calendar, as {@code calendar}; else empty
     * @param grace how late a record may be, ms
     * @param isFinal emit once, when the window closes
     * @param isLossy windows that a jump in time leaves behind are lost; not for sessions and
     *     sliding windows
     * @param idle see KeyedOperator.apply
     * @param every see KeyedOperator.setInterval
     */
    public static Dataset<Row> aggregate(
            Dataset<Row> input,
            Aggregator aggregator,
            String kind,
            long size,
            long advance,
            String calendar,
            String step,
            long grace,
            boolean isFinal,
            boolean isLossy,
            long idle,
            long every) {
        KeyedOperator operator =
                switch (kind) {
                    case "SESSION" -> new SessionAggregate(aggregator, size, grace, isFinal);
                    case "SLIDING" -> new SlidingAggregate(aggregator, size, grace, isFinal);
                    case "SLICES" -> new SliceAggregate(aggregator, size, advance, grace, isLossy);
                    case "NONE" ->
                            new WindowAggregate(aggregator, null, size, grace, isFinal, isLossy);
                    default ->
                            new WindowAggregate(
                                    aggregator,
                                    Windows.of(kind, size, advance, calendar, step),
                                    0,
                                    grace,
                                    isFinal,
                                    isLossy);
                };
        operator.setInterval(every);
        return KeyedOperator.apply(input, operator, idle);
    }
}
