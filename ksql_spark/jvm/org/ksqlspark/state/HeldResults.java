package org.ksqlspark.state;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The last result of each key and window in an interval (EMIT CHANGES EVERY, reference §2.6). They
 * are in the state, so none is lost when the query ends between two intervals.
 */
final class HeldResults {
    private static final int NEW = 1;
    private static final int DELETION = 2;

    /**
     * Flags, timestamp, length of the headers or -1, headers, and the row of each result by its key
     * and window.
     */
    private final StateCache.Cached<byte[]> results;

    /** In the order in which they changed first; some are in it twice, or are not held any more. */
    private final KeyQueue order;

    /** When they are to be taken out. */
    private final StateCache.Cached<Long> until;

    private static final byte[] ONE = {0};

    /**
     * A result.
     *
     * @param row null: a deletion
     * @param start null: there is no window
     */
    record Result(byte[] key, long ts, byte[] row, Long start, Long end, byte[] headers) {}

    HeldResults(KeyedOperator operator) {
        results = operator.bytes("held");
        order = new KeyQueue(operator, "held-");
        until = operator.longs("held-until");
    }

    /** When they are to be taken out, ms since 1970; null: none are held. */
    Long release() {
        return until.getValue(ONE);
    }

    void setRelease(long time) {
        until.updateValue(ONE, time);
    }

    /**
     * Replaces the result of its key and window.
     *
     * @param isNew there is no row of this key and window but those that this operator has put in
     *     since it was taken out last
     */
    void put(Result result, boolean isNew) {
        byte[] id = id(result);
        byte[] before = results.getValue(id);
        boolean isOnlyHeld = before == null ? isNew : (before[0] & NEW) != 0;
        if (isOnlyHeld && result.row == null) {
            results.removeKey(id);
            return;
        }
        if (before == null) {
            order.append(id, 0);
        }
        int headers = result.headers == null ? -1 : result.headers.length;
        int row = result.row == null ? 0 : result.row.length;
        ByteBuffer bytes = ByteBuffer.allocate(13 + Math.max(0, headers) + row);
        bytes.put((byte) ((isOnlyHeld ? NEW : 0) | (result.row == null ? DELETION : 0)));
        bytes.putLong(result.ts).putInt(headers);
        if (result.headers != null) {
            bytes.put(result.headers);
        }
        if (result.row != null) {
            bytes.put(result.row);
        }
        results.updateValue(id, bytes.array());
    }

    /** Takes the next result out; null: none is held any more. */
    Result poll() {
        for (KeyQueue.Entry next; (next = order.poll(any -> true)) != null; ) {
            byte[] value = results.getValue(next.key());
            if (value != null) {
                results.removeKey(next.key());
                return result(next.key(), value);
            }
        }
        until.removeKey(ONE);
        return null;
    }

    /** Removes the results of a key. */
    void forget(byte[] key) {
        results.removeIf((id, result) -> Arrays.equals(key, result(id, result).key));
    }

    private static byte[] id(Result result) {
        boolean isWindowed = result.start != null;
        ByteBuffer id = ByteBuffer.allocate((isWindowed ? 17 : 1) + result.key.length);
        id.put((byte) (isWindowed ? 1 : 0));
        if (isWindowed) {
            id.putLong(result.start).putLong(result.end);
        }
        return id.put(result.key).array();
    }

    private static Result result(byte[] id, byte[] bytes) {
        ByteBuffer value = ByteBuffer.wrap(bytes);
        ByteBuffer where = ByteBuffer.wrap(id);
        boolean isWindowed = where.get() == 1;
        Long start = isWindowed ? where.getLong() : null;
        Long end = isWindowed ? where.getLong() : null;
        byte[] key = rest(where);
        boolean isDeletion = (value.get() & DELETION) != 0;
        long ts = value.getLong();
        int length = value.getInt();
        byte[] headers = length < 0 ? null : new byte[length];
        if (headers != null) {
            value.get(headers);
        }
        return new Result(key, ts, isDeletion ? null : rest(value), start, end, headers);
    }

    private static byte[] rest(ByteBuffer bytes) {
        byte[] rest = new byte[bytes.remaining()];
        bytes.get(rest);
        return rest;
    }
}
