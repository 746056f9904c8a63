package org.ksqlspark.state;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

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

    /** The key by (start of the slice, number). */
    private final StateCache.Cached<byte[]> members;

    /** The number of keys by the start of the slice. */
    private final StateCache.Cached<Long> sizes;

    /** As {@code sizes}, in order, of the current task. */
    private TreeMap<Long, Long> open;

    private final Map<Integer, TreeMap<Long, Long>> openByTask = new HashMap<>();

    Expiry(KeyedOperator operator, long ttl) {
        this.ttl = ttl;
        this.slice = Math.max(1, ttl / SLICES);
        this.members = operator.bytes("expiring");
        this.sizes = operator.longs("slices");
    }

    /** See KeyedOperator.taskChanged. */
    void taskChanged(int number) {
        open = openByTask.computeIfAbsent(number, task -> stored());
    }

    private TreeMap<Long, Long> stored() {
        TreeMap<Long, Long> found = new TreeMap<>();
        scala.collection.Iterator<scala.Tuple2<byte[], Long>> there = sizes.iterator();
        while (there.hasNext()) {
            scala.Tuple2<byte[], Long> one = there.next();
            found.put(ByteBuffer.wrap(one._1()).getLong(), one._2());
        }
        return found;
    }

    /** Whether a row of this time has expired. */
    boolean hasExpired(long time, long streamTime) {
        return time <= streamTime - ttl;
    }

    /** Lists a key that is not listed yet. */
    void list(byte[] key, long time) {
        long start = Math.floorDiv(time, slice) * slice;
        long n = open.getOrDefault(start, 0L);
        members.insert(place(start, n), key);
        open.put(start, n + 1);
        sizes.updateValue(number(start), n + 1);
    }

    /** Takes a key off the list; it looks at all of them. */
    void forget(byte[] key) {
        members.removeIf((place, listed) -> Arrays.equals(listed, key));
    }

    /** Expires all keys that are listed in slices that have expired, or lists them anew. */
    void check(long streamTime, Rows rows) {
        while (!open.isEmpty() && hasExpired(open.firstKey() + slice - 1, streamTime)) {
            Map.Entry<Long, Long> first = open.pollFirstEntry();
            sizes.removeKey(number(first.getKey()));
            for (long n = 0; n < first.getValue(); n++) {
                byte[] place = place(first.getKey(), n);
                byte[] key = members.getValue(place);
                if (key == null) {
                    continue; // it was forgotten
                }
                members.removeKey(place);
                long last = rows.last(key);
                if (hasExpired(last, streamTime)) {
                    rows.expire(key, last + ttl);
                } else {
                    list(key, last);
                }
            }
        }
    }

    /** An operator's rows, by key. */
    interface Rows {
        /** The time of the last row of a key that is listed. */
        long last(byte[] key);

        /** Removes a key, which is not listed any more, as of this time. */
        void expire(byte[] key, long time);
    }

    private static byte[] place(long start, long n) {
        return ByteBuffer.allocate(16).putLong(start).putLong(n).array();
    }

    private static byte[] number(long start) {
        return ByteBuffer.allocate(8).putLong(start).array();
    }
}
