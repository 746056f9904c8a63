package org.ksqlspark.kafka;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * How far in time the tasks of a sub-topology have got that writes an internal topic.
 *
 * <p>Whoever reads that topic together with others must not run ahead in these while the
 * sub-topology before it still works through a backlog: the internal topic then looks as if it had
 * ended. Where tasks are in several JVMs, the driver knows it of all ({@link RemoteRuns}).
 */
final class Frontier {
    /** What was handed out so long ago, ms, has reached the topic, and whoever reads it. */
    private static final long SETTLED_MS = 250;

    /** How often progress is noted, ms. */
    static final long EVERY_MS = 5;

    /** Time of a task that has nothing to do. */
    static final long IDLE = Long.MAX_VALUE;

    /** Of a task whose progress was not noted for so long, ms, an executor says nothing. */
    private static final long STALE_MS = 1000;

    private static final Map<String, Frontier> OF_TOPICS = new ConcurrentHashMap<>();

    /** In an executor: what the driver says, by topic. */
    private static volatile Map<String, Long> told = Map.of();

    private final Progress[] tasks;

    private Frontier(int tasks) {
        this.tasks = new Progress[tasks];
        for (int i = 0; i < tasks; i++) {
            this.tasks[i] = new Progress();
        }
    }

    /** That of the tasks that write a topic, made where there is none yet. */
    static Frontier make(String topic, int tasks) {
        return OF_TOPICS.computeIfAbsent(topic, t -> new Frontier(tasks));
    }

    /** How far the tasks of this JVM have got, by topic. */
    static Map<String, RunReport.TaskTimes> progress(long now) {
        Map<String, RunReport.TaskTimes> found = new HashMap<>();
        OF_TOPICS.forEach(
                (topic, frontier) -> {
                    Map<Integer, Long> settled = new HashMap<>();
                    for (int i = 0; i < frontier.tasks.length; i++) {
                        if (frontier.tasks[i].isFresh(now)) {
                            settled.put(i, frontier.tasks[i].settled(now));
                        }
                    }
                    found.put(topic, new RunReport.TaskTimes(frontier.tasks.length, settled));
                });
        return found;
    }

    /** Tasks of another JVM have got so far. */
    static void note(String topic, RunReport.TaskTimes times) {
        Frontier frontier = make(topic, times.tasks());
        times.settled().forEach((task, settled) -> frontier.tasks[task].set(settled));
    }

    /** The times up to which everything has reached the topics that the driver knows of. */
    static Map<String, Long> settled(long now) {
        Map<String, Long> found = new HashMap<>();
        OF_TOPICS.keySet().forEach(topic -> found.put(topic, settled(topic, now)));
        return found;
    }

    /** Here, that is known from the driver. */
    static void follow(Map<String, Long> settled) {
        told = settled;
        OF_TOPICS.keySet().retainAll(settled.keySet());
    }

    static void forget(String topic) {
        OF_TOPICS.remove(topic);
    }

    /**
     * The time up to which everything has reached a topic, ms; IDLE where nothing is under way, the
     * lowest number where nobody writes it yet.
     */
    static long settled(String topic, long now) {
        if (RemoteRuns.follows()) {
            return told.getOrDefault(topic, Long.MIN_VALUE);
        }
        Frontier frontier = OF_TOPICS.get(topic);
        if (frontier == null) {
            return Long.MIN_VALUE;
        }
        long lowest = IDLE;
        for (Progress task : frontier.tasks) {
            lowest = Math.min(lowest, task.settled(now));
        }
        return lowest;
    }

    Progress of(int task) {
        return tasks[task];
    }

    /** That of one task. */
    static final class Progress {
        private record Sample(long noted, long time) {}

        private final ArrayDeque<Sample> samples = new ArrayDeque<>();
        private long settled = Long.MIN_VALUE;
        private long latest;

        /** What is to be handed out next at {@code now} has this time; all in ms. */
        synchronized void note(long now, long time) {
            latest = now;
            samples.add(new Sample(now, time));
            settled(now);
        }

        synchronized boolean isFresh(long now) {
            return now - latest <= STALE_MS;
        }

        synchronized void set(long time) {
            settled = time;
        }

        synchronized long settled(long now) {
            while (!samples.isEmpty() && samples.peek().noted <= now - SETTLED_MS) {
                settled = samples.poll().time;
            }
            return settled;
        }
    }
}
