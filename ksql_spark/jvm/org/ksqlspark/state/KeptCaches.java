package org.ksqlspark.state;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * Caches of stores, between two batches of a run. A task takes its store's cache out, so that an
 * attempt that should be over cannot disturb the next one, and brings it back once it has
 * committed.
 *
 * <p>A store may go on from what another JVM wrote, or from a batch that is done again. So each
 * attempt that changes it writes a stamp of its own into the store, and a cache knows the last one
 * that it has seen: a store with that stamp has what the cache has.
 */
public final class KeptCaches {
    /** Of all queries of this JVM. */
    private static final KeptCaches SHARED = new KeptCaches(CacheBudget.shared());

    /** The next batch of a busy query takes its cache sooner, ns. */
    private static final long IDLE_NS = 1_000_000_000;

    private record Kept(StateCache cache, Long stamp, long since) {}

    private final Map<StateEntries.Store, Kept> kept = new ConcurrentHashMap<>();
    private final CacheBudget budget;
    private final long idleNs;

    /** Before this time of System.nanoTime(), none has waited for long. */
    private volatile long noneBefore = System.nanoTime();

    KeptCaches(CacheBudget budget) {
        this(budget, IDLE_NS);
    }

    /**
     * @param idleNs after so long, a cache gives way to others that need room, ns
     */
    KeptCaches(CacheBudget budget, long idleNs) {
        this.idleNs = idleNs;
        this.budget = budget;
        budget.reclaimBy(this::closeOldest);
    }

    /**
     * Closes the cache that has waited longest for a batch; false: none has waited for long. A full
     * cache asks for each entry that it takes in, so it mostly compares two times.
     */
    private boolean closeOldest() {
        long now = System.nanoTime();
        if (now - noneBefore < 0) {
            return false;
        }
        Map.Entry<StateEntries.Store, Kept> oldest = null;
        for (Map.Entry<StateEntries.Store, Kept> one : kept.entrySet()) {
            if (oldest == null || one.getValue().since - oldest.getValue().since < 0) {
                oldest = one;
            }
        }
        long since = oldest == null ? now : oldest.getValue().since;
        if (now - since < idleNs || oldest == null) {
            noneBefore = since + idleNs;
            return false;
        }
        if (kept.remove(oldest.getKey(), oldest.getValue())) {
            oldest.getValue().cache.close();
        }
        return true;
    }

    static KeptCaches shared() {
        return SHARED;
    }

    /**
     * The cache of a store; a new one where none fits.
     *
     * @param stamp null: none was written
     */
    StateCache take(StateEntries.Store store, Long stamp, StateCache.Tasks tasks) {
        Kept found = kept.remove(store);
        if (found != null) {
            if (stamp != null && stamp.equals(found.stamp)) {
                return found.cache;
            }
            found.cache.close();
        }
        return new StateCache(budget, tasks);
    }

    /**
     * Keeps the cache of a store, which was committed with that stamp, if it is of use for the next
     * batch; else it is closed.
     */
    void keep(StateEntries.Store store, Long stamp, StateCache cache) {
        if (!cache.endBatch()) {
            cache.close();
            return;
        }
        Kept other = kept.put(store, new Kept(cache, stamp, System.nanoTime()));
        if (other != null) {
            other.cache.close();
        }
    }

    /** Forgets those of a run that has ended. */
    void end(String run) {
        for (StateEntries.Store store : kept.keySet()) {
            Kept found = store.run().equals(run) ? kept.remove(store) : null;
            if (found != null) {
                found.cache.close();
            }
        }
    }

    /** The runs that have caches here. */
    public static Set<String> runs() {
        return SHARED.kept.keySet().stream()
                .map(StateEntries.Store::run)
                .collect(Collectors.toSet());
    }

    /** Forgets those of a run that has ended. */
    public static void release(String run) {
        SHARED.end(run);
    }
}
