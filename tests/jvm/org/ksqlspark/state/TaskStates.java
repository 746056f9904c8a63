package org.ksqlspark.state;

import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.testing.InMemoryStatefulProcessorHandle;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.util.SystemClock;
import org.ksqlspark.internals.state.BeforeCommit;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The states of one task of an operator, which stay when the operator starts again. */
final class TaskStates {
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

    /** Starts an operator on these states. */
    <O extends KeyedOperator> O start(O operator) {
        operator.setHandle(handle);
        operator.init(OutputMode.Update(), TimeMode.None());
        return operator;
    }

    /** The results of one record: key, timestamp, left row, right row … */
    static List<Row> process(KeyedOperator operator, byte[] key, int side, long ts, byte[] value) {
        Row row = RowFactory.create(TASK, key, side, ts, value, null);
        scala.collection.Iterator<Row> rows =
                scala.jdk.javaapi.CollectionConverters.asScala(List.of(row).iterator());
        List<Row> results = new ArrayList<>();
        BeforeCommit.with(
                TASK, () -> operator.handleInputRows(TASK, rows, null).foreach(results::add));
        return results;
    }

    /** Removes a key, as FORGET does. */
    static void forget(KeyedOperator operator, byte[] key) {
        operator.forget(TASK, List.of(key));
    }

    /** Whether these bytes, as ISO 8859-1, are anywhere in a key or value. */
    boolean contain(String bytes) {
        for (Store<?> store : stores.values()) {
            for (Map.Entry<ByteBuffer, ?> entry : store.values.entrySet()) {
                String key = new String(entry.getKey().array(), StandardCharsets.ISO_8859_1);
                boolean isIn =
                        entry.getValue() instanceof byte[] value
                                && new String(value, StandardCharsets.ISO_8859_1).contains(bytes);
                if (isIn || key.contains(bytes)) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Puts an entry into a state whose values are bytes. */
    void put(String state, byte[] key, byte[] value) {
        handle.<byte[], byte[]>getMapState(state, null, null, TTLConfig.NONE())
                .updateValue(key, value);
    }

    void clear() {
        stores.clear();
    }

    /** How many bytes have been written to states whose values are bytes. */
    long bytesWritten() {
        return stores.values().stream().mapToLong(store -> store.bytesWritten).sum();
    }

    /** How many bytes a state has, whose values are bytes. */
    int bytes(String state) {
        return stores.get(state).values.values().stream().mapToInt(v -> ((byte[]) v).length).sum();
    }

    /** How many entries a state has. */
    int size(String state) {
        return stores.get(state).values.size();
    }
}
