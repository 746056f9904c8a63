package org.ksqlspark.log;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.List;

class ProcessingLogTest {
    @Test
    void countsWhatHappenedToAQuerysRecordsEvenWhereNothingIsWritten() throws InterruptedException {
        ProcessingLog log = ProcessingLog.of("test");
        try {
            log.late("Q1");
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
