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

    private record Kept(StateCache cache, Long stamp) {}

    private final Map<StateEntries.Store, Kept> kept = new ConcurrentHashMap<>();
    private final CacheBudget budget;

    KeptCaches(CacheBudget budget) {
        this.budget = budget;
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
        Kept other = kept.put(store, new Kept(cache, stamp));
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
