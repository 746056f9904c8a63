package org.ksqlspark.kafka;

import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * A Spark query from its start to its end, as its sources and readers know it. The driver decides;
 * in another JVM readers learn of it through {@link RemoteRuns}.
 */
final class QueryRun {
    private static final Map<String, QueryRun> RUNS = new ConcurrentHashMap<>();

    private volatile boolean isDraining;

    /** The latest batch whose partitions were planned; -1 before the first. */
    private volatile long batch = -1;

    /** The sources that were asked for offsets in the round of requests that runs. */
    private final Set<Object> asked = Collections.newSetFromMap(new IdentityHashMap<>());

    /** Whether the sources report new offsets in that round. */
    private boolean isReading;

    /** Whether a round has begun while draining. */
    private volatile boolean isDrained;

    /** Readers between two batches, with their consumers and what they have fetched. */
    private final Map<String, TaskReader> idle = new HashMap<>();

    /** Readers of the batch that runs in real time. */
    private final Set<TaskReader> active = new HashSet<>();

    private boolean isReleased;

    /** Whether the batch ends; the readers of all tasks end together. */
    private volatile boolean isEnding;

    private volatile long quietSince;

    /** When the latest batch in real time was over, ms; 0: its readers, or the next ones, read. */
    private long pausedSince;

    private final LongAdder records = new LongAdder();
    private final BatchEnd end;

    /** The least time from one micro-batch to the next, ns. */
    private final long intervalNanos;

    /** When the next micro-batch may begin, by System.nanoTime: a clock that nobody sets. */
    private long mayBegin = System.nanoTime();

    private QueryRun(long batchMs) {
        end = new BatchEnd(batchMs);
        intervalNanos = TimeUnit.MILLISECONDS.toNanos(batchMs);
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

    /** The names of all runs. */
    static Set<String> names() {
        return RUNS.keySet();
    }

    /** By run, how many records its readers have read since this was asked last. */
    static Map<String, Long> takeRecords() {
        Map<String, Long> found = new HashMap<>();
        RUNS.forEach((name, run) -> found.put(name, run.records.sumThenReset()));
        return found;
    }

    /**
     * What readers in another JVM have to know, by run.
     *
     * @param read by run, how many records they have read since they asked last
     */
    static Map<String, RunOrders.Order> orders(long now, Map<String, Long> read) {
        Map<String, RunOrders.Order> found = new HashMap<>();
        RUNS.forEach(
                (name, run) -> {
                    Long count = read.get(name);
                    if (count != null) { // it has readers there
                        run.isEnding(now, count);
                    }
                    found.put(name, new RunOrders.Order(run.batch, run.isEnding, run.isDraining));
                });
        return found;
    }

    /** A run here does what the driver says of the run of that name. */
    static void follow(String name, RunOrders.Order order) {
        QueryRun run = RUNS.get(name);
        if (run == null) {
            return;
        }
        boolean wasOver = run.isOver();
        if (order.isDraining()) {
            run.isDraining = true;
        }
        synchronized (run) { // the next batch may begin meanwhile
            if (order.batch() == run.batch) {
                if (order.isEnding()) {
                    run.end(System.currentTimeMillis());
                }
            }
        }
        if (!wasOver && run.isOver()) {
            run.wakeUp();
        }
    }

    /**
     * A source is asked for offsets, by the query's one thread, once in a round; a micro-batch is
     * made of a round. All sources of a round report what is new, or none does: draining that
     * begins in the middle would leave out what one topic has, and another's records of later times
     * would be processed before.
     *
     * @return whether the source reports new offsets
     */
    boolean isReading(Object source) {
        if (asked.isEmpty() || asked.contains(source)) { // a new round
            asked.clear();
            awaitMicroBatch();
            isReading = !isDraining;
            isDrained = !isReading;
        }
        asked.add(source);
        return isReading;
    }

    /** Waits until the next micro-batch may begin, or the thread is interrupted. */
    private void awaitMicroBatch() {
        long left;
        while ((left = mayBegin - System.nanoTime()) > 0
                && !Thread.currentThread().isInterrupted()) {
            LockSupport.parkNanos(this, left);
        }
    }

    /** A micro-batch is planned; like the wait before it, by the query's one thread. */
    void beginMicroBatch() {
        mayBegin = System.nanoTime() + intervalNanos;
    }

    /** The partitions of a batch are planned, or in another JVM, a task of it begins. */
    synchronized void begin(long number) {
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
        if (!RemoteRuns.follows()
                && !isEnding
                && !isDraining
                && end.isOver(now, quietSince, records.sum())) {
            end(now);
            wakeUp();
        }
        return isOver();
    }

    /** Ends the batch that runs in real time. */
    void endBatch() {
        end(System.currentTimeMillis());
        wakeUp();
    }

    private synchronized void end(long now) {
        if (!isEnding) {
            isEnding = true;
            pausedSince = now;
        }
    }

    /** When to ask again at the latest, ms of the epoch. */
    long due() {
        return end.due(records.sum());
    }

    private synchronized void wakeUp() {
        active.forEach(TaskReader::wakeUp);
    }

    synchronized void add(TaskReader reader) {
        active.add(reader);
        if (pausedSince > 0) {
            reader.paused(System.currentTimeMillis() - pausedSince);
            pausedSince = 0;
        }
    }

    synchronized void remove(TaskReader reader) {
        active.remove(reader);
    }

    /** Whether the readers of the batch that runs end. */
    boolean isOver() {
        return isEnding || isDraining;
    }

    /** Whether no micro-batch is made any more of offsets that were given before the drain. */
    boolean isDrained() {
        return isDrained;
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
