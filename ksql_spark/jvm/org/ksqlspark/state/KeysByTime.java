package org.ksqlspark.state;

import org.apache.spark.sql.streaming.MapState;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongPredicate;

/**
 * The keys of a task by times at which something is due for them, in the state and, in the order of
 * the times, in the heap.
 */
final class KeysByTime {
    private static final byte[] NONE = {};

    /** Entries: time and key. */
    private final MapState<byte[], byte[]> entries;

    private final Map<Integer, TreeMap<Long, List<byte[]>>> byTask = new HashMap<>();

    /** Those of the current task; entries that were removed from the state may be left. */
    private TreeMap<Long, List<byte[]>> listed;

    /** Keys that were due at a time. */
    record Due(long time, List<byte[]> keys) {}

    /**
     * @param entries the state, which nobody else changes
     */
    KeysByTime(MapState<byte[], byte[]> entries) {
        this.entries = entries;
    }

    void taskChanged(int number) {
        listed = byTask.computeIfAbsent(number, task -> stored());
    }

    private TreeMap<Long, List<byte[]>> stored() {
        TreeMap<Long, List<byte[]>> found = new TreeMap<>();
        scala.collection.Iterator<byte[]> there = entries.keys();
        while (there.hasNext()) {
            list(found, there.next());
        }
        return found;
    }

    private static void list(TreeMap<Long, List<byte[]>> found, byte[] entry) {
        found.computeIfAbsent(ByteBuffer.wrap(entry).getLong(), time -> new ArrayList<>())
                .add(entry);
    }

    void add(long time, byte[] key) {
        byte[] entry = NumberedKey.of(time, key);
        if (!entries.containsKey(entry)) {
            entries.updateValue(entry, NONE);
            list(listed, entry);
        }
    }

    void remove(long time, byte[] key) {
        entries.removeKey(NumberedKey.of(time, key));
    }

    boolean isEmpty() {
        return listed.isEmpty();
    }

    /** The latest time of which keys are, or were, there. */
    long last() {
        return listed.lastKey();
    }

    /** Takes out the keys with the earliest time if that is over; null if it is not. */
    Due poll(LongPredicate isOver) {
        if (listed.isEmpty() || !isOver.test(listed.firstKey())) {
            return null;
        }
        Map.Entry<Long, List<byte[]>> first = listed.pollFirstEntry();
        List<byte[]> keys = new ArrayList<>();
        for (byte[] entry : first.getValue()) {
            if (entries.containsKey(entry)) {
                entries.removeKey(entry);
                keys.add(NumberedKey.key(entry));
            }
        }
        return new Due(first.getKey(), keys);
    }
}
