package org.ksqlspark.transaction;

import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.ksqlspark.internals.kafka.SizeLimit;
import org.ksqlspark.kafka.QueryProducer;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;

/**
 * The producer of a run of a query that is exactly once: it has one transaction for each batch.
 *
 * <p>All tasks write in it, and its last record is the batch's {@link BatchCommit}. So Kafka's
 * commit is the one decision about results, offsets and state. It is made when Spark is about to
 * write commits/N, when the states of all tasks are on disk ({@link TransactionalFiles}).
 */
public final class TransactionalProducer extends QueryProducer {
    /** For how long the end of a run waits until its transaction is aborted. */
    private static final Duration CLOSING = Duration.ofSeconds(5);

    private final String commits;
    private final String timeout;
    private boolean isBegun;
    private volatile boolean hasSent;

    /** The files of a checkpoint. */
    @FunctionalInterface
    interface Checkpoint {
        /** The text of the file with this path in the checkpoint. */
        String read(String path) throws IOException;
    }

    /**
     * @param producer its transactions have been initialized
     * @param timeout transaction.timeout.ms
     */
    TransactionalProducer(
            Producer<byte[], byte[]> producer,
            String commits,
            SizeLimit limit,
            String timeout,
            String log,
            String query) {
        super(producer, limit, log, query, "");
        this.commits = commits;
        this.timeout = timeout;
    }

    /**
     * Opens the producer of a run that is about to start. What an earlier run of the same
     * transactional id has left open is aborted, and that run can commit nothing any more. Ends
     * with {@link org.ksqlspark.kafka.DrainableSource#release}.
     *
     * @param run id of the run
     * @param commits the topic of the batches' commits
     * @param settings of Kafka's producers; among them transactional.id and transaction.timeout.ms
     * @param clientBytes the user's max.request.size
     * @param brokerBytes max.message.bytes of the sink
     * @param log name of the processing log; empty: there is none
     * @param query id of the query in the processing log
     * @return why the cluster does not do it, so that there is none; empty: it does
     */
    public static String open(
            String run,
            String commits,
            Map<String, String> settings,
            long clientBytes,
            long brokerBytes,
            String log,
            String query) {
        Producer<byte[], byte[]> producer = producer(settings);
        try {
            producer.initTransactions();
        } catch (KafkaException refused) {
            producer.close(Duration.ZERO);
            return String.valueOf(refused.getMessage());
        } catch (RuntimeException failed) {
            producer.close(Duration.ZERO);
            throw failed;
        }
        String timeout = settings.get(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG);
        SizeLimit limit = new SizeLimit(clientBytes, brokerBytes, settings);
        add(run, new TransactionalProducer(producer, commits, limit, timeout, log, query));
        return "";
    }

    /**
     * That of a run.
     *
     * @throws IllegalStateException the run has ended
     */
    static TransactionalProducer opened(String run) {
        return (TransactionalProducer) of(run);
    }

    @Override
    protected synchronized void begin() {
        if (!isBegun) {
            producer.beginTransaction();
            isBegun = true;
        }
    }

    @Override
    protected void send(ProducerRecord<byte[], byte[]> record) {
        super.send(record);
        hasSent = true;
    }

    /** Only with its transaction. */
    @Override
    protected boolean isVisible() {
        return false;
    }

    /**
     * Commits a batch: its results become visible. One without results needs no transaction,
     * because nobody can tell whether it was done once or twice.
     *
     * @param batch number of the batch
     * @param commit what Spark is about to write into commits/N
     * @param checkpoint the query's checkpoint
     */
    synchronized void commit(long batch, byte[] commit, Checkpoint checkpoint) throws IOException {
        if (!hasSent) {
            return;
        }
        var done =
                new BatchCommit(
                        batch,
                        checkpoint.read("metadata"),
                        checkpoint.read("offsets/" + batch),
                        new String(commit, StandardCharsets.UTF_8));
        check();
        deliver(
                new ProducerRecord<>(
                        commits, 0, commits.getBytes(StandardCharsets.UTF_8), done.toJson()));
        try {
            producer.commitTransaction();
        } catch (ProducerFencedException | InvalidProducerEpochException fenced) {
            throw new IllegalStateException(
                    "the transaction was aborted: it took longer than transaction.timeout.ms ("
                            + timeout
                            + "), or the query was started elsewhere",
                    fenced);
        } catch (KafkaException failed) {
            throw new IllegalStateException(
                    "the transaction could not be committed: " + failed.getMessage(), failed);
        }
        isBegun = false;
        hasSent = false;
    }

    /**
     * Aborts the transaction of a batch that was not done; a commit that is under way is ended.
     * Where that takes too long, the next {@link #open} does it.
     */
    @Override
    protected void close() {
        producer.close(CLOSING);
    }
}
