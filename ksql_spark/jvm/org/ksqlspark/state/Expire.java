package org.ksqlspark.state;

import java.nio.ByteBuffer;

/**
 * A table whose rows are deleted when stream time is a TTL past their last change (reference
 * §6.16).
 *
 * <p>State per key: the greatest time of its changes, and whether it has a row. A key that was
 * deleted stays until it is taken off the list of {@link Expiry}.
 */
final class Expire extends KeyedOperator implements Expiry.Rows {
    private final long ttl;

    private transient StateCache.Cached<byte[]> rows;
    private transient Expiry expiry;

    Expire(long ttl) {
        this.ttl = ttl;
    }

    @Override
    protected void open() {
        rows = bytes("rows");
        expiry = new Expiry(this, ttl);
    }

    @Override
    protected void taskChanged(int number) {
        expiry.taskChanged(number);
    }

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        byte[] known = rows.getValue(key);
        long last = known == null ? ts : Math.max(ts, ByteBuffer.wrap(known).getLong());
        byte[] row = expiry.hasExpired(last, streamTime) ? null : value;
        if (row != null || isThere(known)) {
            emit(key, ts, row, null);
        }
        if (row != null || known != null) {
            byte flag = (byte) (row != null ? 1 : 0);
            rows.updateValue(key, ByteBuffer.allocate(9).putLong(last).put(flag).array());
        }
        if (row != null && known == null) {
            expiry.list(key, last);
        }
        expiry.check(streamTime, this);
    }

    private static boolean isThere(byte[] known) {
        return known != null && known[8] == 1;
    }

    @Override
    public long last(byte[] key) {
        return ByteBuffer.wrap(rows.getValue(key)).getLong();
    }

    @Override
    public void expire(byte[] key, long time) {
        boolean isThere = isThere(rows.getValue(key));
        rows.removeKey(key);
        if (isThere) {
            emitWaiting(key, time, null, null);
        }
    }
}
