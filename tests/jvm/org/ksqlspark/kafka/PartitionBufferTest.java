package org.ksqlspark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

import java.util.List;

class PartitionBufferTest {
    private static final TopicPartition AT = new TopicPartition("t", 0);

    private final MockConsumer<byte[], byte[]> consumer = new MockConsumer<>("none");

    /** A buffer of a batch that reads offsets 5 to 9. */
    private PartitionBuffer batch() {
        consumer.assign(List.of(AT));
        consumer.seek(AT, 5);
        return new PartitionBuffer(0, AT, consumer, 10, 10, new IdleWait(0));
    }

    @Test
    void aTopicThatStaysShortEndsABatch() {
        PartitionBuffer buffer = batch();
        assertEquals(0, buffer.shortenTo(5, 0));
        assertFalse(buffer.isOver());
        assertEquals(5, buffer.shortenTo(3, PartitionBuffer.SHORT_MS));
        assertTrue(buffer.isOver());
    }

    @Test
    void oneThatIsShortForAMomentDoesNot() {
        PartitionBuffer buffer = batch();
        buffer.shortenTo(5, 0);
        buffer.shortenTo(10, 1000);
        buffer.shortenTo(5, PartitionBuffer.SHORT_MS);
        assertFalse(buffer.isOver());
    }
}
