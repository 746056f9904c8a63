package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;

import java.util.List;

class StreamStreamJoinTest {
    private static final byte[] VALUE = {1};
    private static final byte[] KEY = {7};

    private final KeyedOperator operator =
            new TaskStates().start(new StreamStreamJoin(true, false, false, null, 10, 10, 5));

    private List<Row> process(int key, int side, long time, byte[] value) {
        return TaskStates.process(operator, new byte[] {(byte) key}, side, time, value);
    }

    @Test
    void recordsWithoutValueDoNotMoveTheTime() {
        assertEquals(0, process(1, 0, 100, VALUE).size());
        assertEquals(0, process(2, 0, 5000, null).size());
        assertEquals(0, process(2, 1, 5000, null).size());
        assertEquals(1, process(1, 1, 105, VALUE).size());
        assertEquals(0, process(3, 0, 110, VALUE).size());
        List<Row> alone = process(4, 0, 200, VALUE);
        assertEquals(1, alone.size());
        assertEquals(110, alone.get(0).getLong(1));
    }

    @Test
    void aLateRowWaitsForItsPartnerUntilTheGracePeriodIsOver() {
        assertEquals(0, process(1, 0, 100, VALUE).size());
        assertEquals(0, process(2, 0, 85, VALUE).size()); // its window is over: 95
        assertEquals(0, process(3, 0, 86, VALUE).size());
        assertEquals(1, process(4, 0, 84, VALUE).size()); // its grace period, too: 99
        List<Row> pair = process(2, 1, 90, VALUE);
        assertEquals(1, pair.size());
        assertEquals(90, pair.get(0).getLong(1));
        List<Row> later = process(1, 1, 102, VALUE);
        assertEquals(
                List.of(86L, 102L), later.stream().map(row -> row.getLong(1)).sorted().toList());
    }

    @Test
    void withoutAWindowRowsOfAllTimesMatchAndAllAreKept() {
        TaskStates store = new TaskStates();
        KeyedOperator first =
                store.start(new StreamStreamJoin(false, false, false, null, -1, -1, -1));
        byte[] large = new byte[3000]; // a part of a group takes two of them
        for (int n = 0; n < 5; n++) {
            large[0] = (byte) n;
            long time = n % 2 == 0 ? n : 1_000_000_000_000L - n;
            assertEquals(0, TaskStates.process(first, KEY, 0, time, large.clone()).size());
        }
        assertEquals(0, TaskStates.process(first, new byte[0], 0, 7, VALUE).size());
        assertEquals(0, TaskStates.process(first, new byte[] {8}, 1, -5, VALUE).size());
        assertEquals(List.of(0L, 2L, 4L, 999_999_999_997L, 999_999_999_999L), times(first, -5));
    }

    private static List<Long> times(KeyedOperator operator, long time) {
        return TaskStates.process(operator, KEY, 1, time, VALUE).stream()
                .map(row -> row.getLong(1))
                .toList();
    }
}
