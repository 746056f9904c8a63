package org.ksqlspark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.Test;
import org.ksqlspark.log.ProcessingLog;

import java.util.List;
import java.util.Optional;
import java.util.UUID;

class TimestampsTest {
    private final String log = UUID.randomUUID().toString();
    private final Timestamps timestamps = timestamps(Long.MAX_VALUE);

    private Timestamps timestamps(long asOfMs) {
        return new Timestamps(
                new TaskOptions(
                        "r", 1, 0, false, true, false, 0, "", "", 0, log, "q", false, "", "", false,
                        asOfMs, "", "", ""));
    }

    private static ConsumerRecord<byte[], byte[]> record(long timestamp) {
        return new ConsumerRecord<>(
                "t",
                0,
                timestamp,
                timestamp,
                TimestampType.CREATE_TIME,
                0,
                0,
                null,
                null,
                new RecordHeaders(),
                Optional.empty());
    }

    @Test
    void thoseThatSparkCanHoldAreRead() {
        List<ConsumerRecord<byte[], byte[]>> records =
                List.of(record(-1), record(0), record(Timestamps.LATEST));
        assertSame(records, timestamps.readable(records));
        assertEquals(0, ProcessingLog.counts(log, "q")[0]);
    }

    @Test
    void laterOnesAreLeftOutWithoutAWord() {
        ConsumerRecord<byte[], byte[]> last = record(5);
        assertEquals(List.of(last), timestamps(5).readable(List.of(record(6), last, record(7))));
        assertEquals(0, ProcessingLog.counts(log, "q")[0]);
    }

    @Test
    void othersAreLeftOutAndCounted() {
        ConsumerRecord<byte[], byte[]> good = record(5);
        List<ConsumerRecord<byte[], byte[]>> records =
                List.of(record(Long.MIN_VALUE), good, record(Timestamps.LATEST + 1));
        assertEquals(List.of(good), timestamps.readable(records));
        assertEquals(2, ProcessingLog.counts(log, "q")[0]);
    }
}
