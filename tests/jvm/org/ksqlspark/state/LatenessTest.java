package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.ksqlspark.log.ProcessingLog;

import java.util.function.LongFunction;

/** The grace period that operators report for a late record is the least that would be enough. */
class LatenessTest {
    private static final String LOG = "lateness";

    @AfterEach
    void close() throws InterruptedException {
        ProcessingLog.close(LOG);
    }

    /**
     * How many of the records with these times are late, and the grace period that would be enough;
     * -1: none is late.
     */
    private static long[] late(KeyedOperator operator, String query, int side, long... times) {
        operator.reportTo(LOG, query, null);
        new TaskStates().start(operator);
        for (long time : times) {
            TaskStates.process(operator, new byte[] {1}, side, time, Aggregates.record());
        }
        long late = ProcessingLog.counts(LOG, query)[2];
        long[] graces = ProcessingLog.graces(LOG, query);
        return new long[] {late, graces.length == 0 ? -1 : graces[graces.length - 2]};
    }

    private static void check(
            LongFunction<KeyedOperator> withGrace, long needed, int side, long... times) {
        assertArrayEquals(
                new long[] {1, needed}, late(withGrace.apply(0), "none", side, times), "none");
        assertArrayEquals(
                new long[] {0, -1}, late(withGrace.apply(needed), "enough", side, times), "enough");
        assertEquals(1, late(withGrace.apply(needed - 1), "little", side, times)[0], "one ms less");
    }

    @Test
    void tumblingWindows() {
        check(
                grace ->
                        new WindowAggregate(
                                Aggregates.greatest(),
                                Windows.of("TUMBLING", 10, 10, "", ""),
                                0,
                                grace,
                                false,
                                false),
                4,
                0,
                3,
                13,
                7);
    }

    @Test
    void hoppingWindowsAreLateForTheLatestOne() {
        check(
                grace ->
                        new WindowAggregate(
                                Aggregates.greatest(),
                                Windows.of("HOPPING", 10, 5, "", ""),
                                0,
                                grace,
                                true,
                                false),
                5,
                0,
                3,
                19,
                9);
    }

    @Test
    void slicesOfHoppingWindowsToo() {
        check(
                grace -> new SliceAggregate(Aggregates.greatest(), 10, 5, grace, false),
                5,
                0,
                3,
                19,
                9);
    }

    @Test
    void sessions() {
        check(grace -> new SessionAggregate(Aggregates.greatest(), 5, grace, false), 8, 0, 20, 7);
    }

    @Test
    void aSessionThatIsStillOpenTakesARecordThatIsOlderThanItsGap() {
        KeyedOperator operator = new SessionAggregate(Aggregates.greatest(), 5, 0, false);
        assertEquals(0, late(operator, "open", 0, 20, 24, 16)[0]);
    }

    @Test
    void slidingWindows() {
        check(grace -> new SlidingAggregate(Aggregates.greatest(), 10, grace, false), 8, 0, 30, 11);
    }

    @Test
    void joinsOfStreams() {
        check(grace -> new StreamStreamJoin(false, false, false, null, 2, 3, grace), 5, 1, 30, 21);
    }

    @Test
    void rowsOfAJoinWhosePartnersMayBeGone() {
        long needed = 8;
        for (long grace : new long[] {needed, needed - 1}) {
            KeyedOperator join = new StreamStreamJoin(false, false, false, null, 2, 3, grace);
            join.reportTo(LOG, "partners", null);
            new TaskStates().start(join);
            TaskStates.process(join, new byte[] {1}, 0, 30, Aggregates.record());
            TaskStates.process(join, new byte[] {1}, 1, 21, Aggregates.record());
            assertEquals(needed - grace, ProcessingLog.counts(LOG, "partners")[2]);
        }
    }

    @Test
    void joinsWithVersionsOfATable() {
        check(grace -> new VersionedTableJoin(false, null, grace), 9, 0, 30, 21);
    }
}
