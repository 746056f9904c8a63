package org.ksqlspark.log;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Writes entries to a topic, in a thread of its own. Who adds an entry never waits: if the queue is
 * full, or a logger writes more than its {@link Allowance}, entries are dropped; one entry of level
 * WARN then states how many.
 */
final class LogWriter {
    private static final int QUEUED = 10_000;
    private static final int CLOSING_MS = 5000;
    private static final Logger LOG = LoggerFactory.getLogger(LogWriter.class);

    private final String topic;
    private final Supplier<Producer<byte[], byte[]>> client;
    private final Map<String, Allowance> allowances = new ConcurrentHashMap<>();
    private final ArrayBlockingQueue<String> queue = new ArrayBlockingQueue<>(QUEUED);
    private final Thread thread = new Thread(this::write, "processing-log");
    private volatile boolean isClosing;

    LogWriter(String topic, Supplier<Producer<byte[], byte[]>> client) {
        this.topic = topic;
        this.client = client;
        thread.setDaemon(true);
        thread.setContextClassLoader(LogWriter.class.getClassLoader());
    }

    /** A writer, which has begun. */
    static LogWriter to(LogTarget target) {
        ByteArraySerializer bytes = new ByteArraySerializer();
        Map<String, Object> settings = new HashMap<>(target.producer());
        LogWriter made =
                new LogWriter(target.topic(), () -> new KafkaProducer<>(settings, bytes, bytes));
        made.start();
        return made;
    }

    void start() {
        thread.start();
    }

    /** Adds an entry of a logger, which is only made if there is room for it. */
    void add(String logger, Supplier<String> entry) {
        add(logger, Allowance::new, entry);
    }

    /** The same; {@code limit} makes the allowance of the logger. */
    void add(String logger, Supplier<Allowance> limit, Supplier<String> entry) {
        if (!thread.isAlive()) { // the log could not be written
            return;
        }
        Allowance allowance = allowances.computeIfAbsent(logger, l -> limit.get());
        if (allowance.take(second()) && !queue.offer(entry.get())) {
            allowance.leaveOut();
        }
    }

    /** Writes the queued entries, for a few seconds at most. */
    void close() throws InterruptedException {
        isClosing = true;
        thread.join(CLOSING_MS);
        thread.interrupt();
    }

    private static long second() {
        return System.currentTimeMillis() / 1000;
    }

    private void write() {
        try (Producer<byte[], byte[]> producer = client.get()) {
            while (!isClosing || !queue.isEmpty()) {
                String entry = queue.poll(200, TimeUnit.MILLISECONDS);
                if (entry != null) {
                    send(producer, entry);
                }
                for (Map.Entry<String, Allowance> logger : allowances.entrySet()) {
                    long leftOut = logger.getValue().report(second(), isClosing);
                    if (leftOut > 0) {
                        send(producer, logger.getValue().told(logger.getKey(), leftOut));
                    }
                }
            }
            producer.close(Duration.ofSeconds(3));
        } catch (InterruptedException | RuntimeException error) {
            LOG.error("the processing log is not written any more", error);
        }
    }

    private void send(Producer<byte[], byte[]> producer, String entry) {
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
}
