package org.ksqlspark.kafka;

/**
 * How long a task waits for an empty partition before it goes on without it, as Kafka Streams does:
 * max.task.idle.ms after it was found empty, once. It is waited for again only after it had
 * something.
 */
final class IdleWait {
    private final long maxIdleMs;

    /** Since when the partition is empty, ms of the epoch; -1: it is not. */
    private long since = -1;

    /**
     * @param maxIdleMs max.task.idle.ms; nothing is waited for unless it is more than 0
     */
    IdleWait(long maxIdleMs) {
        this.maxIdleMs = maxIdleMs;
    }

    /** The partition has something, here or on the broker. */
    void end() {
        since = -1;
    }

    /** For how many ms to wait still for a partition that is empty at {@code now}. */
    long left(long now) {
        if (since < 0) {
            since = now;
        }
        return Math.max(0, since + maxIdleMs - now);
    }
}
