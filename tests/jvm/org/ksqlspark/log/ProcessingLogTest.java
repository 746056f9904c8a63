package org.ksqlspark.log;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;

class ProcessingLogTest {
    @Test
    void countsWhatHappenedToAQuerysRecordsEvenWhereNothingIsWritten() throws InterruptedException {
        ProcessingLog log = ProcessingLog.of("test");
        try {
            log.late("Q1", null);
            log.failed("Q1", "Project", "failed", "cause", "{}");
            log.failed("Q1", "Project", "failed", null, null);
            log.lost("Q1", "t", "deleted", 3);
            long[] counts = ProcessingLog.counts("test", "Q1");
            assertArrayEquals(new long[] {0, 2, 1, 3}, Arrays.copyOf(counts, 4));
            assertTrue(counts[4] > 0, "when it was");
            assertArrayEquals(new long[5], ProcessingLog.counts("test", "Q2"));
        } finally {
            ProcessingLog.close("test");
        }
    }

    @Test
    void theGracePeriodsThatWouldHaveBeenEnoughAreCounted() throws InterruptedException {
        ProcessingLog log = ProcessingLog.of("late");
        try {
            log.late("Q1", null);
            assertArrayEquals(new long[0], ProcessingLog.graces("late", "Q1"));
            for (long grace = 6; grace <= 17; grace++) {
                log.late("Q1", grace);
            }
            long[] graces = ProcessingLog.graces("late", "Q1");
            long[] eachAlone =
                    LongStream.rangeClosed(6, 15).flatMap(n -> LongStream.of(n, 1)).toArray();
            assertArrayEquals(eachAlone, Arrays.copyOf(graces, 20));
            assertArrayEquals(new long[] {17, 2}, Arrays.copyOfRange(graces, 20, graces.length));
            // as an executor tells the driver
            ProcessingLog.count("driver", ProcessingLog.takeCounts().get("late"));
            assertArrayEquals(graces, ProcessingLog.graces("driver", "Q1"));
            assertArrayEquals(new long[0], ProcessingLog.graces("late", "Q1"));
            assertEquals(13, ProcessingLog.counts("driver", "Q1")[2]);
        } finally {
            ProcessingLog.close("late");
            ProcessingLog.close("driver");
        }
    }

    @Test
    void aBucketHasTheGracePeriodsUpToItsGreatest() {
        long[] periods = {0, 1, 7, 8, 9, 15, 16, 17, 1000, 86_400_000, Long.MAX_VALUE / 2};
        for (long period : periods) {
            int bucket = Graces.bucket(period);
            assertTrue(Graces.greatest(bucket) >= period, period + " in " + bucket);
            assertTrue(bucket == 0 || Graces.greatest(bucket - 1) < period, "not before");
            assertTrue(Graces.greatest(bucket) - period <= period / 8, "not far");
        }
    }

    @Test
    void entriesThatAreGatheredNameTheRecordThatTheRowComesFrom() throws InterruptedException {
        ProcessingLog.gather("gathered");
        try {
            ProcessingLog log = ProcessingLog.of("gathered");
            LogEntry.Input at = new LogEntry.Input("t", 3, 14);
            log.failed("Q1", "Project", "failed", null, null, at, false);
            assertArrayEquals(new long[5], ProcessingLog.counts("gathered", "Q1"));
            log.failed("Q1", "HavingFilter", "failed", null, null);
            List<String> found = ProcessingLog.gathered("gathered");
            String input = "\"input\":{\"topic\":\"t\",\"partition\":3,\"offset\":14}}";
            assertTrue(found.get(0).endsWith(input), found.get(0));
            assertFalse(found.get(1).contains("input"), found.get(1));
            assertEquals(2, found.size());
            assertEquals(List.of(), ProcessingLog.gathered("gathered"));
        } finally {
            ProcessingLog.close("gathered");
        }
    }
}
