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
}
