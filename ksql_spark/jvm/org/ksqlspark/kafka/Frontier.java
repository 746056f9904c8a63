package org.ksqlspark.kafka;

import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * How far in time the tasks of a sub-topology have got that writes an internal topic.
 *
 * <p>Whoever reads that topic together with others must not run ahead in these while the
 * sub-topology before it still works through a backlog: the internal topic then looks as if it had
 * ended. What the tasks have handed out counts once the brokers have acknowledged all that came of
 * it, and the offsets of these records say up to where the topic must have been read. Where tasks
 * are in several JVMs, the driver knows it of all ({@link RemoteRuns}).
 */
final class Frontier {
    /** How often progress is noted, ms. */
    static final long EVERY_MS = 5;

    /** Time of a task that has nothing to do. */
    static final long IDLE = Long.MAX_VALUE;

    /** Of a task whose progress was not noted for so long, ms, an executor says nothing. */
    private static final long STALE_MS = 1000;

    private static final Map<String, Frontier> OF_TOPICS = new ConcurrentHashMap<>();

    /** In an executor: what the driver says, by topic. */
    private static volatile Map<String, Reached> told = Map.of();

    /**
     * How far a topic's writers have got.
     *
     * @param time everything before it, ms, is in the topic; IDLE where nothing is under way, the
     *     lowest number where nobody writes it yet
     * @param offsets by partition, the greatest offset of these records
     */
    record Reached(long time, Map<Integer, Long> offsets) implements Serializable {
        static final Reached NOTHING = new Reached(Long.MIN_VALUE, Map.of());
    }

    private final Deliveries deliveries = new Deliveries();

    /** Of the driver: the offsets that executors have told it. */
    private final Map<Integer, Long> remoteOffsets = new ConcurrentHashMap<>();

    /** Those of the tasks; empty until one of them reads. */
    private volatile Progress[] tasks = {};

    private Frontier() {}

    /** That of a topic, made where there is none yet. */
    private static Frontier of(String topic) {
        return OF_TOPICS.computeIfAbsent(topic, t -> new Frontier());
    }

    /** How far one of the tasks that write a topic has got. */
    static Progress progress(String topic, int tasks, int task) {
        return of(topic).of(tasks, task);
    }

    /** What the tasks of this JVM have sent to a topic. */
    static Deliveries deliveries(String topic) {
        return of(topic).deliveries;
    }

    private synchronized Progress of(int count, int task) {
        if (tasks.length == 0) {
            Progress[] made = new Progress[count];
            Arrays.setAll(made, i -> new Progress(deliveries));
            tasks = made;
        }
        return tasks[task];
    }

    /** How far the tasks of this JVM have got, by topic. */
    static Map<String, RunReport.TaskTimes> report(long now) {
        Map<String, RunReport.TaskTimes> found = new HashMap<>();
        OF_TOPICS.forEach(
                (topic, frontier) -> {
                    Progress[] tasks = frontier.tasks;
                    Map<Integer, Long> times = new HashMap<>();
                    for (int i = 0; i < tasks.length; i++) {
                        if (tasks[i].isFresh(now)) {
                            times.put(i, tasks[i].time());
                        }
                    }
                    if (tasks.length > 0) {
                        Map<Integer, Long> offsets = new HashMap<>(frontier.deliveries.offsets());
                        found.put(topic, new RunReport.TaskTimes(tasks.length, times, offsets));
                    }
                });
        return found;
    }

    /** Tasks of another JVM have got so far. */
    static void note(String topic, RunReport.TaskTimes told) {
        Frontier frontier = of(topic);
        told.offsets().forEach((at, offset) -> frontier.remoteOffsets.merge(at, offset, Math::max));
        told.times().forEach((task, time) -> frontier.of(told.tasks(), task).set(time));
    }

    /** How far the writers of the topics have got that the driver knows of. */
    static Map<String, Reached> all() {
        Map<String, Reached> found = new HashMap<>();
        OF_TOPICS.forEach((topic, frontier) -> found.put(topic, frontier.reached()));
        return found;
    }

    /** Here, that is known from the driver. */
    static void follow(Map<String, Reached> orders) {
        Map<String, Reached> before = told;
        told = orders;
        // one that the driver has not heard of is new
        OF_TOPICS
                .keySet()
                .removeIf(topic -> before.containsKey(topic) && !orders.containsKey(topic));
    }

    static void forget(String topic) {
        OF_TOPICS.remove(topic);
    }

    /**
     * Everything before this time, ms, is in a topic; IDLE where nothing is under way, the lowest
     * number where nobody writes it yet.
     */
    static long time(String topic) {
        if (RemoteRuns.follows()) {
            return told.getOrDefault(topic, Reached.NOTHING).time;
        }
        Frontier frontier = OF_TOPICS.get(topic);
        return frontier == null ? Long.MIN_VALUE : frontier.time();
    }

    /**
     * The greatest offset of these records in a partition; -1: there are none. To be asked for
     * after the time: so none is missing.
     */
    static long offset(String topic, int partition) {
        if (RemoteRuns.follows()) {
            return told.getOrDefault(topic, Reached.NOTHING).offsets.getOrDefault(partition, -1L);
        }
        Frontier frontier = OF_TOPICS.get(topic);
        return frontier == null ? -1 : frontier.offset(partition);
    }

    private long time() {
        Progress[] all = tasks;
        long lowest = all.length == 0 ? Long.MIN_VALUE : IDLE;
        for (Progress task : all) {
            lowest = Math.min(lowest, task.time());
        }
        return lowest;
    }

    private long offset(int partition) {
        return Math.max(
                deliveries.offsets().getOrDefault(partition, -1L),
                remoteOffsets.getOrDefault(partition, -1L));
    }

    private Reached reached() {
        long lowest = time();
        Map<Integer, Long> offsets = new HashMap<>(deliveries.offsets());
        remoteOffsets.forEach((at, offset) -> offsets.merge(at, offset, Math::max));
        return new Reached(lowest, offsets);
    }

    /** That of one task. */
    static final class Progress {
        private record Sample(long mark, long time) {}

        private final Deliveries deliveries;
        private final ArrayDeque<Sample> samples = new ArrayDeque<>();
        private long time = Long.MIN_VALUE;
        private long latest;

        private Progress(Deliveries deliveries) {
            this.deliveries = deliveries;
        }

        /**
         * What is handed out next has this time, and what came of everything before was sent; all
         * in ms.
         */
        synchronized void note(long now, long next) {
            latest = now;
            long mark = deliveries.mark();
            if (!samples.isEmpty() && samples.peekLast().mark == mark) {
                samples.pollLast();
            }
            samples.add(new Sample(mark, next));
            time();
        }

        private synchronized boolean isFresh(long now) {
            return now - latest <= STALE_MS;
        }

        private synchronized void set(long next) {
            time = next;
        }

        /** Everything before it is in the topic. */
        private synchronized long time() {
            while (!samples.isEmpty() && deliveries.hasArrived(samples.peek().mark)) {
                time = samples.poll().time;
            }
            return time;
        }
    }
}
