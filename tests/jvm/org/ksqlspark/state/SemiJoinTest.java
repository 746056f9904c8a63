package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** EXISTS of a stream: rows with a partner within a time, each once, against a model. */
class SemiJoinTest {
    private static final class Known {
        final int key;
        final long time;
        final int number;
        boolean waits = true;

        Known(int key, long time, int number) {
            this.key = key;
            this.time = time;
            this.number = number;
        }
    }

    @Test
    void aRowIsGivenWhenItsFirstPartnerComes() {
        for (int seed = 0; seed < 200; seed++) {
            Random random = new Random(seed);
            long before = random.nextInt(20);
            long after = random.nextInt(20);
            long grace = random.nextInt(3) == 0 ? 0 : random.nextInt(60);
            TaskStates states = new TaskStates();
            KeyedOperator operator = start(states, before, after, grace);
            List<List<Known>> sides = List.of(new ArrayList<>(), new ArrayList<>());
            long[] newest = {Long.MIN_VALUE, Long.MIN_VALUE};
            long memory = before + after + grace;
            for (int i = 0; i < 300; i++) {
                int side = random.nextInt(2);
                int key = random.nextInt(3);
                long time = Math.max(0, i + random.nextInt(30) - random.nextInt(80));
                List<String> wanted = new ArrayList<>();
                boolean isMatched = false;
                for (Known other : sides.get(1 - side)) {
                    long difference = side == 0 ? other.time - time : time - other.time;
                    boolean isThere = other.time > newest[1 - side] - memory;
                    if (other.key == key
                            && isThere
                            && difference >= -before
                            && difference <= after) {
                        isMatched = true;
                        if (side == 1 && other.waits) {
                            other.waits = false;
                            wanted.add(other.time + " " + other.number);
                        }
                    }
                }
                newest[side] = Math.max(newest[side], time);
                if (side == 0 && isMatched) {
                    wanted.add(time + " " + i);
                } else if (time > newest[side] - memory) {
                    sides.get(side).add(new Known(key, time, i));
                }
                List<String> results = new ArrayList<>();
                byte[] value = ByteBuffer.allocate(4).putInt(i).array();
                for (Row row :
                        TaskStates.process(operator, new byte[] {(byte) key}, side, time, value)) {
                    int number = ByteBuffer.wrap(row.<byte[]>getAs(2)).getInt();
                    results.add(row.getLong(1) + " " + number);
                    assertEquals(true, row.isNullAt(3));
                }
                wanted.sort(null);
                results.sort(null);
                assertEquals(wanted, results, "seed " + seed + " record " + i);
                if (random.nextInt(20) == 0) {
                    operator = start(states, before, after, grace); // as after a restart
                }
            }
            TaskStates.process(operator, new byte[] {9}, 0, 10_000, new byte[4]);
            TaskStates.process(operator, new byte[] {9}, 1, 10_000, new byte[4]);
            assertEquals(2, states.size("groups"), "seed " + seed);
        }
    }

    private static KeyedOperator start(TaskStates states, long before, long after, long grace) {
        return states.start(new StreamStreamJoin(false, false, true, null, before, after, grace));
    }
}
