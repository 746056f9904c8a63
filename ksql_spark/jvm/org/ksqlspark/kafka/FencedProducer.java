package org.ksqlspark.kafka;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.ksqlspark.internals.kafka.ProducerEpoch;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The producer of a run of a query that is at least once. The next run, on whichever server, fences
 * it: once that run has written to a partition, the broker refuses what this one still sends there.
 * So a server that was frozen puts no older row after a newer one.
 *
 * <p>What it sends to a partition before that is as if it had been sent in time: the next run
 * begins at the last checkpoint, so it writes the row of that key once more, to that partition.
 */
public final class FencedProducer extends QueryProducer {
    /** Kafka forgets a name that was not used for a week. */
    private static final long LASTS_NANOS = TimeUnit.DAYS.toNanos(1);

    private final Epoch epoch;
    private long takenAt = System.nanoTime();

    /** What later runs fence a producer by; see {@link ProducerEpoch}. */
    interface Epoch {
        /** Takes a later one; nothing may be on its way. */
        void take();

        /** Whether the producer has the one that was taken. */
        boolean isKept();
    }

    FencedProducer(
            Producer<byte[], byte[]> producer,
            Epoch epoch,
            long maxBytes,
            String log,
            String query,
            String feeds) {
        super(producer, maxBytes, log, query, feeds);
        this.epoch = epoch;
    }

    /**
     * Opens the producer of a run that is about to start, which fences those of earlier runs. Ends
     * with {@link DrainableSource#release}.
     *
     * @param run id of the run
     * @param name common to all runs of the sub-topology, and only to these
     * @param settings of Kafka's producers
     * @param maxBytes the size of the largest record that the sink takes
     * @param log name of the processing log; empty: there is none
     * @param query id of the query in the processing log
     * @param feeds the internal topic that it writes; empty: another topic
     * @return false if the cluster does not allow it, so that there is none
     */
    public static boolean open(
            String run,
            String name,
            Map<String, String> settings,
            long maxBytes,
            String log,
            String query,
            String feeds) {
        var producer = (KafkaProducer<byte[], byte[]>) producer(settings);
        try {
            Epoch epoch = epoch(producer, name, settings);
            epoch.take();
            add(run, new FencedProducer(producer, epoch, maxBytes, log, query, feeds));
            return true;
        } catch (AuthorizationException | UnsupportedVersionException refused) {
            producer.close(Duration.ZERO);
            return false;
        } catch (RuntimeException failed) {
            producer.close(Duration.ZERO);
            throw failed;
        }
    }

    private static Epoch epoch(
            KafkaProducer<byte[], byte[]> producer, String name, Map<String, String> settings) {
        ProducerEpoch epoch = new ProducerEpoch(producer);
        return new Epoch() {
            @Override
            public void take() {
                epoch.take(name, settings);
            }

            @Override
            public boolean isKept() {
                return epoch.isKept();
            }
        };
    }

    @Override
    protected void begin() {
        if (System.nanoTime() - takenAt > LASTS_NANOS) {
            epoch.take();
            takenAt = System.nanoTime();
        }
    }

    @Override
    protected void check() {
        super.check();
        if (!epoch.isKept()) { // the next one but one may be another run's
            throw new IllegalStateException("a broker has lost records that it had acknowledged");
        }
    }

    /** Its client would go on with a later epoch than it was given, perhaps that of another run. */
    @Override
    protected boolean endsAtFailure() {
        producer.close(Duration.ZERO);
        return true;
    }
}
