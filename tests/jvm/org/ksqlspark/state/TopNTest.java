package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.testing.InMemoryStatefulProcessorHandle;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.util.SystemClock;
import org.junit.jupiter.api.Test;
import org.ksqlspark.internals.state.BeforeCommit;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** The best records of a key against a sorted list of all of them. */
class TopNTest {
    private static final int TASK = 3;

    private final Map<String, Store<?>> stores = new HashMap<>();

    private final InMemoryStatefulProcessorHandle handle =
            new InMemoryStatefulProcessorHandle(TimeMode.None(), new SystemClock()) {
                @Override
                @SuppressWarnings("unchecked")
                public <K, V> MapState<K, V> getMapState(
                        String name, Encoder<K> keys, Encoder<V> values, TTLConfig ttl) {
                    return (MapState<K, V>) stores.computeIfAbsent(name, n -> new Store<V>());
                }
            };

    private TopN operator;

    private void start(int most) {
        operator = new TopN("a int, b bigint", List.of(true, false), List.of(false, true), most);
        operator.setHandle(handle);
        operator.init(OutputMode.Update(), TimeMode.None());
    }

    /** A record of the key 1; its time tells it apart. Places and times of what comes out. */
    private List<List<Long>> add(long time, Integer a, Long b) {
        UnsafeRowWriter values = new UnsafeRowWriter(2);
        values.resetRowWriter();
        values.zeroOutNullBytes();
        if (a == null) {
            values.setNullAt(0);
        } else {
            values.write(0, a.intValue());
        }
        if (b == null) {
            values.setNullAt(1);
        } else {
            values.write(1, b.longValue());
        }
        UnsafeRowWriter record = new UnsafeRowWriter(2);
        record.resetRowWriter();
        record.write(0, new byte[] {(byte) time});
        record.write(1, values.getRow().getBytes());
        Row row =
                RowFactory.create(TASK, new byte[] {1}, 0, time, record.getRow().getBytes(), null);
        scala.collection.Iterator<Row> rows =
                scala.jdk.javaapi.CollectionConverters.asScala(List.of(row).iterator());
        List<List<Long>> results = new ArrayList<>();
        BeforeCommit.with(
                TASK,
                () ->
                        operator.handleInputRows(TASK, rows, null)
                                .foreach(
                                        result -> {
                                            assertEquals(
                                                    (byte) result.getLong(1),
                                                    ((byte[]) result.get(2))[0]);
                                            return results.add(
                                                    List.of(result.getLong(4), result.getLong(1)));
                                        }));
        return results;
    }

    @Test
    void aRecordMovesThoseBehindIt() {
        start(2);
        assertEquals(List.of(List.of(1L, 10L)), add(10, 5, 0L));
        assertEquals(List.of(List.of(2L, 11L)), add(11, 5, 0L)); // equal: behind
        assertEquals(List.of(), add(12, 5, 0L));
        assertEquals(List.of(List.of(1L, 13L), List.of(2L, 10L)), add(13, 6, 0L));
        assertEquals(List.of(), add(14, null, 0L)); // NULL is last
    }

    @Test
    void theBestAreThoseOfASortedList() {
        Random random = new Random(1);
        for (int most = 1; most < 6; most++) {
            stores.clear();
            start(most);
            List<Object[]> all = new ArrayList<>();
            Map<Long, Long> table = new HashMap<>();
            for (long time = 1; time < 100; time++) {
                Integer a = random.nextInt(5) == 0 ? null : Integer.valueOf(random.nextInt(4));
                Long b = random.nextInt(5) == 0 ? null : Long.valueOf(random.nextInt(4));
                add(time, a, b).forEach(change -> table.put(change.get(0), change.get(1)));
                all.add(new Object[] {a, b, time});
                all.sort( // stable
                        Comparator.comparing(
                                        (Object[] one) -> (Integer) one[0],
                                        Comparator.nullsLast(Comparator.reverseOrder()))
                                .thenComparing(
                                        one -> (Long) one[1],
                                        Comparator.nullsFirst(Comparator.naturalOrder())));
                for (int place = 1; place <= Math.min(most, all.size()); place++) {
                    assertEquals(all.get(place - 1)[2], table.get((long) place));
                }
                assertEquals(Math.min(most, all.size()), table.size());
            }
        }
    }
}
