package org.ksqlspark.log;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * The processing log of one server (reference §5.8): errors of single records, counted by query and
 * written to a topic as JSON.
 *
 * <p>Queries only put entries into a bounded queue, and the log's own thread writes them: no query
 * waits for the log or fails because of it. If the queue is full, or a logger writes more than
 * {@link #MAX_PER_SECOND}, entries are dropped; one entry of level WARN then states how many.
 * Counts include dropped entries.
 */
public final class ProcessingLog {
    /** Most entries per second of one logger. */
    static final int MAX_PER_SECOND = 1000;

    private static final int QUEUED = 10_000;
    private static final JsonFactory JSON = new JsonFactory();
    private static final Logger LOG = LoggerFactory.getLogger(ProcessingLog.class);

    /** The member of "message" for each type of entry. */
    private static final String[] MEMBERS = {
        "deserializationError",
        "recordProcessingError",
        "productionError",
        "serializationError",
        "kafkaStreamsThreadError"
    };

    private static final Map<String, ProcessingLog> LOGS = new ConcurrentHashMap<>();

    private final Map<String, Counts> counts = new ConcurrentHashMap<>();
    private final Map<String, Allowance> allowances = new ConcurrentHashMap<>();
    private final Set<String> muted = ConcurrentHashMap.newKeySet();
    private final ArrayBlockingQueue<String> queue = new ArrayBlockingQueue<>(QUEUED);
    private volatile Thread writer;
    private volatile boolean isClosing;

    /** Where entries go, without what is muted; null: nowhere. */
    private volatile LogTarget target;

    private ProcessingLog() {}

    /** Errors of a query's records since the server started. */
    private static final class Counts {
        final LongAdder unreadable = new LongAdder();
        final LongAdder failed = new LongAdder();
        final LongAdder late = new LongAdder();
        final LongAdder lost = new LongAdder();
        volatile long lastMs;

        ErrorCounts take() {
            return new ErrorCounts(
                    unreadable.sumThenReset(),
                    failed.sumThenReset(),
                    late.sumThenReset(),
                    lost.sumThenReset(),
                    lastMs);
        }

        synchronized void add(ErrorCounts more) {
            unreadable.add(more.unreadable());
            failed.add(more.failed());
            late.add(more.late());
            lost.add(more.lost());
            lastMs = Math.max(lastMs, more.lastMs());
        }
    }

    /** How much a logger may still write in this second, and how many entries it has dropped. */
    static final class Allowance {
        private long second;
        private int left;
        private long leftOut;

        /** Whether one more entry may be written in this second (since 1970). */
        synchronized boolean take(long now) {
            if (second != now) {
                second = now;
                left = MAX_PER_SECOND;
            }
            if (left == 0) {
                leftOut++;
                return false;
            }
            left--;
            return true;
        }

        /** An entry that was allowed did not fit into the queue. */
        synchronized void leaveOut() {
            leftOut++;
        }

        /**
         * How many entries were dropped in a second that is over; each is reported only once.
         *
         * @param now the current second; isClosing: it counts as over
         */
        synchronized long report(long now, boolean isClosing) {
            if (second == now && !isClosing) {
                return 0;
            }
            long count = leftOut;
            leftOut = 0;
            return count;
        }
    }

    // ---- for Python ----

    /**
     * Writes entries of the log {@code name} to a topic from now on.
     *
     * @param producer settings of the Kafka client
     */
    public static void open(String name, String topic, Map<String, String> producer) {
        ProcessingLog log = of(name);
        log.target = new LogTarget(topic, Map.copyOf(producer), Set.of());
        Thread thread =
                new Thread(() -> log.write(topic, new HashMap<>(producer)), "processing-log");
        thread.setDaemon(true);
        thread.setContextClassLoader(ProcessingLog.class.getClassLoader());
        log.writer = thread;
        thread.start();
    }

    /** Writes the queued entries, for a few seconds at most, and removes the log. */
    public static void close(String name) throws InterruptedException {
        ProcessingLog log = LOGS.remove(name);
        Thread writer = log == null ? null : log.writer;
        if (writer != null) {
            log.isClosing = true;
            writer.join(5000);
            writer.interrupt();
        }
    }

    /** Only counts the errors of a query that reads the log, which would otherwise feed itself. */
    public static void mute(String name, String query) {
        of(name).muted.add(query);
    }

    /**
     * Errors of a query since the server started: records that could not be read, records that
     * failed otherwise, late records, records that were gone before they were read, and the time of
     * the last of all but the late ones in ms (0: none).
     */
    public static long[] counts(String name, String query) {
        Counts found = of(name).counts.get(query);
        return found == null
                ? new long[5]
                : new long[] {
                    found.unreadable.sum(),
                    found.failed.sum(),
                    found.late.sum(),
                    found.lost.sum(),
                    found.lastMs
                };
    }

    /** A query has failed. */
    public static void queryFailed(String name, String query, String reason) {
        of(name).add(
                        query,
                        "processing." + query,
                        4,
                        json -> {
                            json.writeStringField("errorMessage", reason);
                            json.writeStringField("threadName", query);
                            causes(json, null);
                        });
    }

    // ---- for JVMs that tell each other ----

    /** Where the entries of all logs that are written go, by name. */
    public static Map<String, LogTarget> targets() {
        Map<String, LogTarget> found = new HashMap<>();
        LOGS.forEach(
                (name, log) -> {
                    LogTarget to = log.target;
                    if (to != null) {
                        found.put(
                                name,
                                new LogTarget(to.topic(), to.producer(), Set.copyOf(log.muted)));
                    }
                });
        return found;
    }

    /** Opens the logs that another JVM has opened, and closes the others. */
    public static void follow(Map<String, LogTarget> targets) throws InterruptedException {
        for (Map.Entry<String, ProcessingLog> own : LOGS.entrySet()) {
            if (own.getValue().target != null && !targets.containsKey(own.getKey())) {
                close(own.getKey());
            }
        }
        targets.forEach(
                (name, target) -> {
                    ProcessingLog log = of(name);
                    log.muted.addAll(target.muted());
                    if (log.target == null) {
                        open(name, target.topic(), target.producer());
                    }
                });
    }

    /** Takes all counts that are not 0, by log and query: they begin at 0 again. */
    public static Map<String, Map<String, ErrorCounts>> takeCounts() {
        Map<String, Map<String, ErrorCounts>> found = new HashMap<>();
        LOGS.forEach(
                (name, log) ->
                        log.counts.forEach(
                                (query, counts) -> {
                                    ErrorCounts taken = counts.take();
                                    if (taken.any()) {
                                        found.computeIfAbsent(name, n -> new HashMap<>())
                                                .put(query, taken);
                                    }
                                }));
        return found;
    }

    /** Adds what another JVM has counted, by query. */
    public static void count(String name, Map<String, ErrorCounts> found) {
        found.forEach((query, more) -> of(name).counts(query).add(more));
    }

    // ---- for operators and functions ----

    public static ProcessingLog of(String name) {
        return LOGS.computeIfAbsent(name, n -> new ProcessingLog());
    }

    /** A record came too late to be used. */
    public void late(String query) {
        counts(query).late.increment();
    }

    /**
     * Records of a topic were gone before they were read; {@code count}: 0 where it is not known.
     */
    public void lost(String query, String topic, String message, long count) {
        Counts mine = counts(query);
        mine.lost.add(count);
        mine.lastMs = System.currentTimeMillis();
        add(
                query,
                "processing." + query + "." + topic,
                1,
                json -> {
                    json.writeStringField("errorMessage", message);
                    json.writeNullField("record");
                    causes(json, null);
                });
    }

    private Counts counts(String query) {
        return counts.computeIfAbsent(query, q -> new Counts());
    }

    /** The key, the value or the timestamp ({@code target}) of a record cannot be read. */
    public void unreadable(
            String query,
            String step,
            String target,
            String topic,
            String reason,
            byte[] record,
            int partition,
            long offset) {
        Counts mine = counts(query);
        mine.unreadable.increment();
        mine.lastMs = System.currentTimeMillis();
        add(
                query,
                "processing." + query + "." + step,
                0,
                json -> {
                    json.writeStringField("target", target);
                    json.writeStringField(
                            "errorMessage", "The " + target + " of a record cannot be read.");
                    json.writeStringField(
                            "recordB64",
                            record == null ? null : Base64.getEncoder().encodeToString(record));
                    causes(json, reason);
                    json.writeStringField("topic", topic);
                    json.writeNumberField("partition", partition);
                    json.writeNumberField("offset", offset);
                });
    }

    /** A row could not be computed; {@code record}: the row as JSON, or null. */
    public void failed(String query, String step, String message, String cause, String record) {
        Counts mine = counts(query);
        mine.failed.increment();
        mine.lastMs = System.currentTimeMillis();
        add(
                query,
                "processing." + query + "." + step,
                1,
                json -> {
                    json.writeStringField("errorMessage", message);
                    json.writeStringField("record", record);
                    causes(json, cause);
                });
    }

    /** The key or the value ({@code target}) of a record cannot be written to a topic. */
    public void unwritable(String query, String step, String target, String topic, String reason) {
        Counts mine = counts(query);
        mine.failed.increment();
        mine.lastMs = System.currentTimeMillis();
        add(
                query,
                "processing." + query + "." + step,
                3,
                json -> {
                    json.writeStringField("target", target);
                    json.writeStringField(
                            "errorMessage",
                            "The " + target + " of a record cannot be written: " + reason);
                    json.writeNullField("record");
                    causes(json, reason);
                    json.writeStringField("topic", topic);
                });
    }

    // ---- entries ----

    private interface Body {
        void write(JsonGenerator json) throws IOException;
    }

    private static void causes(JsonGenerator json, String cause) throws IOException {
        json.writeArrayFieldStart("cause");
        if (cause != null) {
            json.writeString(cause);
        }
        json.writeEndArray();
    }

    private void add(String query, String logger, int type, Body body) {
        if (writer == null || muted.contains(query)) {
            return;
        }
        Allowance allowance = allowances.computeIfAbsent(logger, l -> new Allowance());
        if (allowance.take(second()) && !queue.offer(entry(logger, "ERROR", type, body))) {
            allowance.leaveOut();
        }
    }

    private static long second() {
        return System.currentTimeMillis() / 1000;
    }

    private static String entry(String logger, String level, int type, Body body) {
        StringWriter out = new StringWriter();
        try (JsonGenerator json = JSON.createGenerator(out)) {
            json.writeStartObject();
            json.writeStringField("level", level);
            json.writeStringField("logger", logger);
            json.writeNumberField("time", System.currentTimeMillis());
            json.writeObjectFieldStart("message");
            json.writeNumberField("type", type);
            for (int i = 0; i < MEMBERS.length; i++) {
                if (i == type) {
                    json.writeObjectFieldStart(MEMBERS[i]);
                    body.write(json);
                    json.writeEndObject();
                } else {
                    json.writeNullField(MEMBERS[i]);
                }
            }
            json.writeEndObject();
            json.writeEndObject();
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible);
        }
        return out.toString();
    }

    // ---- the thread that writes ----

    private void write(String topic, Map<String, Object> settings) {
        ByteArraySerializer bytes = new ByteArraySerializer();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, bytes, bytes)) {
            while (!isClosing || !queue.isEmpty()) {
                String entry = queue.poll(200, TimeUnit.MILLISECONDS);
                if (entry != null) {
                    send(producer, topic, entry);
                }
                for (Map.Entry<String, Allowance> logger : allowances.entrySet()) {
                    long leftOut = logger.getValue().report(second(), isClosing);
                    if (leftOut > 0) {
                        send(producer, topic, leftOut(logger.getKey(), leftOut));
                    }
                }
            }
            producer.close(Duration.ofSeconds(3));
        } catch (InterruptedException | RuntimeException error) {
            LOG.error("the processing log is not written any more", error);
        } finally {
            if (writer == Thread.currentThread()) {
                writer = null;
            }
        }
    }

    private static void send(KafkaProducer<byte[], byte[]> producer, String topic, String entry) {
        byte[] value = entry.getBytes(StandardCharsets.UTF_8);
        producer.send(
                new ProducerRecord<>(topic, value),
                (where, error) -> {
                    if (error != null) {
                        LOG.warn(
                                "an entry of the processing log was not written: {}",
                                error.toString());
                    }
                });
    }

    private static String leftOut(String logger, long count) {
        return entry(
                logger,
                "WARN",
                1,
                json -> {
                    json.writeStringField(
                            "errorMessage", count + " more entries of this logger were left out.");
                    json.writeNullField("record");
                    causes(json, null);
                });
    }

    // ---- functions ----

    /**
     * A condition that is always false and logs why it was evaluated; it is never constant-folded
     * or evaluated twice.
     *
     * <p>The constant parts of an entry are in the function's name, as a JSON array, so that a call
     * is small: code that rarely runs must not make the code around it too long to be compiled.
     */
    public abstract static class Report implements ScalarFunction<Boolean> {
        private final DataType[] inputTypes;
        final String[] said;

        Report(String said, DataType... inputTypes) {
            this.said = strings(said);
            this.inputTypes = inputTypes;
        }

        @Override
        public DataType[] inputTypes() {
            return inputTypes;
        }

        @Override
        public DataType resultType() {
            return DataTypes.BooleanType;
        }

        @Override
        public boolean isResultNullable() {
            return false;
        }

        @Override
        public boolean isDeterministic() {
            return false;
        }

        @Override
        public String name() {
            return getClass().getSimpleName();
        }

        private static String[] strings(String json) {
            List<String> found = new ArrayList<>();
            try (JsonParser parser = JSON.createParser(json)) {
                parser.nextToken();
                String text;
                while ((text = parser.nextTextValue()) != null) {
                    found.add(text);
                }
            } catch (IOException bad) {
                throw new IllegalArgumentException(json, bad);
            }
            return found.toArray(new String[0]);
        }
    }

    /**
     * Its name has [log, query, step, "key" or "value", topic]; its arguments are (cause, the
     * record's bytes or NULL).
     */
    public static final class Unreadable extends Report {
        public Unreadable(String said) {
            super(
                    said,
                    DataTypes.StringType,
                    DataTypes.BinaryType,
                    DataTypes.IntegerType,
                    DataTypes.LongType);
        }

        public boolean invoke(UTF8String cause, byte[] record, int partition, long offset) {
            of(said[0])
                    .unreadable(
                            said[1],
                            said[2],
                            said[3],
                            said[4],
                            String.valueOf(cause),
                            record,
                            partition,
                            offset);
            return false;
        }
    }

    /** Its name has [log, query, step, message, cause]. */
    public static final class Failed extends Report {
        public Failed(String said) {
            super(said);
        }

        public boolean invoke() {
            of(said[0]).failed(said[1], said[2], said[3], said[4], null);
            return false;
        }
    }

    /** Its name has [log, query, step, message]; its argument is the cause. */
    public static final class Caused extends Report {
        public Caused(String said) {
            super(said, DataTypes.StringType);
        }

        public boolean invoke(UTF8String cause) {
            of(said[0]).failed(said[1], said[2], said[3], String.valueOf(cause), null);
            return false;
        }
    }

    /** Its name is as for Failed; its argument is the row. */
    public static final class FailedRow extends Report {
        public FailedRow(String said) {
            super(said, DataTypes.StringType);
        }

        public boolean invoke(UTF8String record) {
            of(said[0]).failed(said[1], said[2], said[3], said[4], String.valueOf(record));
            return false;
        }
    }
}
