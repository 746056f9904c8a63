package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** Frames of rows and of time: which rows they have, and which rows the state keeps. */
class OverTest {
    /** The bytes of a row's arguments, and of its time and length in the state. */
    private static final int ROW = 16 + 12;

    private final TaskStates states = new TaskStates();

    private Over operator;

    /** Whose result is the greatest value. */
    private static Aggregator greatest() {
        Attribute value = Aggregates.column("v", DataTypes.IntegerType);
        return Aggregates.of(new Max(value), value);
    }

    /** A frame of each kind: of 10 ms, of the row and the one before it, of all rows. */
    private void start() {
        List<Aggregator> aggregators = List.of(greatest(), greatest(), greatest());
        List<Integer> firsts = List.of(-1, 1, -1);
        operator =
                states.start(
                        new Over(
                                aggregators,
                                firsts,
                                List.of(0, 0, 0),
                                List.of(10L, -1, -1),
                                List.of(true, true, true),
                                -1));
    }

    /** The results of the frames for a record. */
    private List<Integer> over(long time, int value) {
        List<Row> results = process((byte) 1, time, value);
        assertEquals(1, results.size());
        assertEquals(time, results.get(0).getLong(1));
        UnsafeRow frames = PackedRow.view((byte[]) results.get(0).get(3), 3);
        return List.of(result(frames, 0), result(frames, 1), result(frames, 2));
    }

    private List<Row> process(byte key, long time, int value) {
        UnsafeRowWriter record = new UnsafeRowWriter(2);
        record.resetRowWriter();
        record.zeroOutNullBytes();
        record.write(0, new byte[] {7});
        record.write(1, arguments(value));
        byte[] bytes = record.getRow().getBytes();
        return TaskStates.process(operator, new byte[] {key}, 0, time, bytes);
    }

    private static byte[] arguments(int value) {
        UnsafeRowWriter arguments = new UnsafeRowWriter(1);
        arguments.resetRowWriter();
        arguments.zeroOutNullBytes();
        arguments.write(0, value);
        return arguments.getRow().getBytes();
    }

    private static Integer result(UnsafeRow frames, int number) {
        UnsafeRow result = PackedRow.view(frames.getBinary(number), 1);
        return result.isNullAt(0) ? null : result.getInt(0);
    }

    /** Time, second value after it, and greatest value so far, of each record that leaves. */
    private List<List<Object>> leaving(int key, long time, int value) {
        return process((byte) key, time, value).stream()
                .map(
                        row -> {
                            UnsafeRow frames = PackedRow.view((byte[]) row.get(3), 2);
                            return Arrays.<Object>asList(
                                    row.getLong(1), result(frames, 0), result(frames, 1));
                        })
                .toList();
    }

    private void startWaiting(long within) {
        List<Aggregator> aggregators = List.of(greatest(), greatest());
        operator =
                states.start(
                        new Over(
                                aggregators,
                                List.of(-2, -1),
                                List.of(-2, 0),
                                List.of(-1L, -1L),
                                List.of(true, true),
                                within));
    }

    @Test
    void aFrameHasTheRowsOfItsTime() {
        start();
        assertEquals(List.of(9, 9, 9), over(100, 9));
        assertEquals(List.of(9, 9, 9), over(110, 5));
        assertEquals(List.of(5, 5, 9), over(111, 3));
        assertEquals(List.of(7, 7, 9), over(111, 7));
        // a late row: those that are too old for the latest row are gone, but it counts itself
        assertEquals(List.of(2, 7, 9), over(105, 2));
        assertEquals(List.of(1, 2, 9), over(90, 1));
        assertEquals(List.of(7, 4, 9), over(112, 4));
    }

    @Test
    void theStateKeepsTheRowsOfTheLongestFramesAndIsReadAgain() {
        start();
        for (int i = 0; i < 100; i++) {
            over(i, i);
        }
        assertEquals(11 * ROW, states.bytes("recent"));
        start();
        assertEquals(List.of(99, 99, 99), over(100, 1));
        over(1000, 1);
        assertEquals(ROW, states.bytes("recent"));
    }

    @Test
    void aRecordWaitsForThoseAfterIt() {
        startWaiting(-1);
        assertEquals(List.of(), leaving(1, 100, 5));
        assertEquals(List.of(), leaving(2, 100, 6));
        assertEquals(List.of(), leaving(1, 90, 9));
        startWaiting(-1);
        assertEquals(List.of(List.of(100L, 1, 5)), leaving(1, 500, 1));
        assertEquals(List.of(List.of(90L, 2, 9)), leaving(1, 500, 2));
    }

    @Test
    void aKeyIsForgottenAfterItsLatestRecord() {
        startWaiting(10);
        assertEquals(List.of(), leaving(1, 100, 5));
        assertEquals(List.of(), leaving(1, 110, 9));
        assertEquals(List.of(List.of(100L, 4, 5)), leaving(1, 101, 4));
        assertEquals(List.of(), leaving(2, 120, 6));
        startWaiting(10);
        // what waits leaves, and the key begins anew
        assertEquals(
                List.of(Arrays.asList(110L, null, 9), Arrays.asList(101L, null, 9)),
                leaving(1, 121, 3));
        // too late to be remembered
        assertEquals(List.of(Arrays.asList(90L, null, 8)), leaving(3, 90, 8));
        assertEquals(
                List.of(Arrays.asList(120L, null, 6), Arrays.asList(121L, null, 3)),
                leaving(4, 1000, 1));
        assertEquals(List.of(Arrays.asList(1000L, null, 1)), leaving(4, 2000, 1));
        assertEquals(1, states.size("latest"));
        assertEquals(1, states.size("queue"));
    }

    /** A record with its place in the order of arrival. */
    private record Arrived(long time, int value) {}

    /** Sums over the last 300 ms, the last 200 rows, and the 100th to the 50th row before. */
    private void startLong(boolean merges) {
        Attribute value = Aggregates.column("v", DataTypes.IntegerType);
        List<Aggregator> aggregators = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            aggregators.add(Aggregates.of(new Sum(value), value));
        }
        operator =
                states.start(
                        new Over(
                                aggregators,
                                List.of(-1, 200, 100),
                                List.of(0, 0, 50),
                                List.of(300L, -1L, -1L),
                                List.of(merges, merges, merges),
                                -1));
    }

    private static List<Long> expected(List<Arrived> all) {
        int last = all.size() - 1;
        long latest = all.stream().mapToLong(Arrived::time).max().orElseThrow();
        long[] sums = new long[3];
        for (int n = 0; n <= last; n++) {
            Arrived row = all.get(n);
            boolean isInTime = row.time >= latest - 300 && row.time <= all.get(last).time;
            sums[0] += isInTime || n == last ? row.value : 0;
            sums[1] += n >= last - 200 ? row.value : 0;
            sums[2] += n >= last - 100 && n <= last - 50 ? row.value : 0;
        }
        return Arrays.stream(sums).boxed().toList();
    }

    @Test
    void longFramesHaveTheRowsOfAllPages() {
        for (boolean merges : List.of(true, false)) {
            Random random = new Random(7);
            List<Arrived> all = new ArrayList<>();
            startLong(merges);
            for (int n = 0; n < 2000; n++) {
                if (n % 300 == 299) {
                    startLong(merges);
                }
                // dense for a while, then sparse; some rows are late, a few by more than the frame
                long time = (n < 1000 ? n : 40L * n) - random.nextInt(n % 50 == 0 ? 600 : 20);
                all.add(new Arrived(time, random.nextInt(100)));
                Row row = process((byte) 2, time, all.get(n).value).get(0);
                UnsafeRow frames = PackedRow.view((byte[]) row.get(3), 3);
                List<Long> found = new ArrayList<>();
                for (int i = 0; i < 3; i++) {
                    UnsafeRow result = PackedRow.view(frames.getBinary(i), 1);
                    found.add(result.isNullAt(0) ? 0 : result.getLong(0));
                }
                assertEquals(expected(all), found);
            }
            assertTrue(states.size("pages") <= 200 / RecentRows.MOST + 2);
            states.clear();
        }
    }

    /** What a row writes does not grow with the rows of its frames. */
    @Test
    void aRowWritesOnePage() {
        long[] written = new long[2];
        for (int side = 0; side < 2; side++) {
            states.clear();
            operator =
                    states.start(
                            new Over(
                                    List.of(greatest()),
                                    List.of(-1),
                                    List.of(0),
                                    List.of(side == 0 ? 500L : 4000L),
                                    List.of(true),
                                    -1));
            for (int n = 0; n < 5000; n++) {
                process((byte) 1, n, n);
            }
            written[side] = states.bytesWritten();
        }
        assertTrue(written[1] < 2 * written[0], Arrays.toString(written));
    }

    @Test
    void theRowsOfAnEarlierReleaseBecomePages() {
        List<Aggregator> aggregators = List.of(greatest());
        operator =
                states.start(
                        new Over(
                                aggregators,
                                List.of(-1),
                                List.of(0),
                                List.of(1000L),
                                List.of(true),
                                -1));
        ByteBuffer before = ByteBuffer.allocate(500 * ROW);
        for (int n = 0; n < 500; n++) {
            byte[] arguments = arguments(n);
            before.putLong(n).putInt(arguments.length).put(arguments);
        }
        states.put("recent", new byte[] {1}, before.array());
        Row row = process((byte) 1, 499, 3).get(0);
        UnsafeRow frames = PackedRow.view((byte[]) row.get(3), 1);
        assertEquals(499, result(frames, 0));
        assertEquals(7, states.size("pages"));
        assertEquals(53 * ROW, states.bytes("recent"));
    }
}
