package org.ksqlspark.kafka;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A Spark query from its start to its end, as its sources and readers know it. Readers learn of a
 * drain in the same JVM only.
 */
final class QueryRun {
    private static final Map<String, QueryRun> RUNS = new ConcurrentHashMap<>();

    private volatile boolean isDraining;

    /** The latest batch whose partitions were planned; -1 before the first. */
    private volatile long batch = -1;

    /** How often offsets were asked for since draining began. */
    private volatile int askedSince;

    /** Readers between two batches, with their consumers and what they have fetched. */
    private final Map<String, TaskReader> idle = new HashMap<>();

    private boolean isReleased;

    private QueryRun() {}

    static QueryRun of(String name) {
        return RUNS.computeIfAbsent(name, n -> new QueryRun());
    }

    /** Forgets a run that has ended, and closes its readers. */
    static void release(String name) {
        QueryRun run = RUNS.remove(name);
        if (run != null) {
            run.closeReaders();
        }
    }

    /**
     * From now on readers read nothing.
     *
     * @return the latest batch that may have read something; -1 where there was none
     */
    long drain() {
        isDraining = true;
        return batch;
    }

    boolean isDraining() {
        return isDraining;
    }

    /** Whether no micro-batch is made any more of offsets that were given before the drain. */
    boolean isDrained() {
        return askedSince >= 2;
    }

    /** Offsets were asked for while draining; by the query's one thread. */
    void asked() {
        askedSince++;
    }

    void planned(long number) {
        batch = Math.max(batch, number);
    }

    /** The reader of that name that was kept after the last batch; null where there is none. */
    synchronized TaskReader take(String name) {
        return idle.remove(name);
    }

    /** Keeps a reader for the next batch; one of a released run is closed. */
    synchronized void keep(String name, TaskReader reader) {
        TaskReader other = isReleased ? reader : idle.put(name, reader);
        if (other != null && (isReleased || other != reader)) {
            other.closeConsumers();
        }
    }

    private synchronized void closeReaders() {
        isReleased = true;
        idle.values().forEach(TaskReader::closeConsumers);
        idle.clear();
    }
}
