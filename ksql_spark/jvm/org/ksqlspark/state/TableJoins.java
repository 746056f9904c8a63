package org.ksqlspark.state;

import org.apache.spark.sql.streaming.MapState;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** Joins that look up the latest row of a key. Records without a key have an empty one here. */
final class TableJoins {
    private TableJoins() {}

    /**
     * Stream-table join: the stream's records cause results, the table's change the state
     * (reference §6.6).
     */
    static final class StreamTable extends KeyedOperator {
        private final boolean isOuter;
        private final PairCondition condition;
        private transient MapState<byte[], byte[]> table;

        StreamTable(boolean isOuter, PairCondition condition) {
            this.isOuter = isOuter;
            this.condition = condition;
        }

        @Override
        protected void open() {
            table = bytes("table");
        }

        @Override
        protected void process(byte[] key, int side, long ts, byte[] value) {
            boolean hasKey = key.length > 0;
            if (side == 1) {
                if (hasKey && value == null) {
                    table.removeKey(key);
                } else if (hasKey) {
                    table.updateValue(key, value);
                }
                return;
            }
            if (value == null) {
                return;
            }
            byte[] row = hasKey ? table.getValue(key) : null;
            if (row != null && condition != null && !condition.test(value, row)) {
                row = null;
            }
            if (row != null || isOuter) {
                emit(key, ts, value, row);
            }
        }
    }

    /** Table-table join (reference §6.7); a result with two NULL sides is a deletion. */
    static final class TableTable extends KeyedOperator {
        private final boolean[] outer;
        private transient MapState<byte[], byte[]> left;
        private transient MapState<byte[], byte[]> right;

        TableTable(boolean leftOuter, boolean rightOuter) {
            this.outer = new boolean[] {leftOuter, rightOuter};
        }

        @Override
        protected void open() {
            left = bytes("left");
            right = bytes("right");
        }

        @Override
        protected void process(byte[] key, int side, long ts, byte[] value) {
            if (key.length == 0) {
                return;
            }
            MapState<byte[], byte[]> own = side == 0 ? left : right;
            byte[] before = own.getValue(key);
            byte[] other = (side == 0 ? right : left).getValue(key);
            if (value == null) {
                own.removeKey(key);
            } else {
                own.updateValue(key, stamped(ts, value));
            }
            boolean was = exists(before != null, other != null, side);
            boolean is = exists(value != null, other != null, side);
            long time = Math.max(ts, other == null ? ts : ByteBuffer.wrap(other).getLong());
            byte[] opposite = unstamped(other);
            if (emitsChanges()) {
                Version old = was ? pair(unstamped(before), opposite, side) : null;
                replace(key, time, old, is ? pair(value, opposite, side) : null);
            } else if (is) {
                emit(key, time, side == 0 ? value : opposite, side == 0 ? opposite : value);
            } else if (was) {
                emit(key, time, null, null);
            }
        }

        private static Version pair(byte[] own, byte[] other, int side) {
            return side == 0 ? new Version(own, other) : new Version(other, own);
        }

        private static byte[] unstamped(byte[] row) {
            return row == null ? null : Arrays.copyOfRange(row, 8, row.length);
        }

        private boolean exists(boolean own, boolean other, int side) {
            return own && other || own && outer[side] || other && outer[1 - side];
        }

        private static byte[] stamped(long ts, byte[] value) {
            return ByteBuffer.allocate(8 + value.length).putLong(ts).put(value).array();
        }
    }
}
