package org.ksqlspark.kafka;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.errors.InvalidTimestampException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.ksqlspark.internals.kafka.SizeLimit;
import org.ksqlspark.log.ProcessingLog;
import org.ksqlspark.ownership.Ownership;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The producer of one run of a query, shared by its tasks.
 *
 * <p>Spark's sink shares one producer among all queries with equal settings, so a record that
 * cannot be delivered holds up the checkpoints of all of them. Here an error belongs to the query
 * that has it.
 */
public class QueryProducer {
    private static final Map<String, QueryProducer> OF_RUNS = new ConcurrentHashMap<>();

    /** Runs of push queries, which belong to the server that was asked, begin like this. */
    private static final String TRANSIENT = "transient";

    protected final Producer<byte[], byte[]> producer;
    private final String log;
    private final String query;

    /** Where what is written is counted; null: nowhere. */
    private final Traffic traffic;

    /** Where the tasks of the next sub-topology must know what has arrived; null: nowhere. */
    private final Deliveries deliveries;

    private final Refusals refusals;
    private final SizeLimit limit;
    private boolean isOwned = true;
    private volatile boolean failsOnRefusal;
    private volatile Exception error;

    /**
     * @param producer the one that sends
     * @param limit records that are larger are not even tried
     * @param log name of the processing log; empty: there is none
     * @param query id of the query in the processing log
     * @param feeds the internal topic whose readers must know what has arrived; empty: none
     */
    protected QueryProducer(
            Producer<byte[], byte[]> producer,
            SizeLimit limit,
            String log,
            String query,
            String feeds) {
        this.producer = producer;
        this.limit = limit;
        this.log = log;
        this.query = query;
        traffic = log.isEmpty() ? null : Traffic.of(log, query);
        refusals = Refusals.of(log, query);
        deliveries = feeds.isEmpty() ? null : Frontier.deliveries(feeds);
    }

    /** One of Kafka's producers with these settings. */
    protected static Producer<byte[], byte[]> producer(Map<String, String> settings) {
        Map<String, Object> all = new HashMap<>(settings);
        return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
    }

    /**
     * The producer of a run, made with these settings where there is none yet.
     *
     * @param feeds the internal topic that it writes; empty: another topic
     */
    static QueryProducer of(
            String run, Map<String, String> settings, String log, String query, String feeds) {
        return OF_RUNS.computeIfAbsent(run, r -> make(r, settings, log, query, feeds));
    }

    private static QueryProducer make(
            String run, Map<String, String> settings, String log, String query, String feeds) {
        QueryProducer made =
                new QueryProducer(producer(settings), SizeLimit.NONE, log, query, feeds);
        made.isOwned = !run.startsWith(TRANSIENT);
        return made;
    }

    /**
     * The producer that was added for a run.
     *
     * @throws IllegalStateException there is none in this JVM
     */
    protected static QueryProducer of(String run) {
        QueryProducer producer = OF_RUNS.get(run);
        if (producer == null) {
            throw new IllegalStateException("the query has been stopped");
        }
        return producer;
    }

    /** Adds the producer of a run that is about to start. */
    protected static void add(String run, QueryProducer producer) {
        OF_RUNS.put(run, producer);
    }

    /** The runs that have a producer here. */
    static Set<String> names() {
        return OF_RUNS.keySet();
    }

    /** Closes the producer of a run that has ended. */
    static void release(String run) {
        QueryProducer producer = OF_RUNS.remove(run);
        if (producer != null) {
            producer.close();
        }
    }

    /** A batch begins: called on the driver before its tasks. */
    protected void begin() {}

    /** What was not delivered yet is dropped. */
    protected void close() {
        producer.close(Duration.ZERO);
    }

    /**
     * Sends a record. One that is too large for the topic, or that its brokers have refused before,
     * is left out, and reported.
     *
     * @throws IllegalStateException a record before it could not be delivered, or another server
     *     may run the query
     */
    protected void send(ProducerRecord<byte[], byte[]> record) {
        check();
        String refusal = leavesOut() ? refusal(record) : null;
        if (refusal != null) {
            leaveOut(record, refusal);
        } else {
            deliver(record);
        }
    }

    /** Sends a record that is not left out. */
    protected final void deliver(ProducerRecord<byte[], byte[]> record) {
        Deliveries.Group group = deliveries == null ? null : deliveries.sent();
        producer.send(
                record,
                (metadata, failure) -> {
                    if (group != null) {
                        if (failure == null) {
                            deliveries.arrived(group, metadata.partition(), metadata.offset());
                        } else if (failure instanceof RecordTooLargeException) {
                            deliveries.dropped(group);
                        }
                    }
                    if (failure == null) {
                        if (traffic != null) {
                            traffic.wrote(record, isVisible());
                        }
                        return;
                    }
                    boolean isOpen = !endsAtFailure();
                    boolean isTooLarge = failure instanceof RecordTooLargeException;
                    if (isTooLarge && isOpen && leavesOut()) {
                        leaveOut(record, failure.getMessage());
                        return;
                    }
                    if (isTooLarge
                            || failure instanceof InvalidRecordException
                            || failure instanceof InvalidTimestampException) {
                        refusals.add(record, failure.getMessage());
                    }
                    if (error == null) {
                        error = failure;
                    }
                });
    }

    private String refusal(ProducerRecord<byte[], byte[]> record) {
        String tooLarge = limit.refusal(record);
        return tooLarge == null ? refusals.reason(record) : tooLarge;
    }

    /**
     * Called when a record was not delivered, before anything else is sent.
     *
     * @return whether nothing is sent any more
     */
    protected boolean endsAtFailure() {
        return false;
    }

    /** Whether everybody can read a record once the brokers have acknowledged it. */
    protected boolean isVisible() {
        return true;
    }

    /** Whether records that the brokers do not take are left out: else they stop the query. */
    protected final boolean leavesOut() {
        return !log.isEmpty() && !failsOnRefusal;
    }

    /** The query stops at records that the brokers do not take. */
    final QueryProducer failingOnRefusal(boolean fails) {
        failsOnRefusal = fails;
        return this;
    }

    /** Reports a record that is not written. */
    protected final void leaveOut(ProducerRecord<byte[], byte[]> record, String reason) {
        leaveOut(log, query, record.topic(), reason);
    }

    /** Reports a record of a query that is not written to a topic. */
    static void leaveOut(String log, String query, String topic, String reason) {
        ProcessingLog.of(log)
                .failed(
                        query,
                        "KsqlTopic.Sink",
                        "A record was left out, since topic " + topic + " does not take it.",
                        reason,
                        null);
    }

    /**
     * Waits until all records are delivered.
     *
     * @throws IllegalStateException one could not be delivered
     */
    void flush() {
        producer.flush();
        check();
    }

    /**
     * Checks that the next record may be sent.
     *
     * @throws IllegalStateException as {@link #send}
     */
    protected void check() {
        if (isOwned) {
            Ownership.check();
        }
        Exception failure = error;
        if (failure != null) {
            throw new IllegalStateException(
                    "a record could not be written: " + failure.getMessage(), failure);
        }
    }
}
