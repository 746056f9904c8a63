package org.ksqlspark.kafka;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.TopicPartition;
import org.ksqlspark.log.ProcessingLog;

import java.util.Map;

/** What a reader does where records are gone before it has read them. */
final class Losses {
    /** What is found in the error of a query that fails (query_errors.py). */
    static final String MARK = "KSQL_DATA_LOST";

    private final TaskOptions options;

    Losses(TaskOptions options) {
        this.options = options;
    }

    /**
     * Goes on at the first record that there is, and reports those before; fails where that is not
     * allowed, or the topic ends before the place to read: it was made again, or the broker lost
     * its end.
     *
     * @param places partitions, and the offsets where they cannot be read
     * @param first where they begin
     */
    void skip(
            Consumer<byte[], byte[]> consumer,
            Map<TopicPartition, Long> places,
            Map<TopicPartition, Long> first) {
        places.forEach(
                (at, place) -> {
                    long begin = first.get(at);
                    String what =
                            begin > place
                                    ? (begin - place)
                                            + " records of topic "
                                            + at.topic()
                                            + ", partition "
                                            + at.partition()
                                            + ", from offset "
                                            + place
                                            + " on, were deleted before they were read."
                                    : "Topic "
                                            + at.topic()
                                            + ", partition "
                                            + at.partition()
                                            + ", ends before offset "
                                            + place
                                            + ", which comes next: it was made again or shortened.";
                    if (begin <= place) {
                        throw failure(what);
                    }
                    report(at, what, begin - place);
                    consumer.seek(at, begin);
                });
    }

    /**
     * Reports what a batch was to read of a partition that ends before that; fails where that is
     * not allowed.
     *
     * @param end where the partition ends
     * @param missing how many offsets the batch lacks; 0: none
     */
    void end(TopicPartition at, long end, long missing) {
        if (missing > 0) {
            String what =
                    missing
                            + " records of topic "
                            + at.topic()
                            + ", partition "
                            + at.partition()
                            + ", are gone: it ends at offset "
                            + end
                            + ", it was made again or shortened.";
            report(at, what, missing);
        }
    }

    private void report(TopicPartition at, String what, long records) {
        if (options.failsOnLoss()) {
            throw failure(what);
        }
        if (!options.log().isEmpty()) {
            ProcessingLog.of(options.log()).lost(options.query(), at.topic(), what, records);
        }
    }

    private static IllegalStateException failure(String what) {
        return new IllegalStateException("[" + MARK + "] " + what);
    }
}
