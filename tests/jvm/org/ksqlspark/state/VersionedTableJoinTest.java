package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Consumer;

/** A stream's records with the table's rows of their times, against a model of what is known. */
class VersionedTableJoinTest {
    private final TaskStates states = new TaskStates();

    private KeyedOperator operator;

    private void start(boolean isOuter, long grace) {
        operator = states.start(new VersionedTableJoin(isOuter, null, grace));
    }

    private static byte[] bytes(int value) {
        return ByteBuffer.allocate(4).putInt(value).array();
    }

    private static String shown(long time, int value, Integer row) {
        return time + " " + value + " " + row;
    }

    /** What a record of the stream (side 0) or of the table (side 1) makes; no value: null. */
    private List<String> results(int key, int side, long time, Integer value) {
        byte[] name = key < 0 ? new byte[0] : new byte[] {(byte) key};
        List<String> results = new ArrayList<>();
        for (Row row :
                TaskStates.process(
                        operator, name, side, time, value == null ? null : bytes(value))) {
            byte[] right = row.getAs(3);
            results.add(
                    shown(
                            row.getLong(1),
                            ByteBuffer.wrap(row.<byte[]>getAs(2)).getInt(),
                            right == null ? null : ByteBuffer.wrap(right).getInt()));
        }
        return results;
    }

    @Test
    void aRecordWaitsForTheRowOfItsTime() {
        start(false, 10);
        assertEquals(List.of(), results(1, 1, 100, 1));
        assertEquals(List.of(), results(1, 0, 105, 7));
        assertEquals(List.of(), results(1, 1, 108, 3));
        assertEquals(List.of(), results(1, 1, 104, 2));
        assertEquals(List.of(), results(2, 0, 114, 8));
        assertEquals(List.of("105 7 2"), results(2, 1, 115, 9));
    }

    @Test
    void anOuterRecordWithoutKeyWaitsItsTurn() {
        start(true, 10);
        assertEquals(List.of(), results(-1, 0, 100, 1));
        assertEquals(List.of(), results(1, 0, 101, null));
        assertEquals(List.of("100 1 null"), results(1, 0, 110, 2));
    }

    @Test
    void aDeletedRowIsNoPartnerFromItsTimeOn() {
        start(true, 10);
        results(1, 1, 100, 1);
        results(1, 0, 109, 7);
        results(1, 0, 110, 8);
        results(1, 1, 110, null);
        assertEquals(List.of("109 7 1", "110 8 null"), results(2, 1, 130, 0));
        assertEquals(1, states.size("versions"));
    }

    @Test
    void whatNoRecordCanNeedIsForgotten() {
        start(true, 10);
        for (int i = 0; i < 1000; i++) {
            results(i % 7, 1, i, i % 7 == 3 ? null : (Integer) i);
            results(i % 5, 0, i, i);
        }
        results(0, 1, 2000, 0);
        assertEquals(0, states.size("waiting"));
        // a key's version before, and that of the last record
        assertEquals(6, states.size("versions"));
        assertEquals(1, states.size("expiring"));
        results(1, 1, 3000, 0);
        assertEquals(6 * (12 + 4) + 12 + 4, states.bytes("versions"));
    }

    @Test
    void itIsAsTheModelSays() {
        for (int seed = 0; seed < 300; seed++) {
            Random random = new Random(seed);
            boolean isOuter = random.nextBoolean();
            long grace = random.nextInt(4) == 0 ? 0 : random.nextInt(40);
            VersionedTableJoinTest run = new VersionedTableJoinTest();
            run.start(isOuter, grace);
            Map<Integer, TreeMap<Long, Integer>> tables = new HashMap<>();
            TreeMap<Long, List<int[]>> waiting = new TreeMap<>();
            long streamTime = Long.MIN_VALUE;
            for (int i = 0; i < 300; i++) {
                int key = random.nextInt(6) - 1;
                int side = random.nextInt(2);
                long time =
                        Math.max(0, i + random.nextInt(30) - (random.nextInt(9) == 0 ? 90 : 15));
                Integer value = random.nextInt(6) == 0 ? null : (Integer) i;
                streamTime = Math.max(streamTime, time);
                if (side == 1 && key >= 0) {
                    tables.computeIfAbsent(key, k -> new TreeMap<>()).put(time, value);
                }
                boolean isLate = time < streamTime - grace;
                if (side == 0 && value != null && !isLate) {
                    waiting.computeIfAbsent(time, t -> new ArrayList<>())
                            .add(new int[] {key, value});
                }
                List<String> expected = new ArrayList<>();
                while (!waiting.isEmpty() && waiting.firstKey() <= streamTime - grace) {
                    Map.Entry<Long, List<int[]>> due = waiting.pollFirstEntry();
                    for (int[] record : due.getValue()) {
                        Integer row = at(tables, record[0], due.getKey());
                        if (row != null || isOuter) {
                            expected.add(shown(due.getKey(), record[1], row));
                        }
                    }
                }
                tables.values().forEach(forget(streamTime - grace));
                if (side == 0 && value != null && isLate) {
                    Integer row = at(tables, key, time);
                    if (row != null || isOuter) {
                        expected.add(shown(time, value, row));
                    }
                }
                assertEquals(
                        expected,
                        run.results(key, side, time, value),
                        "seed " + seed + ", record " + i);
                if (random.nextInt(50) == 0) {
                    run.start(isOuter, grace);
                }
            }
        }
    }

    /** Forgets the versions that none of the times after a time needs. */
    private static Consumer<TreeMap<Long, Integer>> forget(long time) {
        return versions -> {
            Long current = versions.floorKey(time);
            if (current != null) {
                versions.headMap(current).clear();
                if (versions.get(current) == null) {
                    versions.remove(current);
                }
            }
        };
    }

    private static Integer at(Map<Integer, TreeMap<Long, Integer>> tables, int key, long time) {
        Map.Entry<Long, Integer> version =
                tables.getOrDefault(key, new TreeMap<>()).floorEntry(time);
        return version == null ? null : version.getValue();
    }
}
