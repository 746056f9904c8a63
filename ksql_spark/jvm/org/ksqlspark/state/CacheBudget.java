package org.ksqlspark.state;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;

/**
 * How many bytes the caches of state and the filters of its keys may hold together, and how many
 * they do, in each JVM. One cache belongs to one task, and only its thread uses it; the budget is
 * everybody's.
 */
public final class CacheBudget {
    /** Of all queries of this JVM. Nothing is cached before somebody sets a bound. */
    private static final CacheBudget SHARED = new CacheBudget(0);

    /** What an executor has said longer ago, ms, does not count: it may be gone. */
    private static final long STALE_MS = 5000;

    private record Use(long bytes, long at) {}

    private final Map<String, Use> elsewhere = new ConcurrentHashMap<>();
    private volatile long bound;
    private final AtomicLong used = new AtomicLong();

    /** By filters, of what is used. */
    private final AtomicLong filters = new AtomicLong();

    private final AtomicInteger sharers = new AtomicInteger();

    /** Lets go of something that nobody uses now; false: there is nothing. */
    private volatile BooleanSupplier reclaim = () -> false;

    CacheBudget(long bound) {
        this.bound = bound;
    }

    /** The one of this JVM. */
    public static CacheBudget shared() {
        return SHARED;
    }

    /** The most bytes that all caches and filters hold. */
    public long bound() {
        return bound;
    }

    /** Set it; caches that hold more let entries go when they are used next. */
    public void bound(long bytes) {
        bound = bytes;
    }

    /** The bytes that all caches and filters hold; in the driver, with those of executors. */
    public long used() {
        long now = System.currentTimeMillis();
        long others = 0;
        for (Use use : elsewhere.values()) {
            others += now - use.at <= STALE_MS ? use.bytes : 0;
        }
        return used.get() + others;
    }

    /** The caches of an executor hold so many bytes at {@code now}, ms of the epoch. */
    public void usedBy(String executor, long bytes, long now) {
        elsewhere.put(executor, new Use(bytes, now));
    }

    /** A cache begins to share it. */
    void join() {
        sharers.incrementAndGet();
    }

    /** A cache that holds nothing any more ends. */
    void leave() {
        sharers.decrementAndGet();
    }

    /** Have {@code reclaim} make room where there is none. */
    void reclaimBy(BooleanSupplier reclaim) {
        this.reclaim = reclaim;
    }

    /** Take so many bytes; false where there is no room for them. */
    boolean take(long bytes) {
        do {
            if (used.addAndGet(bytes) <= bound) {
                return true;
            }
            used.addAndGet(-bytes);
        } while (reclaim.getAsBoolean());
        return false;
    }

    /** Give so many bytes back. */
    void give(long bytes) {
        used.addAndGet(-bytes);
    }

    /**
     * Take so many bytes for a filter, up to half of all; false where there is no room for them.
     * Caches make room when they are used next, since a byte of a filter saves more than one of
     * theirs.
     */
    boolean takeForFilter(long bytes) {
        if (filters.addAndGet(bytes) <= bound / 2) {
            used.addAndGet(bytes);
            return true;
        }
        filters.addAndGet(-bytes);
        return false;
    }

    /** Give so many bytes of a filter back. */
    void giveForFilter(long bytes) {
        filters.addAndGet(-bytes);
        give(bytes);
    }

    /**
     * Whether a cache that holds so many bytes should let some go: nearly nothing is left, and it
     * holds more than an equal share. So a busy task may take what others do not need, and gives it
     * back once they do.
     */
    boolean isOver(long held) {
        long most = bound;
        long share = (most - filters.get()) / Math.max(1, sharers.get());
        return used.get() > most - most / 8 && held > share;
    }
}
