package org.ksqlspark.log;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.util.Arrays;

class ProcessingLogTest {
    @Test
    void aLoggerWritesSoMuchASecondAndReportsTheRestOnce() {
        ProcessingLog.Allowance allowance = new ProcessingLog.Allowance();
        for (int i = 0; i < ProcessingLog.MAX_PER_SECOND; i++) {
            assertTrue(allowance.take(100));
        }
        assertFalse(allowance.take(100));
        assertFalse(allowance.take(100));
        assertEquals(0, allowance.report(100, false), "the second is not over");
        assertEquals(2, allowance.report(101, false));
        assertEquals(0, allowance.report(101, false));
        assertTrue(allowance.take(101));
    }

    @Test
    void aClosingLogReportsAtOnce() {
        ProcessingLog.Allowance allowance = new ProcessingLog.Allowance();
        allowance.take(100);
        allowance.leaveOut();
        assertEquals(1, allowance.report(100, true));
    }

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
}
