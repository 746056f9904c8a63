package org.ksqlspark.log;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.util.Arrays;

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
}
