package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Results that are held until an interval ends, and the operator that emits them then. */
class HeldResultsTest {
    private static final long LONG = 1L << 40;

    /** Emits what a record says: a row, a deletion (no value), a row that is new (side 1). */
    private static final class Operator extends KeyedOperator {
        Operator(long every) {
            setInterval(every);
        }

        @Override
        protected void open() {}

        @Override
        protected void process(byte[] key, int side, long ts, byte[] value) {
            if (key[0] < 0) {
                emitChange(key, ts, value, ts, ts + 10, side == 1);
            } else {
                emitChange(key, ts, value, side == 1);
            }
        }
    }

    private final TaskStates states = new TaskStates();

    private Operator operator = states.start(new Operator(LONG));

    private List<Row> process(int key, int side, long ts, int... value) {
        byte[] row = value.length == 0 ? null : new byte[] {(byte) value[0]};
        return TaskStates.process(operator, new byte[] {(byte) key}, side, ts, row);
    }

    /** What the operator emits once the interval has ended, after a restart. */
    private List<Row> released() {
        operator = states.start(new Operator(1));
        List<Row> rows = new ArrayList<>();
        while (states.size("held-queue") > 0) {
            rows.addAll(
                    TaskStates.process(operator, new byte[0], KeyedOperator.HEARTBEAT, 0, null));
        }
        operator = states.start(new Operator(LONG));
        return rows;
    }

    @Test
    void onlyTheLastResultOfAKeyIsEmittedWhenTheIntervalEnds() {
        assertEquals(List.of(), process(1, 1, 10, 1));
        assertEquals(List.of(), process(2, 1, 20, 2));
        assertEquals(List.of(), process(1, 0, 30, 3));
        List<Row> rows = released();
        assertEquals(2, rows.size());
        assertArrayEquals(new byte[] {1}, (byte[]) rows.get(0).get(0));
        assertEquals(30, rows.get(0).getLong(1));
        assertArrayEquals(new byte[] {3}, (byte[]) rows.get(0).get(2));
        assertArrayEquals(new byte[] {2}, (byte[]) rows.get(1).get(0));
        assertEquals(List.of(), released());
        assertEquals(0, states.size("held"));
    }

    /** Micro-batches are shorter than an interval, and each has an operator of its own. */
    @Test
    void anIntervalGoesOnInTheNextBatch() {
        operator = states.start(new Operator(200));
        List<Row> rows = new ArrayList<>(process(1, 1, 10, 1));
        for (long began = System.nanoTime(); rows.isEmpty(); ) {
            assertTrue(System.nanoTime() - began < 20_000_000_000L);
            operator = states.start(new Operator(200));
            rows.addAll(
                    TaskStates.process(operator, new byte[0], KeyedOperator.HEARTBEAT, 0, null));
        }
        assertEquals(1, rows.size());
        assertEquals(0, states.size("held") + states.size("held-until"));
    }

    @Test
    void windowsAreHeldApart() {
        process(-1, 1, 10, 1);
        process(-1, 1, 20, 2);
        List<Row> rows = released();
        assertEquals(2, rows.size());
        assertEquals(10, rows.get(0).getLong(4));
        assertEquals(30, rows.get(1).getLong(5));
    }

    @Test
    void aRowThatNobodySawNeedsNoDeletion() {
        process(1, 1, 10, 1);
        process(1, 0, 20);
        assertEquals(List.of(), released());
        process(1, 1, 30, 1);
        assertEquals(1, released().size());
        process(1, 0, 40, 2);
        process(1, 0, 50);
        List<Row> rows = released();
        assertEquals(1, rows.size());
        assertNull(rows.get(0).get(2));
    }

    @Test
    void anyChangesEndAsTheyWouldWithoutIntervals() {
        for (int seed = 0; seed < 100; seed++) {
            Random random = new Random(seed);
            HeldResultsTest run = new HeldResultsTest();
            Map<Integer, Integer> table = new HashMap<>();
            Map<Integer, Integer> seen = new HashMap<>();
            for (int i = 0; i < 60; i++) {
                int key = random.nextInt(4);
                if (random.nextInt(3) > 0) {
                    run.process(key, table.containsKey(key) ? 0 : 1, i, i);
                    table.put(key, i);
                } else if (table.remove(key) != null) {
                    run.process(key, 0, i);
                }
                if (random.nextInt(6) == 0) {
                    run.release(seen);
                    assertEquals(table, seen);
                }
            }
        }
    }

    /**
     * Applies what is released to a table; no key comes twice, and what is not there is not
     * deleted.
     */
    private void release(Map<Integer, Integer> seen) {
        Map<Integer, Integer> before = new HashMap<>(seen);
        List<Integer> keys = new ArrayList<>();
        for (Row row : released()) {
            int key = ((byte[]) row.get(0))[0];
            assertEquals(false, keys.contains(key));
            keys.add(key);
            if (row.get(2) == null) {
                assertEquals(true, before.containsKey(key));
                seen.remove(key);
            } else {
                seen.put(key, (int) ((byte[]) row.get(2))[0]);
            }
        }
    }
}
