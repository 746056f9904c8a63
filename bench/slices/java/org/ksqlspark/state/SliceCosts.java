package org.ksqlspark.state;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.DataTypes;
import org.ksqlspark.internals.state.BeforeCommit;

import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.Random;

/** Prints what run.py says. Arguments: records, keys, rounds, and records per key and slice. */
public final class SliceCosts {
    private static final int TASK = 3;
    private static final long ADVANCE = 1000;
    private static final long SIZE = 5 * ADVANCE;

    /** A batch of so many records ends with a write of what has changed. */
    private static final int BATCH = 10_000;

    private SliceCosts() {}

    private static final class Run {
        private final KeyedOperator operator;
        private final Method write;

        Run(boolean isInSlices) throws ReflectiveOperationException {
            Attribute number = Aggregates.column("number", DataTypes.LongType);
            Aggregator aggregator = Aggregates.of(new Sum(number), number);
            Windows windows = Windows.of("HOPPING", SIZE, ADVANCE, "", "");
            operator =
                    new TaskStates()
                            .start(
                                    isInSlices
                                            ? new SliceAggregate(
                                                    aggregator, SIZE, ADVANCE, 0, false)
                                            : new WindowAggregate(
                                                    aggregator, windows, 0, 0, true, false));
            Field isLater = KeyedOperator.class.getDeclaredField("isWrittenBeforeCommit");
            isLater.setAccessible(true);
            isLater.setBoolean(operator, true);
            write = KeyedOperator.class.getDeclaredMethod("write");
            write.setAccessible(true);
        }

        /** Processes records whose times fill slices evenly; returns how many results there are. */
        int process(int records, int keys, int perSlice) {
            Random random = new Random(1);
            UnsafeRowWriter writer = new UnsafeRowWriter(1);
            int[] results = {0};
            for (int first = 0; first < records; first += BATCH) {
                int begin = first;
                scala.collection.Iterator<Row> rows =
                        new scala.collection.AbstractIterator<>() {
                            private int i = begin;

                            @Override
                            public boolean hasNext() {
                                return i < Math.min(records, begin + BATCH);
                            }

                            @Override
                            public Row next() {
                                writer.reset();
                                writer.resetRowWriter();
                                writer.zeroOutNullBytes();
                                writer.write(0, (long) i);
                                byte[] value = writer.getRow().getBytes();
                                byte[] key =
                                        ByteBuffer.allocate(16)
                                                .putLong(random.nextInt(keys))
                                                .array();
                                long time = i * ADVANCE / ((long) keys * perSlice);
                                i++;
                                return RowFactory.create(TASK, key, 0, time, value, null);
                            }
                        };
                BeforeCommit.with(
                        TASK,
                        () -> {
                            operator.handleInputRows(TASK, rows, null).foreach(row -> results[0]++);
                            try {
                                write.invoke(operator);
                            } catch (ReflectiveOperationException error) {
                                throw new IllegalStateException(error);
                            }
                        });
            }
            return results[0];
        }
    }

    public static void main(String[] arguments) throws ReflectiveOperationException {
        int records = Integer.parseInt(arguments[0]);
        int keys = Integer.parseInt(arguments[1]);
        int rounds = Integer.parseInt(arguments[2]);
        CacheBudget.shared().bound(32 << 20);
        for (int n = 3; n < arguments.length; n++) {
            int perSlice = Integer.parseInt(arguments[n]);
            for (int round = 0; round <= rounds; round++) {
                double[] micros = new double[2];
                int[] results = new int[2];
                for (int side = 0; side < 2; side++) {
                    Run run = new Run(side == 1);
                    long before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
                    results[side] = run.process(records, keys, perSlice);
                    long after = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
                    micros[side] = (after - before) / 1000.0 / records;
                }
                System.out.printf(
                        "%d per key and slice, round %d: windows %.2f, slices %.2f, ÷ %.2f; %d and"
                                + " %d results%n",
                        perSlice,
                        round,
                        micros[0],
                        micros[1],
                        micros[0] / micros[1],
                        results[0],
                        results[1]);
            }
        }
    }
}
