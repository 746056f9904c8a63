package org.ksqlspark.kafka;

import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * How far in time the tasks of a sub-topology have got that writes an internal topic.
 *
 * <p>Whoever reads that topic together with others must not run ahead in these while the
 * sub-topology before it still works through a backlog: the internal topic then looks as if it had
 * ended. It is known in the same JVM only.
 */
final class Frontier {
    /** What was handed out so long ago, ms, has reached the topic, and whoever reads it. */
    private static final long SETTLED_MS = 50;

    /** How often progress is noted, ms. */
    static final long EVERY_MS = 5;

    /** Time of a task that has nothing to do. */
    static final long IDLE = Long.MAX_VALUE;

    private static final Map<String, Frontier> OF_TOPICS = new ConcurrentHashMap<>();

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

    static void forget(String topic) {
        OF_TOPICS.remove(topic);
    }

    /**
     * The time up to which everything has reached a topic, ms; IDLE where nothing is under way, the
     * lowest number where nobody writes it yet.
     */
    static long settled(String topic, long now) {
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

        /** What is to be handed out next at {@code now} has this time; all in ms. */
        synchronized void note(long now, long time) {
            samples.add(new Sample(now, time));
            settled(now);
        }

        synchronized long settled(long now) {
            while (!samples.isEmpty() && samples.peek().noted <= now - SETTLED_MS) {
                settled = samples.poll().time;
            }
            return settled;
        }
    }
}
