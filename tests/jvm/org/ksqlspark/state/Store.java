package org.ksqlspark.state;

import org.apache.spark.sql.streaming.MapState;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A state that counts what is asked of it. */
class Store<V> implements MapState<byte[], V> {
    private static byte[] row;
    final Map<ByteBuffer, V> values = new TreeMap<>();
    int reads;
    int writes;

    /** Of values that are bytes. */
    long bytesWritten;

    @Override
    public V getValue(byte[] key) {
        reads++;
        return values.get(ByteBuffer.wrap(key));
    }

    @Override
    public boolean containsKey(byte[] key) {
        return getValue(key) != null;
    }

    @Override
    public void updateValue(byte[] key, V value) {
        writes++;
        bytesWritten += value instanceof byte[] bytes ? bytes.length : 0;
        values.put(ByteBuffer.wrap(key.clone()), value);
    }

    @Override
    public void removeKey(byte[] key) {
        writes++;
        values.remove(ByteBuffer.wrap(key));
    }

    @Override
    public scala.collection.Iterator<scala.Tuple2<byte[], V>> iterator() {
        List<scala.Tuple2<byte[], V>> all = new ArrayList<>();
        values.forEach((key, value) -> all.add(new scala.Tuple2<>(key.array(), value)));
        return scala.jdk.javaapi.CollectionConverters.asScala(all.iterator());
    }

    /**
     * The keys as of now, as RocksDB has them; what hasNext() finds is gone once another iterator
     * finds something, as in Spark.
     */
    @Override
    public scala.collection.Iterator<byte[]> keys() {
        Iterator<ByteBuffer> all = List.copyOf(values.keySet()).iterator();
        return new scala.collection.AbstractIterator<>() {
            private boolean hasFound;

            @Override
            public boolean hasNext() {
                if (!hasFound && all.hasNext()) {
                    hasFound = true;
                    row = all.next().array();
                }
                return hasFound;
            }

            @Override
            public byte[] next() {
                hasNext();
                hasFound = false;
                return row;
            }
        };
    }

    @Override
    public scala.collection.Iterator<V> values() {
        return scala.jdk.javaapi.CollectionConverters.asScala(values.values().iterator());
    }

    @Override
    public boolean exists() {
        return !values.isEmpty();
    }

    @Override
    public void clear() {
        values.clear();
    }
}
