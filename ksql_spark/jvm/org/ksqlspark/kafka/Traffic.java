package org.ksqlspark.kafka;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** What a query reads and writes, and how long that takes, since the server started. */
public final class Traffic {
    /**
     * Times are counted up to each of these, ms, and beyond the last: six for each tenfold time.
     */
    private static final long[] BOUNDS = {
        1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000, 3000,
        5000, 7000, 10_000, 15_000, 20_000, 30_000, 60_000
    };

    /** Event times before it, or that much ahead of the clock, are hardly meant. */
    private static final long YEAR_1980 = 315_532_800_000L;

    private static final long AHEAD = 366L * 24 * 60 * 60 * 1000;

    /** Between the name of a server and the id of its query. */
    private static final char SEPARATOR = '/';

    /** A task that reads no more has reached this offset. */
    static final long CLOSED = -1;

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, Traffic> QUERIES = new ConcurrentHashMap<>();

    private final Map<String, Sums> read = new ConcurrentHashMap<>();
    private final Map<String, Sums> written = new ConcurrentHashMap<>();
    private final Map<String, Sums> latencies = new ConcurrentHashMap<>();
    private final Sums pauses = times();
    private final Map<String, Long> waiting = new ConcurrentHashMap<>();
    private final Map<String, Long> reached = new ConcurrentHashMap<>();
    private final Map<String, Long> caughtUp = new ConcurrentHashMap<>();
    private volatile Long oddTime;

    private Traffic() {}

    /**
     * A query's figures.
     *
     * @param read by topic: records, and the bytes of their keys and values
     * @param written the same of what the brokers have acknowledged
     * @param latencies by topic that is written, from a record's time to its acknowledgement: how
     *     many up to each bound, how many beyond, and the sum of the times in ms; without records
     *     that had an old time when they came
     * @param pauses in the same form, from the end of a batch in real time until its readers go on
     * @param waiting by task: the time of the oldest record that was fetched and waits, or when
     *     everything was read, if that was later, or when the task stopped reading to finish a
     *     batch, ms of the epoch; {@link PartitionBuffer#NONE}: none waits
     * @param reached by task, topic and partition, separated by "/": the offset of the first record
     *     that was not handed out yet; {@link #CLOSED}: the task reads no more
     * @param oddTime the first event time of a result that is more than a year ahead, or before
     *     1980; null: there was none
     */
    public record Figures(
            Map<String, long[]> read,
            Map<String, long[]> written,
            Map<String, long[]> latencies,
            long[] pauses,
            Map<String, Long> waiting,
            Map<String, Long> reached,
            Long oddTime)
            implements Serializable {}

    /** Numbers that grow together. */
    private record Sums(LongAdder[] parts) {
        Sums(int size) {
            this(new LongAdder[size]);
            for (int i = 0; i < size; i++) {
                parts[i] = new LongAdder();
            }
        }

        void add(long... more) {
            for (int i = 0; i < more.length; i++) {
                parts[i].add(more[i]);
            }
        }

        void addTime(long ms) {
            int at = Arrays.binarySearch(BOUNDS, ms);
            parts[at >= 0 ? at : -at - 1].increment();
            parts[BOUNDS.length + 1].add(ms);
        }

        long[] now(boolean isTaken) {
            long[] found = new long[parts.length];
            for (int i = 0; i < found.length; i++) {
                found[i] = isTaken ? parts[i].sumThenReset() : parts[i].sum();
            }
            return found;
        }
    }

    private static Sums volume() {
        return new Sums(2);
    }

    private static Sums times() {
        return new Sums(BOUNDS.length + 2);
    }

    /**
     * That of a query.
     *
     * @param server a name that no other server in this JVM has
     */
    static Traffic of(String server, String query) {
        return QUERIES.computeIfAbsent(server + SEPARATOR + query, name -> new Traffic());
    }

    void read(String topic, List<ConsumerRecord<byte[], byte[]>> records) {
        long bytes = 0;
        for (ConsumerRecord<byte[], byte[]> record : records) {
            bytes += Math.max(record.serializedKeySize(), 0);
            bytes += Math.max(record.serializedValueSize(), 0);
        }
        read.computeIfAbsent(topic, t -> volume()).add(records.size(), bytes);
    }

    /**
     * The brokers have acknowledged a record.
     *
     * @param isVisible whether everybody can read it from now on
     */
    void wrote(ProducerRecord<byte[], byte[]> record, boolean isVisible) {
        written.computeIfAbsent(record.topic(), t -> volume())
                .add(1, length(record.key()) + length(record.value()));
        if (isVisible) {
            long now = System.currentTimeMillis();
            long at = record.timestamp() == null ? now : record.timestamp();
            if (now - at <= BOUNDS[BOUNDS.length - 1] || at >= caughtUp()) {
                latencies
                        .computeIfAbsent(record.topic(), t -> times())
                        .addTime(Math.max(0, now - at));
            }
        }
    }

    /**
     * When all tasks had read everything, ms: what has an earlier time and is answered only now had
     * that time when it came, or has waited for the end of a window.
     */
    private long caughtUp() {
        return caughtUp.values().stream().mapToLong(Long::longValue).min().orElse(Long.MIN_VALUE);
    }

    private static long length(byte[] bytes) {
        return bytes == null ? 0 : bytes.length;
    }

    void paused(long ms) {
        pauses.addTime(ms);
    }

    /** See {@link Figures#waiting}. */
    void waits(String task, long time) {
        waiting.put(task, Math.max(time, caughtUp.getOrDefault(task, Long.MIN_VALUE)));
    }

    /** See {@link Figures#reached}. */
    void reached(String task, TopicPartition at, long offset) {
        reached.put(task + SEPARATOR + at.topic() + SEPARATOR + at.partition(), offset);
    }

    /** A task has read everything that there is, at this time in ms; null: it reads no more. */
    void caughtUp(String task, Long now) {
        if (now == null) {
            caughtUp.remove(task);
        } else {
            caughtUp.put(task, now);
        }
    }

    /** A result has this event time, ms, whether its topic takes it or not. */
    void timed(long time, long now) {
        if (oddTime == null && (time < YEAR_1980 || time - AHEAD > now)) {
            oddTime = time;
        }
    }

    private Figures figures(boolean isTaken) {
        return new Figures(
                now(read, isTaken),
                now(written, isTaken),
                now(latencies, isTaken),
                pauses.now(isTaken),
                new HashMap<>(waiting),
                new HashMap<>(reached),
                oddTime);
    }

    private static Map<String, long[]> now(Map<String, Sums> all, boolean isTaken) {
        Map<String, long[]> found = new HashMap<>();
        all.forEach((topic, sums) -> found.put(topic, sums.now(isTaken)));
        return found;
    }

    // ---- for Python ----

    /** As JSON: the bounds of times, and the figures of all queries of a server by their ids. */
    public static String report(String server) {
        String prefix = server + SEPARATOR;
        Map<String, Figures> found = new HashMap<>();
        QUERIES.forEach(
                (name, traffic) -> {
                    if (name.startsWith(prefix)) {
                        found.put(name.substring(prefix.length()), traffic.figures(false));
                    }
                });
        try {
            return JSON.writeValueAsString(Map.of("bounds", BOUNDS, "queries", found));
        } catch (JsonProcessingException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** Forgets a query that is no more. */
    public static void forget(String server, String query) {
        QUERIES.remove(server + SEPARATOR + query);
        Refusals.forget(server, query);
    }

    // ---- between JVMs ----

    /** An executor's figures since they were taken last, by server and query. */
    public static Map<String, Figures> take() {
        Map<String, Figures> found = new HashMap<>();
        QUERIES.forEach((name, traffic) -> found.put(name, traffic.figures(true)));
        return found;
    }

    /** Adds figures that were taken: the driver an executor's, an executor what it did not send. */
    public static void add(Map<String, Figures> taken) {
        taken.forEach(
                (name, figures) -> {
                    Traffic own = QUERIES.computeIfAbsent(name, n -> new Traffic());
                    add(own.read, figures.read, volume().parts.length);
                    add(own.written, figures.written, volume().parts.length);
                    add(own.latencies, figures.latencies, times().parts.length);
                    own.pauses.add(figures.pauses);
                    own.waiting.putAll(figures.waiting);
                    own.reached.putAll(figures.reached);
                    own.oddTime = own.oddTime == null ? figures.oddTime : own.oddTime;
                });
    }

    private static void add(Map<String, Sums> own, Map<String, long[]> taken, int size) {
        taken.forEach((topic, more) -> own.computeIfAbsent(topic, t -> new Sums(size)).add(more));
    }
}
