package org.ksqlspark.kafka;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.ksqlspark.log.ProcessingLog;

import java.util.ArrayList;
import java.util.List;

/**
 * Leaves out records that are later than the query reads, and those whose timestamp no TIMESTAMP of
 * Spark's can hold, which has microseconds: one of these would end the query, each time that it is
 * read. They are reported as unreadable.
 */
final class Timestamps {
    /** The latest timestamp, ms; its negative is the earliest. About the year 294,000. */
    static final long LATEST = Long.MAX_VALUE / 1000;

    private static final String STEP = "KsqlTopic.Source.deserializer";

    private final TaskOptions options;

    Timestamps(TaskOptions options) {
        this.options = options;
    }

    /** The records that a query can read, in order. */
    List<ConsumerRecord<byte[], byte[]>> readable(List<ConsumerRecord<byte[], byte[]>> records) {
        for (ConsumerRecord<byte[], byte[]> record : records) {
            if (!isReadable(record) || isLate(record)) {
                return selected(records);
            }
        }
        return records;
    }

    private static boolean isReadable(ConsumerRecord<byte[], byte[]> record) {
        return record.timestamp() <= LATEST && record.timestamp() >= -LATEST;
    }

    private boolean isLate(ConsumerRecord<byte[], byte[]> record) {
        return record.timestamp() > options.asOfMs();
    }

    private List<ConsumerRecord<byte[], byte[]>> selected(
            List<ConsumerRecord<byte[], byte[]>> records) {
        List<ConsumerRecord<byte[], byte[]>> readable = new ArrayList<>();
        for (ConsumerRecord<byte[], byte[]> record : records) {
            if (!isReadable(record)) {
                report(record);
            } else if (!isLate(record)) {
                readable.add(record);
            }
        }
        return readable;
    }

    private void report(ConsumerRecord<byte[], byte[]> record) {
        if (!options.log().isEmpty()) {
            ProcessingLog.of(options.log())
                    .unreadable(
                            options.query(),
                            STEP,
                            "timestamp",
                            record.topic(),
                            record.timestamp() + " ms is too far from 1970.",
                            null,
                            record.partition(),
                            record.offset());
        }
    }
}
