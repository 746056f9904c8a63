package org.ksqlspark.state;

import org.apache.spark.sql.streaming.MapState;

/**
 * A table's changes as a stream of rows to retract and rows to add, for aggregates that can retract
 * rows. The sign is in the column of a window's start (reference §6.8, "table input"). A row to
 * retract has the row that replaces it, if any, beside it.
 */
final class TableChanges extends KeyedOperator {
    private transient MapState<byte[], byte[]> table;

    @Override
    protected void open() {
        table = bytes("table");
    }

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        byte[] old = table.getValue(key);
        if (old != null) {
            emit(key, ts, old, value, -1);
        }
        if (value == null) {
            table.removeKey(key);
        } else {
            table.updateValue(key, value);
            emit(key, ts, value, null, 1);
        }
    }
}
