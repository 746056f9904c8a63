package org.ksqlspark.kafka;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

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

    /** Readers of the batch that runs in real time. */
    private final Set<TaskReader> active = new HashSet<>();

    private boolean isReleased;

    /** Whether the batch ends; the readers of all tasks end together. */
    private volatile boolean isEnding;

    private volatile long quietSince;
    private final LongAdder records = new LongAdder();
    private final BatchEnd end;

    private QueryRun(long batchMs) {
        end = new BatchEnd(batchMs);
    }

    /** The run of that name, if its source has been made. */
    static QueryRun of(String name) {
        return of(name, 0);
    }

    /** The run of that name; {@code batchMs}: see {@link BatchEnd}, where it is made. */
    static QueryRun of(String name, long batchMs) {
        return RUNS.computeIfAbsent(name, n -> new QueryRun(batchMs));
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
        wakeUp();
        return batch;
    }

    /** The partitions of a batch in real time are planned; called for each source. */
    void begin(long number) {
        if (number <= batch) {
            return;
        }
        batch = number;
        isEnding = false;
        records.reset();
        quietSince = System.currentTimeMillis();
        end.begin(quietSince);
    }

    /**
     * Asked by readers in real time now and then.
     *
     * @param count of the records that the reader has read since it asked last
     * @return whether they end
     */
    boolean isEnding(long now, long count) {
        if (count > 0) {
            quietSince = now;
            records.add(count);
        }
        if (!isEnding && !isDraining && end.isOver(now, quietSince, records.sum())) {
            isEnding = true;
            wakeUp();
        }
        return isOver();
    }

    /** When to ask again at the latest, ms of the epoch. */
    long due() {
        return end.due();
    }

    private synchronized void wakeUp() {
        active.forEach(TaskReader::wakeUp);
    }

    synchronized void add(TaskReader reader) {
        active.add(reader);
    }

    synchronized void remove(TaskReader reader) {
        active.remove(reader);
    }

    /** Whether the readers of the batch that runs end. */
    boolean isOver() {
        return isEnding || isDraining;
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
