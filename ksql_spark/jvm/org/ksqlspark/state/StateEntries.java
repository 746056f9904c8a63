package org.ksqlspark.state;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * How many entries the states of queries have. Spark could count them too, but would then look up
 * each key that it writes.
 */
public final class StateEntries {
    private static final Map<Query, Map<Store, Count>> QUERIES = new ConcurrentHashMap<>();

    private StateEntries() {}

    /**
     * A query of a server.
     *
     * @param log the name of the server's processing log
     * @param id the query's id
     */
    public record Query(String log, String id) implements Serializable {}

    /**
     * The store of a task.
     *
     * @param run the id of the Spark query
     * @param operator its number in the query, from 0
     */
    public record Store(String run, int operator, int partition) implements Serializable {}

    /**
     * What a store had at some time.
     *
     * @param atMs that time, ms of the epoch
     */
    public record Count(long entries, long atMs) implements Serializable {
        Count later(Count other) {
            return other.atMs > atMs ? other : this;
        }
    }

    static void set(Query query, Store store, long entries) {
        add(query, store, new Count(entries, System.currentTimeMillis()));
    }

    private static void add(Query query, Store store, Count count) {
        // at once: take() must not come in between
        QUERIES.compute(
                query,
                (q, known) -> {
                    Map<Store, Count> stores = known == null ? new ConcurrentHashMap<>() : known;
                    stores.merge(store, count, Count::later);
                    return stores;
                });
    }

    // ---- for Python ----

    /** The entries of all stores of a Spark query; 0 where none is known. */
    public static long of(String log, String query, String run) {
        return QUERIES.getOrDefault(new Query(log, query), Map.of()).entrySet().stream()
                .filter(one -> one.getKey().run.equals(run))
                .mapToLong(one -> one.getValue().entries)
                .sum();
    }

    /** Forgets a query that is no more. */
    public static void forget(String log, String query) {
        QUERIES.remove(new Query(log, query));
    }

    // ---- between JVMs ----

    /** An executor's counts that have changed since they were taken last. */
    public static Map<Query, Map<Store, Count>> take() {
        Map<Query, Map<Store, Count>> taken = new HashMap<>();
        for (Query query : QUERIES.keySet()) {
            Map<Store, Count> stores = QUERIES.remove(query);
            if (stores != null) {
                taken.put(query, stores);
            }
        }
        return taken;
    }

    /**
     * Adds counts that were taken: the driver an executor's, an executor what it did not send. A
     * task may have moved, so the later count of a store stays.
     */
    public static void add(Map<Query, Map<Store, Count>> counts) {
        counts.forEach(
                (query, stores) -> stores.forEach((store, count) -> add(query, store, count)));
    }
}
