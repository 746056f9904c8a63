package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.aggregate.CollectList;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;

/** Sliding windows of records, against their definition: the records themselves are collected. */
class SlidingAggregateTest {
    private static final Attribute NUMBER = Aggregates.column("number", DataTypes.IntegerType);

    private final TaskStates states = new TaskStates();
    private KeyedOperator operator;

    private void start(long size, long grace, boolean isFinal) {
        operator =
                states.start(
                        new SlidingAggregate(
                                Aggregates.of(new CollectList(NUMBER), NUMBER),
                                size,
                                grace,
                                isFinal));
    }

    /** The windows that a record changes: key and start, and the numbers of the records in each. */
    private Map<String, List<Integer>> results(int key, long time, int number) {
        UnsafeRowWriter record = new UnsafeRowWriter(1);
        record.resetRowWriter();
        record.zeroOutNullBytes();
        record.write(0, number);
        Map<String, List<Integer>> results = new TreeMap<>();
        byte[] name = {(byte) key};
        byte[] value = record.getRow().getBytes();
        for (Row row : TaskStates.process(operator, name, 0, time, value)) {
            UnsafeRow result = PackedRow.view(row.getAs(2), 1);
            List<Integer> numbers = new ArrayList<>();
            for (int found : result.getArray(0).toIntArray()) {
                numbers.add(found);
            }
            numbers.sort(null);
            String window = row.<byte[]>getAs(0)[0] + " " + row.getLong(4);
            assertEquals(null, results.put(window, numbers), "written twice");
        }
        return results;
    }

    @Test
    void theExampleOfKafkaStreams() {
        start(5000, 86_400_000, false);
        assertEquals(Map.of("0 3000", List.of(1)), results(0, 8000, 1));
        assertEquals(Map.of("0 4200", List.of(1, 2), "0 8001", List.of(2)), results(0, 9200, 2));
        assertEquals(
                Map.of("0 7400", List.of(1, 2, 3), "0 8001", List.of(2, 3), "0 9201", List.of(3)),
                results(0, 12400, 3));
    }

    /** The starts of the windows that records of these times make. */
    private static TreeSet<Long> starts(TreeSet<Long> times, long size) {
        TreeSet<Long> found = new TreeSet<>();
        for (long time : times) {
            found.add(Math.max(0, time - size));
            Long next = times.higher(time);
            if (next != null && next <= time + 1 + size) {
                found.add(time + 1);
            }
        }
        return found;
    }

    @Test
    void windowsAreThoseOfTheDefinition() {
        for (int seed = 0; seed < 100; seed++) {
            Random random = new Random(seed);
            long size = 1 + random.nextInt(25);
            long grace = random.nextInt(3) == 0 ? 0 : random.nextInt(60);
            boolean isFinal = random.nextBoolean();
            SlidingAggregateTest run = new SlidingAggregateTest();
            run.start(size, grace, isFinal);
            Map<Integer, TreeMap<Long, List<Integer>>> taken = new HashMap<>();
            Map<String, List<Integer>> open = new TreeMap<>();
            long streamTime = 0;
            for (int i = 0; i < 120; i++) {
                int key = random.nextInt(3);
                long time = Math.max(0, i / 2 + random.nextInt(40) - random.nextInt(70));
                streamTime = Math.max(streamTime, time);
                long least = streamTime - grace;
                Map<String, List<Integer>> changed = new TreeMap<>();
                if (time + 1 + size >= least) {
                    TreeMap<Long, List<Integer>> own =
                            taken.computeIfAbsent(key, k -> new TreeMap<>());
                    TreeSet<Long> known = starts(new TreeSet<>(own.keySet()), size);
                    own.computeIfAbsent(time, t -> new ArrayList<>()).add(i);
                    for (long start : starts(new TreeSet<>(own.keySet()), size)) {
                        boolean covers = start <= time && time <= start + size;
                        if (start + size >= least && (covers || !known.contains(start))) {
                            List<Integer> numbers = new ArrayList<>();
                            own.subMap(start, true, start + size, true)
                                    .values()
                                    .forEach(numbers::addAll);
                            numbers.sort(null);
                            changed.put(key + " " + start, numbers);
                        }
                    }
                }
                if (isFinal) {
                    open.putAll(changed);
                    changed = new TreeMap<>();
                    for (String window : List.copyOf(open.keySet())) {
                        if (Long.parseLong(window.substring(2)) + size < least) {
                            changed.put(window, open.remove(window));
                        }
                    }
                }
                assertEquals(changed, run.results(key, time, i), "seed " + seed + " record " + i);
                if (random.nextInt(20) == 0) {
                    run.start(size, grace, isFinal); // as after a restart
                }
            }
            run.results(4, 10_000, 0);
            run.results(4, 20_000, 0);
            assertEquals(1, run.states.size("groups"), "seed " + seed);
            assertTrue(run.states.size("ends") <= 2, "seed " + seed);
        }
    }
}
