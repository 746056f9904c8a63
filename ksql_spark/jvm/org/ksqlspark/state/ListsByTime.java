package org.ksqlspark.state;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * Lists of a task by time, such as the groups of each window: what is in a list is found without
 * looking at all entries of the state.
 *
 * <p>State: the members under (time, number), and how many numbers each list has given. The latter
 * is in the heap too, in the order of times.
 */
final class ListsByTime {
    private final StateCache.Cached<byte[]> members;
    private final StateCache.Cached<Long> lengths;
    private final Map<Integer, TreeMap<Long, Long>> byTask = new HashMap<>();

    /** The lengths of the current task's lists. */
    private TreeMap<Long, Long> lists;

    /** The two states, which nobody else changes. */
    ListsByTime(StateCache.Cached<byte[]> members, StateCache.Cached<Long> lengths) {
        this.members = members;
        this.lengths = lengths;
    }

    /** See KeyedOperator.taskChanged. */
    void taskChanged(int number) {
        lists = byTask.computeIfAbsent(number, task -> stored());
    }

    private TreeMap<Long, Long> stored() {
        TreeMap<Long, Long> found = new TreeMap<>();
        scala.collection.Iterator<scala.Tuple2<byte[], Long>> there = lengths.iterator();
        while (there.hasNext()) {
            scala.Tuple2<byte[], Long> list = there.next();
            found.put(ByteBuffer.wrap(list._1()).getLong(), list._2());
        }
        return found;
    }

    /** The times of lists, in order. */
    SortedMap<Long, ?> times() {
        return lists;
    }

    /** Adds a member, which is in no list yet, to the list of a time. */
    void add(long time, byte[] member) {
        long n = lists.getOrDefault(time, 0L);
        members.insert(place(time, n), member);
        lists.put(time, n + 1);
        lengths.updateValue(place(time), n + 1);
    }

    /** Does something with each member of a list, in order. */
    void forEach(long time, Consumer<byte[]> use) {
        for (long n = 0; n < lists.get(time); n++) {
            byte[] member = members.getValue(place(time, n));
            if (member != null) { // else it was forgotten
                use.accept(member);
            }
        }
    }

    /** Removes the list of the earliest time, and does something with each of its members. */
    void removeFirst(Consumer<byte[]> use) {
        Map.Entry<Long, Long> first = lists.pollFirstEntry();
        for (long n = 0; n < first.getValue(); n++) {
            byte[] place = place(first.getKey(), n);
            byte[] member = members.getValue(place);
            if (member != null) {
                members.removeKey(place);
                use.accept(member);
            }
        }
        lengths.removeKey(place(first.getKey()));
    }

    /** Takes members off their lists; it looks at all of them. */
    void forget(Predicate<byte[]> fits) {
        members.removeIf((place, member) -> fits.test(member));
    }

    private static byte[] place(long time) {
        return ByteBuffer.allocate(8).putLong(time).array();
    }

    private static byte[] place(long time, long n) {
        return ByteBuffer.allocate(16).putLong(time).putLong(n).array();
    }
}
