package org.ksqlspark.state;

import java.nio.ByteBuffer;
import java.util.function.LongPredicate;

/**
 * The keys of a task in the order of arrival, each with a time, to find those that are to be
 * forgotten.
 */
final class KeyQueue {
    private static final byte[] HEAD = {0};
    private static final byte[] TAIL = {1};

    /** Time and key by number. */
    private final StateCache.Cached<byte[]> queue;

    /** The number of the first one in the queue, and that of the next one. */
    private final StateCache.Cached<Long> ends;

    record Entry(long time, byte[] key) {}

    KeyQueue(KeyedOperator operator) {
        this(operator, "");
    }

    /**
     * @param prefix of the names of its states
     */
    KeyQueue(KeyedOperator operator, String prefix) {
        queue = operator.bytes(prefix + "queue");
        ends = operator.longs(prefix + "ends");
    }

    void append(byte[] key, long time) {
        long tail = place(TAIL);
        queue.insert(number(tail), NumberedKey.of(time, key));
        ends.updateValue(TAIL, tail + 1);
    }

    /** Takes the first entry out if its time is over; null if it is not, or there is none. */
    Entry poll(LongPredicate isOver) {
        long head = place(HEAD);
        if (head >= place(TAIL)) {
            return null;
        }
        byte[] entry = queue.getValue(number(head));
        long time = ByteBuffer.wrap(entry).getLong();
        if (!isOver.test(time)) {
            return null;
        }
        queue.removeKey(number(head));
        ends.updateValue(HEAD, head + 1);
        return new Entry(time, NumberedKey.key(entry));
    }

    boolean isEmpty() {
        return place(HEAD) >= place(TAIL);
    }

    private long place(byte[] which) {
        Long found = ends.getValue(which);
        return found == null ? 0 : found;
    }

    private static byte[] number(long number) {
        return ByteBuffer.allocate(8).putLong(number).array();
    }
}
