package org.ksqlspark.kafka;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.ksqlspark.log.ProcessingLog;

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
final class QueryProducer {
    private static final Map<String, QueryProducer> OF_RUNS = new ConcurrentHashMap<>();

    private final KafkaProducer<byte[], byte[]> producer;
    private final String log;
    private final String query;
    private volatile Exception error;

    private QueryProducer(Map<String, String> settings, String log, String query) {
        Map<String, Object> all = new HashMap<>(settings);
        producer = new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
        this.log = log;
        this.query = query;
    }

    /**
     * The producer of a run.
     *
     * @param settings of Kafka's producers
     * @param log name of the processing log; empty: there is none
     * @param query id of the query in the processing log
     */
    static QueryProducer of(String run, Map<String, String> settings, String log, String query) {
        return OF_RUNS.computeIfAbsent(run, r -> new QueryProducer(settings, log, query));
    }

    /** The runs that have a producer here. */
    static Set<String> names() {
        return OF_RUNS.keySet();
    }

    /** Closes the producer of a run that has ended; what was not delivered yet is dropped. */
    static void release(String run) {
        QueryProducer producer = OF_RUNS.remove(run);
        if (producer != null) {
            producer.producer.close(Duration.ZERO);
        }
    }

    /**
     * Sends a record. One that is too large for the topic is left out, and reported.
     *
     * @throws IllegalStateException a record before it could not be delivered
     */
    void send(ProducerRecord<byte[], byte[]> record) {
        check();
        producer.send(
                record,
                (metadata, failure) -> {
                    if (failure instanceof RecordTooLargeException && !log.isEmpty()) {
                        ProcessingLog.of(log)
                                .failed(
                                        query,
                                        "KsqlTopic.Sink",
                                        "A record was left out, since topic "
                                                + record.topic()
                                                + " does not take it.",
                                        failure.getMessage(),
                                        null);
                    } else if (failure != null && error == null) {
                        error = failure;
                    }
                });
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

    private void check() {
        Exception failure = error;
        if (failure != null) {
            throw new IllegalStateException(
                    "a record could not be written: " + failure.getMessage(), failure);
        }
    }
}
