package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;

import java.util.List;

class StreamStreamJoinTest {
    private static final byte[] VALUE = {1};

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
}
