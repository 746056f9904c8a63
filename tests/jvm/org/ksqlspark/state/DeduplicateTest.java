package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** De-duplication against a model: each key's first time, and stream time. */
class DeduplicateTest {
    private final TaskStates states = new TaskStates();

    private Deduplicate operator;

    private void start(long within) {
        operator = states.start(new Deduplicate(within));
    }

    /** Whether a record passes; it goes on unchanged then. */
    private boolean passes(int key, long time) {
        byte[] value = {7};
        List<Row> results = TaskStates.process(operator, new byte[] {(byte) key}, 0, time, value);
        for (Row result : results) {
            assertEquals(time, result.getLong(1));
            assertEquals(value, result.get(2));
        }
        return !results.isEmpty();
    }

    @Test
    void theFirstRecordOfEachKeyPasses() {
        start(-1);
        assertTrue(passes(1, 10));
        assertTrue(!passes(1, 20) && !passes(1, 5) && !passes(1, 1L << 50));
        assertTrue(passes(2, 0));
    }

    @Test
    void aKeyIsForgottenOnceStreamTimeIsPastItsTime() {
        start(100);
        assertTrue(passes(1, 1000));
        assertTrue(!passes(1, 1100));
        assertTrue(passes(2, 1101) && passes(1, 1050));
        assertTrue(!passes(1, 1051));
    }

    @Test
    void whatWouldBeForgottenAtOncePassesAndIsNotStored() {
        start(100);
        assertTrue(passes(1, 1000));
        assertTrue(passes(2, 899) && passes(2, 899));
        assertTrue(passes(2, 900) && !passes(2, 900));
        assertEquals(2, states.size("firsts"));
    }

    @Test
    void theStateHoldsWhatIsRememberedAndIsReadAgain() {
        start(100);
        for (int i = 0; i < 1000; i++) {
            passes(i % 128, i * 10L);
        }
        assertEquals(11, states.size("firsts"));
        assertEquals(11, states.size("queue"));
        start(100);
        assertTrue(!passes(999 % 128, 9990) && passes(988 % 128, 9990));
    }

    @Test
    void itIsAsTheModelSays() {
        for (int seed = 0; seed < 200; seed++) {
            Random random = new Random(seed);
            long within = random.nextInt(4) == 0 ? -1 : random.nextInt(60);
            DeduplicateTest run = new DeduplicateTest();
            run.start(within);
            Map<Integer, Long> firsts = new HashMap<>();
            long streamTime = Long.MIN_VALUE;
            for (int i = 0; i < 200; i++) {
                int key = random.nextInt(8);
                long time =
                        Math.max(0, i + random.nextInt(30) - (random.nextInt(9) == 0 ? 90 : 15));
                streamTime = Math.max(streamTime, time);
                Long first = firsts.get(key);
                boolean isKnown = first != null && (within < 0 || first + within >= streamTime);
                if (!isKnown) {
                    firsts.put(key, time);
                }
                assertEquals(!isKnown, run.passes(key, time), "seed " + seed + ", record " + i);
                if (random.nextInt(50) == 0) {
                    run.start(within);
                }
            }
        }
    }
}
