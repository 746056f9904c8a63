package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** A foreign-key join whose parts lose different amounts of work. */
class ForeignKeyJoinTest {
    private static final byte[] LEFT_KEY = {1};
    private static final byte[] RIGHT_KEY = {2};

    private KeyedOperator subscribe = new TaskStates().start(subscribe());
    private final KeyedOperator answer = new TaskStates().start(new ForeignKeyJoin.Answer(false));
    private final KeyedOperator latest = new TaskStates().start(new ForeignKeyJoin.Latest());

    private static KeyedOperator subscribe() {
        return new ForeignKeyJoin.Subscribe(false);
    }

    /** The results after a left row has gone through the three parts. */
    private List<String> results(String row) {
        byte[] text = row.getBytes(StandardCharsets.UTF_8);
        ByteBuffer value = ByteBuffer.allocate(5 + text.length).putInt(1).put(RIGHT_KEY).put(text);
        List<String> results = new ArrayList<>();
        for (Row message : TaskStates.process(subscribe, LEFT_KEY, 0, 1, value.array())) {
            for (Row answered :
                    TaskStates.process(answer, message.getAs(0), 0, 1, message.getAs(2))) {
                byte[] left = answered.getAs(2);
                byte[] right = answered.getAs(3);
                ByteBuffer both = ByteBuffer.allocate(4 + left.length + right.length);
                both.putInt(left.length).put(left).put(right);
                for (Row result :
                        TaskStates.process(latest, answered.getAs(0), 0, 1, both.array())) {
                    results.add(new String(result.<byte[]>getAs(2), StandardCharsets.UTF_8));
                }
            }
        }
        return results;
    }

    /**
     * After a crash, the first part may have less state than the last one, and Kafka may have
     * removed the rows between by compaction.
     */
    @Test
    void aRowIsJoinedAfterTheFirstPartLostItsState() {
        TaskStates.process(answer, RIGHT_KEY, 1, 1, new byte[] {9});
        for (int i = 0; i < 5; i++) {
            assertEquals(List.of("row " + i), results("row " + i));
        }
        long started = System.currentTimeMillis();
        while (System.currentTimeMillis() == started) {
            Thread.onSpinWait();
        }
        subscribe = new TaskStates().start(subscribe());
        assertEquals(List.of("row 9"), results("row 9"));
    }
}
