package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

/** A table whose rows expire, against a model: each key's last change, and stream time. */
class ExpireTest {
    private static final byte[] VALUE = {7};

    private final TaskStates states = new TaskStates();

    /** What the results make of a table: the time of each key's row. */
    private final Map<Integer, Long> table = new HashMap<>();

    private Expire operator;

    private void start(long ttl) {
        operator = states.start(new Expire(ttl));
    }

    private List<Row> process(int key, long time, byte[] value) {
        List<Row> results = TaskStates.process(operator, new byte[] {(byte) key}, 0, time, value);
        for (Row result : results) {
            int changed = ((byte[]) result.get(0))[0];
            if (result.get(2) == null) {
                assertNotNull(table.remove(changed), "a deletion of what is not there");
            } else {
                table.put(changed, result.getLong(1));
            }
        }
        return results;
    }

    @Test
    void aRowIsDeletedOnceItsTimeHasPassed() {
        start(64);
        process(1, 100, VALUE);
        process(2, 150, VALUE);
        assertEquals(Map.of(1, 100L, 2, 150L), table);
        List<Row> results = process(2, 166, VALUE);
        assertEquals(Map.of(2, 166L), table);
        Row deletion = results.get(1);
        assertArrayEquals(new byte[] {1}, (byte[]) deletion.get(0));
        assertEquals(164L, deletion.getLong(1));
    }

    @Test
    void aChangeBeginsItsTimeAnew() {
        start(64);
        process(1, 100, VALUE);
        process(1, 160, VALUE);
        process(2, 200, VALUE);
        assertEquals(Map.of(1, 160L, 2, 200L), table);
        process(2, 226, VALUE);
        assertEquals(Map.of(2, 226L), table);
    }

    @Test
    void aRowThatHasExpiredAlreadyIsNoRow() {
        start(64);
        process(1, 1000, VALUE);
        assertTrue(process(2, 936, VALUE).isEmpty());
        process(1, 900, VALUE);
        assertEquals(Map.of(1, 900L), table, "a late change of a row that has not expired");
    }

    @Test
    void nothingIsKeptOfWhatHasExpired() {
        start(64);
        for (int key = 0; key < 100; key++) {
            process(key, key, key % 3 == 0 ? null : VALUE);
            process(key, key, key % 2 == 0 ? null : VALUE);
        }
        process(101, 10_000, VALUE);
        assertEquals(Map.of(101, 10_000L), table);
        assertEquals(1, states.size("rows"));
        assertEquals(1, states.size("expiring"));
        assertEquals(1, states.size("slices"));
    }

    @Test
    void itIsAsTheModelSays() {
        for (int seed = 0; seed < 200; seed++) {
            Random random = new Random(seed);
            long ttl = 1 + random.nextInt(50); // so short that its slices are 1 ms
            ExpireTest run = new ExpireTest();
            run.start(ttl);
            Map<Integer, Long> changes = new HashMap<>();
            Set<Integer> rows = new HashSet<>();
            long streamTime = Long.MIN_VALUE;
            for (int i = 0; i < 300; i++) {
                int key = random.nextInt(12);
                long time =
                        Math.max(0, i + random.nextInt(30) - (random.nextInt(9) == 0 ? 90 : 15));
                streamTime = Math.max(streamTime, time);
                boolean isDeletion = random.nextInt(5) == 0;
                if (isDeletion) {
                    changes.computeIfPresent(key, (k, last) -> Math.max(last, time));
                    rows.remove(key);
                } else {
                    changes.merge(key, time, Math::max);
                    rows.add(key);
                }
                run.process(key, time, isDeletion ? null : VALUE);
                long now = streamTime;
                String where = "seed " + seed + ", record " + i;
                rows.removeIf(row -> changes.get(row) <= now - ttl);
                changes.values().removeIf(last -> last <= now - ttl);
                assertEquals(rows, run.table.keySet(), where);
                if (random.nextInt(50) == 0) {
                    run.start(ttl);
                }
            }
        }
    }
}
