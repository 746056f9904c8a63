package org.ksqlspark.kafka;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Decides when a batch in real time ends, and is committed.
 *
 * <p>Nothing is processed while it is: that takes a tenth of a second or two. So a batch ends in a
 * quiet moment if there is one soon after its time, and not when another query's has just ended.
 * One that has read nothing lasts longer: there is nothing to commit.
 */
final class BatchEnd {
    /** Nothing came for so long, ms: a quiet moment. */
    static final long QUIET_MS = 30;

    /** How long after another query's batch, ms. */
    private static final long APART_MS = 300;

    /** So many records are not processed again after a crash. */
    private static final long MAX_RECORDS = 5_000_000;

    /** A batch that has read nothing lasts so many times as long: then Spark plans it anew. */
    private static final int IDLE_FACTOR = 4;

    /** When a batch of any query ended, ms of the epoch. */
    private static final AtomicLong LATEST = new AtomicLong();

    private final long lengthMs;
    private long due = Long.MAX_VALUE;
    private boolean isFirst = true;

    /**
     * @param lengthMs how long a batch is to last, ms; 0: as long as Spark says. It lasts at most
     *     half as long again, or four times as long while it reads nothing. The first one is
     *     shorter by up to a half, so that queries that start together do not stop together.
     */
    BatchEnd(long lengthMs) {
        this.lengthMs = lengthMs;
    }

    /** A batch begins. */
    void begin(long now) {
        if (lengthMs > 0) {
            long shorter = isFirst ? ThreadLocalRandom.current().nextLong(lengthMs / 2) : 0;
            due = now + lengthMs - shorter;
            isFirst = false;
        }
    }

    /**
     * When to ask again at the latest, ms of the epoch.
     *
     * @param records how many the batch has read
     */
    long due(long records) {
        return records == 0 && lengthMs > 0 ? due + (IDLE_FACTOR - 1) * lengthMs : due;
    }

    /**
     * Whether the batch ends now.
     *
     * @param now ms of the epoch
     * @param quietSince when the last record came, ms of the epoch
     * @param records how many the batch has read
     */
    boolean isOver(long now, long quietSince, long records) {
        if (now < due(records) && (lengthMs == 0 || records < MAX_RECORDS)) {
            return false;
        }
        long other = LATEST.get();
        boolean isGoodMoment = now - quietSince >= QUIET_MS && now - other >= APART_MS;
        boolean isOverdue = now >= due(records) + lengthMs / 2 || records >= MAX_RECORDS;
        if (isOverdue || isGoodMoment && LATEST.compareAndSet(other, now)) {
            LATEST.set(now);
            return true;
        }
        return false;
    }
}
