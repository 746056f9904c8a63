package org.ksqlspark.state;

import org.apache.spark.sql.streaming.MapState;

/** Remembers which keys were passed on, so that only these are deleted (WHERE on a table). */
final class TombstoneFilter extends KeyedOperator {
    private static final byte[] PRESENT = {};
    private static final byte[] DELETED = {0};

    /** Keys that are not in the state may have been passed on too, before there was a state. */
    private final boolean isResumed;

    private transient MapState<byte[], byte[]> keys;

    TombstoneFilter(boolean isResumed) {
        this.isResumed = isResumed;
    }

    @Override
    protected void open() {
        keys = bytes("present");
    }

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        byte[] mark = keys.getValue(key);
        boolean isPresent = mark == null ? isResumed : mark.length == PRESENT.length;
        if (value != null) {
            if (mark == null || !isPresent) {
                keys.updateValue(key, PRESENT);
            }
            emit(key, ts, value, null);
        } else if (isPresent) {
            if (isResumed) {
                keys.updateValue(key, DELETED);
            } else {
                keys.removeKey(key);
            }
            emit(key, ts, null, null);
        }
    }
}
