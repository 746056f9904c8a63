package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
    private static final byte[] NONE = {};
    private static final Comparator<Object[]> ORDER =
            Comparator.comparing(
                            (Object[] one) -> (Integer) one[0],
                            Comparator.nullsLast(Comparator.reverseOrder()))
                    .thenComparing(
                            one -> (Long) one[1], Comparator.nullsFirst(Comparator.naturalOrder()));

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
        start(TopN.Limit.ROW_NUMBER, most, false);
    }

    private void start(TopN.Limit limit, int most, boolean isTable) {
        operator =
                new TopN(
                        "a int, b bigint",
                        List.of(true, false),
                        List.of(false, true),
                        limit,
                        most,
                        isTable);
        operator.setHandle(handle);
        operator.init(OutputMode.Update(), TimeMode.None());
    }

    /** A record of the key 1; its time tells it apart. Places and times of what comes out. */
    private List<List<Long>> add(long time, Integer a, Long b) {
        return change(time, new byte[0], 1, a, b).stream().map(one -> one.subList(0, 2)).toList();
    }

    private static byte[] values(Integer a, Long b) {
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
        return values.getRow().getBytes();
    }

    /** As add; also RANK and DENSE_RANK. A place that becomes empty has none. */
    private List<List<Long>> change(long time, byte[] id, int sign, Integer a, Long b) {
        UnsafeRowWriter record = new UnsafeRowWriter(4);
        record.resetRowWriter();
        record.write(0, new byte[] {(byte) time});
        record.write(1, values(a, b));
        record.write(2, id);
        record.write(3, sign);
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
                                            if (result.isNullAt(2)) {
                                                return results.add(List.of(result.getLong(4)));
                                            }
                                            assertEquals(
                                                    (byte) result.getLong(1),
                                                    ((byte[]) result.get(2))[0]);
                                            var ranks = PackedRow.view((byte[]) result.get(3), 2);
                                            return results.add(
                                                    List.of(
                                                            result.getLong(4),
                                                            result.getLong(1),
                                                            ranks.getLong(0),
                                                            ranks.getLong(1)));
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
    void equalRecordsShareTheirRank() {
        start(TopN.Limit.RANK, 2, false);
        assertEquals(List.of(List.of(1L, 10L, 1L, 1L)), change(10, NONE, 1, 5, 0L));
        assertEquals(List.of(List.of(2L, 11L, 1L, 1L)), change(11, NONE, 1, 5, 0L));
        assertEquals(List.of(List.of(3L, 12L, 1L, 1L)), change(12, NONE, 1, 5, 0L));
        assertEquals(List.of(), change(13, NONE, 1, 4, 0L)); // it is the fourth
        assertEquals( // those of rank 2 stay
                List.of(
                        List.of(1L, 14L, 1L, 1L),
                        List.of(2L, 10L, 2L, 2L),
                        List.of(3L, 11L, 2L, 2L),
                        List.of(4L, 12L, 2L, 2L)),
                change(14, NONE, 1, 6, 0L));
        assertEquals( // and are the third now
                List.of(
                        List.of(1L, 15L, 1L, 1L),
                        List.of(2L, 14L, 2L, 2L),
                        List.of(3L),
                        List.of(4L)),
                change(15, NONE, 1, 7, 0L));
    }

    /** A table with changes at random, and what its sorted rows are. */
    @Test
    void changesOfATableAreUndone() {
        for (TopN.Limit limit : TopN.Limit.values()) {
            stores.clear();
            start(limit, 3, true);
            changeAtRandom(new Random(2), limit, 8, 120);
        }
    }

    @Test
    void rowsOfMoreThanAPageAreInOrder() {
        for (TopN.Limit limit : TopN.Limit.values()) {
            stores.clear();
            start(limit, 3, true);
            changeAtRandom(new Random(3), limit, 200, 3000);
            start(limit, 3, true); // goes on with the state
            for (int id = 0; id < 200; id++) {
                change(5000, key(id), -1, null, null);
            }
            assertEquals(0, entries());
        }
    }

    /** As release 0.1.0 has left it: all rows in one entry. */
    @Test
    void aLongFirstPageIsSplit() {
        start(TopN.Limit.ROW_NUMBER, 2, true);
        List<SortedRows.Sorted> rows = new ArrayList<>();
        for (int id = 0; id < 100; id++) {
            rows.add(
                    new SortedRows.Sorted(
                            id, key(id), new byte[] {(byte) id}, values(100 - id, 0L)));
        }
        handle.<byte[], byte[]>getMapState("best", null, null, TTLConfig.NONE())
                .updateValue(new byte[] {1}, SortedRows.packed(rows));
        assertEquals( // in the middle of the page
                List.of(), change(120, key(200), 1, 50, 0L));
        assertEquals(6, entries("pages"));
        for (int id = 99; id > 1; id--) {
            assertEquals(List.of(), change(121, key(id), -1, null, null));
        }
        assertEquals(
                List.of(List.of(1L, 1L, 1L, 1L), List.of(2L, 120L, 2L, 2L)),
                change(122, key(0), -1, null, null));
    }

    /** What a change writes does not grow with the rows of its group. */
    @Test
    void aChangeWritesOnePage() {
        long small = written(1000);
        long large = written(4000);
        assertTrue(large < 6 * small, small + " and " + large + " bytes");
    }

    private long written(int rows) {
        stores.clear();
        start(TopN.Limit.ROW_NUMBER, 3, true);
        Random random = new Random(4);
        for (int id = 0; id < rows; id++) {
            change(id % 100, key(id), 1, random.nextInt(1000), 0L);
        }
        return stores.values().stream().mapToLong(store -> store.bytesWritten).sum();
    }

    private int entries() {
        return stores.keySet().stream().mapToInt(this::entries).sum();
    }

    private int entries(String name) {
        return stores.get(name).values.size();
    }

    private static byte[] key(int id) {
        return new byte[] {(byte) id, (byte) (id >> 8)};
    }

    private void changeAtRandom(Random random, TopN.Limit limit, int ids, int changes) {
        Map<Integer, Object[]> rows = new java.util.LinkedHashMap<>();
        Map<Long, List<Long>> table = new HashMap<>();
        for (long n = 1; n < changes; n++) {
            long time = n % 100; // a row's first byte
            int id = random.nextInt(ids);
            byte[] key = key(id);
            Object[] old = rows.remove(id);
            boolean isDeleted = random.nextInt(3) == 0;
            List<List<Long>> found = new ArrayList<>();
            if (old != null) {
                Integer a = (Integer) old[0];
                found.addAll(change(time, key, isDeleted ? -1 : -2, a, (Long) old[1]));
            }
            if (!isDeleted) {
                Integer a =
                        random.nextInt(5) == 0 ? null : Integer.valueOf(random.nextInt(ids / 2));
                Long b = Long.valueOf(random.nextInt(2));
                rows.put(id, new Object[] {a, b, time});
                found.addAll(change(time, key, 1, a, b));
            }
            for (List<Long> one : found) {
                if (one.size() == 1) {
                    table.remove(one.get(0));
                } else {
                    table.put(one.get(0), one.subList(1, 4));
                }
            }
            assertEquals(sorted(new ArrayList<>(rows.values()), limit, 3), table);
        }
    }

    /** Place to time, RANK and DENSE_RANK. */
    private static Map<Long, List<Long>> sorted(List<Object[]> rows, TopN.Limit limit, long most) {
        rows.sort(ORDER);
        Map<Long, List<Long>> places = new HashMap<>();
        long rank = 0;
        long denseRank = 0;
        for (int i = 0; i < rows.size(); i++) {
            if (i == 0 || ORDER.compare(rows.get(i - 1), rows.get(i)) != 0) {
                rank = i + 1;
                denseRank++;
            }
            long number = List.of((long) i + 1, rank, denseRank).get(limit.ordinal());
            if (number <= most) {
                places.put((long) i + 1, List.of((Long) rows.get(i)[2], rank, denseRank));
            }
        }
        return places;
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
                all.sort(ORDER); // stable
                for (int place = 1; place <= Math.min(most, all.size()); place++) {
                    assertEquals(all.get(place - 1)[2], table.get((long) place));
                }
                assertEquals(Math.min(most, all.size()), table.size());
            }
        }
    }
}
