package org.ksqlspark;

import org.apache.spark.sql.streaming.MapState;

/** Keeps which keys were passed on, so that nothing is deleted that never was there (a table's WHERE). */
final class PassPresent extends KeyedOperator {
    private static final byte[] MARK = {};
    private transient MapState<byte[], byte[]> present;

    @Override
    protected void open() {
        present = bytes("present");
    }

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        boolean known = present.containsKey(key);
        if (value != null) {
            if (!known) {
                present.updateValue(key, MARK);
            }
            emit(key, ts, value, null);
        } else if (known) {
            present.removeKey(key);
            emit(key, ts, null, null);
        }
    }
}
