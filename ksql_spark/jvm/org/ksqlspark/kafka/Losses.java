package org.ksqlspark.kafka;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
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
     */
    void skip(Consumer<byte[], byte[]> consumer, OffsetOutOfRangeException gone) {
        Map<TopicPartition, Long> places = gone.offsetOutOfRangePartitions();
        Map<TopicPartition, Long> first = consumer.beginningOffsets(places.keySet());
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
                    if (begin <= place || options.failsOnLoss()) {
                        throw new IllegalStateException("[" + MARK + "] " + what);
                    }
                    if (!options.log().isEmpty()) {
                        ProcessingLog.of(options.log())
                                .lost(options.query(), at.topic(), what, begin - place);
                    }
                    consumer.seek(at, begin);
                });
    }
}
