package org.ksqlspark.kafka;

import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Which of the records that the tasks of this JVM have sent to an internal topic the brokers have
 * acknowledged. From then on every consumer can read them.
 */
final class Deliveries {
    /** Records that were sent one after the other. */
    static final class Group {
        private final long number;
        private int waiting;

        private Group(long number) {
            this.number = number;
        }
    }

    /** Those with records on their way, and the latest one, the oldest first. */
    private final ArrayDeque<Group> groups = new ArrayDeque<>();

    private final Map<Integer, Long> offsets = new ConcurrentHashMap<>();

    Deliveries() {
        groups.add(new Group(0));
    }

    /** A record is sent; {@link #arrived} or {@link #dropped} takes what this returns. */
    synchronized Group sent() {
        Group latest = groups.peekLast();
        latest.waiting++;
        return latest;
    }

    /** The brokers have acknowledged a record. */
    void arrived(Group group, int partition, long offset) {
        offsets.merge(partition, offset, Math::max); // before it counts as delivered
        dropped(group);
    }

    /** A record is not on its way any more. */
    synchronized void dropped(Group group) {
        group.waiting--;
    }

    /**
     * Ends the group that records are added to now.
     *
     * @return a number for everything that was sent until now, for {@link #hasArrived}
     */
    synchronized long mark() {
        Group latest = groups.peekLast();
        if (latest.waiting == 0) {
            return latest.number - 1;
        }
        groups.add(new Group(latest.number + 1));
        return latest.number;
    }

    /** Whether nothing is on its way of what was sent before a call of {@link #mark}. */
    synchronized boolean hasArrived(long mark) {
        removeArrived();
        return groups.peek().number > mark;
    }

    private void removeArrived() {
        while (groups.size() > 1 && groups.peek().waiting == 0) {
            groups.poll();
        }
    }

    /** By partition, the greatest offset of a record that was acknowledged. */
    Map<Integer, Long> offsets() {
        return offsets;
    }
}
