package org.ksqlspark.state;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Passes the first row of each key on (DISTINCT ON, reference §6.13).
 *
 * <p>With WITHIN, a key is forgotten once stream time is more than that past its first row. A queue
 * in the order of arrival says which keys are to be removed then; a key that is forgotten but not
 * removed yet counts as removed. A row that would be forgotten at once is passed on and not stored.
 */
final class Deduplicate extends KeyedOperator {
    /** So many keys are removed for one record at most, so that none waits long. */
    private static final int MOST = 1000;

    private static final byte[] HEAD = {0};
    private static final byte[] TAIL = {1};

    /** How long a key is remembered, ms; negative: forever. */
    private final long within;

    /** The event time of each key's first row. */
    private transient StateCache.Cached<Long> firsts;

    /** Event time and key by number. */
    private transient StateCache.Cached<byte[]> queue;

    /** The number of the first one in the queue, and that of the next one. */
    private transient StateCache.Cached<Long> ends;

    Deduplicate(long within) {
        this.within = within;
    }

    @Override
    protected void open() {
        firsts = longs("firsts");
        if (within >= 0) {
            queue = bytes("queue");
            ends = longs("ends");
        }
    }

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        Long first = firsts.getValue(key);
        if (first != null && !isForgotten(first)) {
            return;
        }
        emit(key, ts, value, null);
        if (!isForgotten(ts)) {
            firsts.updateValue(key, ts);
            if (within >= 0) {
                append(key, ts);
            }
        }
        if (within >= 0) {
            removeForgotten();
        }
    }

    private boolean isForgotten(long first) {
        return within >= 0 && first < streamTime - within;
    }

    private void append(byte[] key, long ts) {
        long tail = place(TAIL);
        queue.insert(
                number(tail), ByteBuffer.allocate(8 + key.length).putLong(ts).put(key).array());
        ends.updateValue(TAIL, tail + 1);
    }

    private void removeForgotten() {
        long head = place(HEAD);
        long last = Math.min(place(TAIL), head + MOST);
        long next = head;
        while (next < last) {
            byte[] number = number(next);
            byte[] entry = queue.getValue(number);
            long ts = ByteBuffer.wrap(entry).getLong();
            if (!isForgotten(ts)) {
                break;
            }
            byte[] key = Arrays.copyOfRange(entry, 8, entry.length);
            Long first = firsts.getValue(key);
            if (first != null && first == ts) {
                firsts.removeKey(key);
            }
            queue.removeKey(number);
            next++;
        }
        if (next > head) {
            ends.updateValue(HEAD, next);
        }
    }

    private long place(byte[] which) {
        Long found = ends.getValue(which);
        return found == null ? 0 : found;
    }

    private static byte[] number(long number) {
        return ByteBuffer.allocate(8).putLong(number).array();
    }
}
