package org.ksqlspark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;
import org.ksqlspark.log.ProcessingLog;

import java.util.List;
import java.util.Map;
import java.util.UUID;

class LossesTest {
    private static final TopicPartition AT = new TopicPartition("t", 1);

    private final String log = UUID.randomUUID().toString();

    private MockConsumer<byte[], byte[]> consumer(long begin) {
        MockConsumer<byte[], byte[]> consumer = new MockConsumer<>("none");
        consumer.assign(List.of(AT));
        consumer.updateBeginningOffsets(Map.of(AT, begin));
        return consumer;
    }

    private Losses losses(boolean fails) {
        return new Losses(
                new TaskOptions(
                        "r",
                        1,
                        0,
                        false,
                        true,
                        false,
                        0,
                        "",
                        "",
                        0,
                        log,
                        "q",
                        fails,
                        "",
                        "",
                        false,
                        Long.MAX_VALUE,
                        "",
                        "",
                        ""));
    }

    private static void skip(Losses losses, MockConsumer<byte[], byte[]> consumer, long place) {
        losses.skip(consumer, Map.of(AT, place), consumer.beginningOffsets(List.of(AT)));
    }

    @Test
    void recordsThatWereDeletedAreCounted() {
        MockConsumer<byte[], byte[]> consumer = consumer(10);
        skip(losses(false), consumer, 3);
        assertEquals(10, consumer.position(AT));
        assertEquals(7, ProcessingLog.counts(log, "q")[3]);
    }

    @Test
    void aQueryThatMustNotLoseThemFails() {
        MockConsumer<byte[], byte[]> consumer = consumer(10);
        RuntimeException error =
                assertThrows(IllegalStateException.class, () -> skip(losses(true), consumer, 3));
        assertTrue(error.getMessage().startsWith("[KSQL_DATA_LOST] 7 records of topic t"));
        assertEquals(0, ProcessingLog.counts(log, "q")[3]);
    }

    @Test
    void aTopicThatEndsBeforeIsNoMatterOfReaders() {
        MockConsumer<byte[], byte[]> consumer = consumer(0);
        RuntimeException error =
                assertThrows(IllegalStateException.class, () -> skip(losses(false), consumer, 3));
        assertTrue(error.getMessage().contains("ends before offset 3"));
    }
}
