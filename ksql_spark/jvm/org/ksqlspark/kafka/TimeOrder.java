package org.ksqlspark.kafka;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;

/**
 * Which of a task's partitions has what comes next: of those that belong together the one with the
 * oldest. Partitions of the same number belong together, or all, and such groups have turns.
 *
 * <p>What a topic has that is to be taken first is older than all others.
 *
 * <p>Of partitions that belong together nothing comes while one of them is empty here but known to
 * have more. So the order is that of the records' times however they were fetched: by the latest
 * time of a partition so far, then by partition, then by offset.
 */
final class TimeOrder {
    /** How often to look while the sub-topology before is waited for, ms. */
    private static final long LOOK_AGAIN_MS = 10;

    private final PartitionBuffer[][] groups;
    private final boolean isBatch;
    private final long maxIdleMs;
    private final String waitsFor;

    private int turn;
    private boolean isAhead;

    /** How long to wait for empty partitions of groups that have something, ms. */
    private long wait;

    TimeOrder(List<PartitionBuffer> buffers, TaskOptions options, boolean isBatch) {
        this.isBatch = isBatch;
        maxIdleMs = options.maxIdleMs();
        waitsFor = options.waitsFor();
        TreeMap<Integer, List<PartitionBuffer>> found = new TreeMap<>();
        for (PartitionBuffer buffer : buffers) {
            int group = options.isOneOrder() ? 0 : buffer.partition.partition();
            found.computeIfAbsent(group, n -> new ArrayList<>()).add(buffer);
        }
        // of records of equal times the first in this order are taken first
        Comparator<PartitionBuffer> byInput = Comparator.comparingInt(buffer -> buffer.input);
        Comparator<PartitionBuffer> first =
                (options.isLeftFirst() ? byInput : byInput.reversed())
                        .thenComparing(buffer -> buffer.partition.topic())
                        .thenComparingInt(buffer -> buffer.partition.partition());
        found.values().forEach(list -> list.sort(first));
        groups =
                found.values().stream()
                        .map(list -> list.toArray(new PartitionBuffer[0]))
                        .toArray(PartitionBuffer[][]::new);
    }

    /** The turn of the next group. */
    void nextTurn() {
        turn = groups.length == 0 ? 0 : (turn + 1) % groups.length;
    }

    /**
     * For how long to wait for records at most, where {@link #next} had none, ms; Long.MAX_VALUE:
     * for ever.
     */
    long waitMs() {
        return isAhead ? Math.min(wait, LOOK_AGAIN_MS) : wait;
    }

    /**
     * The partition that has what comes next; null where that is not known yet, or there is
     * nothing.
     *
     * @param decoder makes rows, which are put in order instead of records; null: none does
     */
    PartitionBuffer next(TaskReader.Decoder decoder) {
        isAhead = false;
        wait = Long.MAX_VALUE;
        for (int i = 0; i < groups.length; i++) {
            int number = (turn + i) % groups.length;
            PartitionBuffer next = oldest(groups[number], decoder);
            if (next != null) {
                turn = number;
                return next;
            }
        }
        return null;
    }

    private PartitionBuffer oldest(PartitionBuffer[] group, TaskReader.Decoder decoder) {
        PartitionBuffer best = null;
        long time = PartitionBuffer.NONE;
        long idle = 0;
        PartitionBuffer fed = null;
        for (PartitionBuffer buffer : group) {
            long head = time(buffer, decoder);
            if (head == PartitionBuffer.NONE) {
                if (!buffer.isCaughtUp()
                        && (maxIdleMs >= 0 || buffer.isFirst)
                        && group.length > 1) {
                    buffer.idle.end();
                    return null;
                }
                if (maxIdleMs > 0 && !isBatch) {
                    idle = Math.max(idle, buffer.idle.left(System.currentTimeMillis()));
                }
                if (buffer.partition.topic().equals(waitsFor)) {
                    fed = buffer;
                }
            } else {
                buffer.idle.end();
                if (head < time) {
                    best = buffer;
                    time = head;
                }
            }
        }
        if (best == null || best.isFirst) {
            return best;
        }
        if (fed != null && !isBatch && maxIdleMs >= 0 && isAhead(fed, time)) {
            isAhead = true;
            return null;
        }
        if (idle > 0) {
            wait = Math.min(wait, idle);
            return null;
        }
        return best;
    }

    /**
     * Whether records of a time may still come from the sub-topology before.
     *
     * @param fed what it writes, of which nothing is here
     */
    private boolean isAhead(PartitionBuffer fed, long time) {
        return time >= Frontier.time(waitsFor)
                || fed.isBehind(
                        Frontier.offset(waitsFor, fed.partition.partition()),
                        System.nanoTime() / 1_000_000);
    }

    /** The lowest time of what is here, ms; Long.MIN_VALUE: there may be something older. */
    long lowest(TaskReader.Decoder decoder) {
        long lowest = Frontier.IDLE;
        for (PartitionBuffer[] group : groups) {
            for (PartitionBuffer buffer : group) {
                long head = time(buffer, decoder);
                boolean isUnknown = head == PartitionBuffer.NONE && !buffer.isCaughtUp();
                lowest = Math.min(lowest, isUnknown ? Long.MIN_VALUE : head);
            }
        }
        return lowest;
    }

    private static long time(PartitionBuffer buffer, TaskReader.Decoder decoder) {
        long time = decoder == null ? buffer.recordTime() : buffer.rowTime(decoder);
        return time != PartitionBuffer.NONE && buffer.isFirst ? Long.MIN_VALUE : time;
    }
}
