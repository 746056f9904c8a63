package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.aggregate.CollectList;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.ksqlspark.log.ProcessingLog;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** Hopping windows in slices, against windows with state of their own; records are collected. */
class SliceAggregateTest {
    private static final Attribute NUMBER = Aggregates.column("number", DataTypes.IntegerType);
    private static final String LOG = "slices";

    /** An operator, the states that stay when it starts again, and the query that it reports to. */
    private static final class Run {
        final boolean isInSlices;
        final long size;
        final long advance;
        final boolean isLossy;
        final TaskStates states = new TaskStates();
        final String query;
        KeyedOperator operator;

        Run(boolean isInSlices, long size, long advance, boolean isLossy) {
            this.isInSlices = isInSlices;
            this.size = size;
            this.advance = advance;
            this.isLossy = isLossy;
            this.query = System.identityHashCode(this) + "";
        }

        void start(long grace) {
            Aggregator aggregator = Aggregates.of(new CollectList(NUMBER), NUMBER);
            Windows windows = Windows.of("HOPPING", size, advance, "", "");
            operator =
                    isInSlices
                            ? new SliceAggregate(aggregator, size, advance, grace, isLossy)
                            : new WindowAggregate(aggregator, windows, 0, grace, true, isLossy);
            operator.reportTo(LOG, query, null);
            states.start(operator);
        }

        /**
         * The windows that a record closes: key, time, bounds, and the numbers of their records.
         */
        List<String> results(int key, long time, int number) {
            UnsafeRowWriter record = new UnsafeRowWriter(1);
            record.resetRowWriter();
            record.zeroOutNullBytes();
            record.write(0, number);
            byte[] value = record.getRow().getBytes();
            List<String> results = new ArrayList<>();
            for (Row row : TaskStates.process(operator, new byte[] {(byte) key}, 0, time, value)) {
                int[] numbers = PackedRow.view(row.getAs(2), 1).getArray(0).toIntArray();
                Arrays.sort(numbers);
                String bounds = row.get(4) + "-" + row.get(5);
                String group = bounds + " " + row.<byte[]>getAs(0)[0] + " at " + row.get(1);
                results.add(group + " " + Arrays.toString(numbers));
            }
            return results;
        }
    }

    @ParameterizedTest
    @CsvSource({"10, 5", "9, 6", "10, 3", "12, 4", "7, 1", "10, 7", "40, 15", "5, 5"})
    void resultsAreThoseOfWindows(long size, long advance) {
        for (int seed = 0; seed < 20; seed++) {
            Random random = new Random(seed);
            boolean isLossy = random.nextInt(3) == 0;
            boolean isInOrder = random.nextInt(4) == 0;
            long grace = random.nextInt(3) == 0 ? 0 : random.nextInt(30);
            Run slices = new Run(true, size, advance, isLossy);
            Run windows = new Run(false, size, advance, isLossy);
            slices.start(grace);
            windows.start(grace);
            long now = 0;
            int closed = 0;
            for (int i = 0; i < 300; i++) {
                boolean isJump = random.nextInt(40) == 0;
                now += isJump ? random.nextInt(200) : random.nextInt(3);
                long time = isInOrder ? now : now - random.nextInt(2 + (int) (size + grace));
                int key = random.nextInt(4);
                List<String> found = slices.results(key, time, i);
                List<String> wanted = windows.results(key, time, i);
                if (!isInOrder) { // keys of a window come in another order
                    found.sort(null);
                    wanted.sort(null);
                }
                String where = "seed " + seed + " record " + i;
                assertEquals(wanted, found, where);
                assertEquals(windows.operator.end(), slices.operator.end(), where);
                closed += found.size();
                if (random.nextInt(25) == 0) {
                    grace -= random.nextInt(2) == 0 ? 0 : Math.min(grace, random.nextInt(4));
                    slices.start(grace); // as a new batch, whose plan may have a shorter grace
                    windows.start(grace);
                }
            }
            assertTrue(closed > 0, "seed " + seed);
            assertArrayEquals(
                    ProcessingLog.counts(LOG, windows.query),
                    ProcessingLog.counts(LOG, slices.query),
                    "seed " + seed);
            slices.results(5, 100_000, 0);
            assertEquals(1, slices.states.size("groups"), "seed " + seed);
            assertEquals(1, slices.states.size("members"), "seed " + seed);
            assertEquals(1, slices.states.size("slices"), "seed " + seed);
        }
    }

    @Test
    void aRecordIsKeptOnceHoweverManyWindowsItIsIn() {
        Run slices = new Run(true, 1000, 10, false);
        slices.start(0);
        slices.results(1, 5000, 0);
        assertEquals(1, slices.states.size("groups"));
        slices.results(1, 5009, 1);
        assertEquals(1, slices.states.size("groups"));
    }

    @Test
    void slicesReachFromBoundToBound() {
        Run slices = new Run(true, 9, 6, false); // bounds: 0 6 9 12 15 18 21
        slices.start(0);
        for (int time = 12; time < 21; time++) {
            slices.results(1, time, time);
        }
        assertEquals(3, slices.states.size("groups"));
    }
}
