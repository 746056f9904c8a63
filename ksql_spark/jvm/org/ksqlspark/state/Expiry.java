package org.ksqlspark.state;

import java.util.Arrays;

/**
 * Finds the keys whose last row is older than a TTL (reference §6.16), without looking at all keys.
 *
 * <p>Keys are listed by slices of time, a fraction of the TTL. A key is listed once: with its first
 * row, in that row's slice. When a slice is so old that all rows in it have expired, each of its
 * keys is asked for its last row: it has expired too, or the key moves to that row's slice.
 */
final class Expiry {
    /** So a key is found at most this fraction of the TTL after it has expired. */
    private static final int SLICES = 32;

    private final long ttl;
    private final long slice;

    /** Keys by the start of the slice. */
    private final ListsByTime keys;

    Expiry(KeyedOperator operator, long ttl) {
        this.ttl = ttl;
        this.slice = Math.max(1, ttl / SLICES);
        this.keys = new ListsByTime(operator.bytes("expiring"), operator.longs("slices"));
    }

    /** See KeyedOperator.taskChanged. */
    void taskChanged(int number) {
        keys.taskChanged(number);
    }

    /** Whether a row of this time has expired. */
    boolean hasExpired(long time, long streamTime) {
        return time <= streamTime - ttl;
    }

    /** Lists a key that is not listed yet. */
    void list(byte[] key, long time) {
        keys.add(Math.floorDiv(time, slice) * slice, key);
    }

    /** Takes a key off the list; it looks at all of them. */
    void forget(byte[] key) {
        keys.forget(listed -> Arrays.equals(listed, key));
    }

    /** Expires all keys that are listed in slices that have expired, or lists them anew. */
    void check(long streamTime, Rows rows) {
        while (!keys.times().isEmpty()
                && hasExpired(keys.times().firstKey() + slice - 1, streamTime)) {
            keys.removeFirst(
                    key -> {
                        long last = rows.last(key);
                        if (hasExpired(last, streamTime)) {
                            rows.expire(key, last + ttl);
                        } else {
                            list(key, last);
                        }
                    });
        }
    }

    /** An operator's rows, by key. */
    interface Rows {
        /** The time of the last row of a key that is listed. */
        long last(byte[] key);

        /** Removes a key, which is not listed any more, as of this time. */
        void expire(byte[] key, long time);
    }
}
