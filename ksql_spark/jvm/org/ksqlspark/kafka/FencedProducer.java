package org.ksqlspark.kafka;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.KafkaException;
import org.ksqlspark.internals.kafka.ProducerEpoch;
import org.ksqlspark.internals.kafka.SizeLimit;

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
            SizeLimit limit,
            String log,
            String query,
            String feeds) {
        super(producer, limit, log, query, feeds);
        this.epoch = epoch;
    }

    /**
     * Opens the producer of a run that is about to start, which fences those of earlier runs. Ends
     * with {@link DrainableSource#release}.
     *
     * @param run id of the run
     * @param name common to all runs of the sub-topology, and only to these
     * @param settings of Kafka's producers
     * @param clientBytes max.request.size
     * @param brokerBytes max.message.bytes of the sink
     * @param log name of the processing log; empty: there is none
     * @param query id of the query in the processing log
     * @param feeds the internal topic that it writes; empty: another topic
     * @return why the cluster does not do it, so that there is none; empty: it does
     */
    public static String open(
            String run,
            String name,
            Map<String, String> settings,
            long clientBytes,
            long brokerBytes,
            String log,
            String query,
            String feeds) {
        var producer = (KafkaProducer<byte[], byte[]>) producer(settings);
        try {
            Epoch epoch = epoch(producer, name, settings);
            epoch.take();
            SizeLimit limit = new SizeLimit(clientBytes, brokerBytes, settings);
            add(run, new FencedProducer(producer, epoch, limit, log, query, feeds));
            return "";
        } catch (KafkaException refused) {
            producer.close(Duration.ZERO);
            return String.valueOf(refused.getMessage());
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
            takenAt = System.nanoTime();
            try {
                epoch.take();
            } catch (KafkaException failed) {
                return; // tomorrow is early enough
            }
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
