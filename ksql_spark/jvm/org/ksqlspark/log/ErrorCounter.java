package org.ksqlspark.log;

import java.util.concurrent.atomic.LongAdder;

/** Counts the errors of a query's records; many threads do so at once. */
final class ErrorCounter {
    private final LongAdder unreadable = new LongAdder();
    private final LongAdder failed = new LongAdder();
    private final LongAdder late = new LongAdder();
    private final LongAdder lost = new LongAdder();
    private final Graces graces = new Graces();
    private volatile long lastMs;

    void unreadable() {
        unreadable.increment();
        lastMs = System.currentTimeMillis();
    }

    void failed() {
        failed.increment();
        lastMs = System.currentTimeMillis();
    }

    /** {@code grace}: the grace period that would have been enough, ms; null: none. */
    void late(Long grace) {
        late.increment();
        if (grace != null) {
            graces.add(grace);
        }
    }

    void lost(long count) {
        lost.add(count);
        lastMs = System.currentTimeMillis();
    }

    synchronized void add(ErrorCounts more) {
        unreadable.add(more.unreadable());
        failed.add(more.failed());
        late.add(more.late());
        lost.add(more.lost());
        graces.add(more.graces());
        lastMs = Math.max(lastMs, more.lastMs());
    }

    ErrorCounts counts() {
        return new ErrorCounts(
                unreadable.sum(), failed.sum(), late.sum(), lost.sum(), lastMs, graces.counts());
    }

    /** The counts, which begin at 0 again. */
    ErrorCounts take() {
        return new ErrorCounts(
                unreadable.sumThenReset(),
                failed.sumThenReset(),
                late.sumThenReset(),
                lost.sumThenReset(),
                lastMs,
                graces.take());
    }
}
