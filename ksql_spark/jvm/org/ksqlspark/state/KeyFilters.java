package org.ksqlspark.state;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * Filters of stores, between two batches of a run. A task takes its store's filter out, so that an
 * attempt that should be over cannot disturb the next one, and brings it back once it has
 * committed.
 *
 * <p>A store may go on from what another JVM wrote, or from a batch that is done again. So each
 * attempt that adds a key writes a stamp of its own into the store, and a filter knows the last one
 * that it has seen: a store with that stamp has no key that the filter lacks.
 */
public final class KeyFilters {
    /** Of all queries of this JVM. */
    private static final KeyFilters SHARED = new KeyFilters(CacheBudget.shared());

    private record Kept(KeyFilter filter, Long stamp) {}

    private final Map<StateEntries.Store, Kept> kept = new ConcurrentHashMap<>();
    private final CacheBudget budget;

    KeyFilters(CacheBudget budget) {
        this.budget = budget;
    }

    static KeyFilters shared() {
        return SHARED;
    }

    /**
     * The filter of a store; a new one where none fits.
     *
     * @param stamp null: none was written
     * @param entries how many the store has
     */
    KeyFilter take(StateEntries.Store store, Long stamp, long entries) {
        Kept found = kept.remove(store);
        if (found != null) {
            if (stamp != null && stamp.equals(found.stamp) && !found.filter.isStale(entries)) {
                return found.filter;
            }
            found.filter.close();
        }
        return new KeyFilter(budget, entries);
    }

    /** Keeps the filter of a store, which was committed with that stamp. */
    void keep(StateEntries.Store store, Long stamp, KeyFilter filter) {
        Kept other = filter.endBatch() ? kept.put(store, new Kept(filter, stamp)) : null;
        if (other != null) {
            other.filter.close();
        }
    }

    /** Forgets those of a run that has ended. */
    void end(String run) {
        for (StateEntries.Store store : kept.keySet()) {
            Kept found = store.run().equals(run) ? kept.remove(store) : null;
            if (found != null) {
                found.filter.close();
            }
        }
    }

    /** The runs that have filters here. */
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
