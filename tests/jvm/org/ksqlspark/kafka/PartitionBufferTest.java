package org.ksqlspark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

class PartitionBufferTest {
    private static final TopicPartition AT = new TopicPartition("t", 0);

    private final MockConsumer<byte[], byte[]> consumer = new MockConsumer<>("none");

    /** A buffer of a batch that reads offsets 5 to 9. */
    private PartitionBuffer batch() {
        consumer.assign(List.of(AT));
        consumer.seek(AT, 5);
        return new PartitionBuffer(0, AT, consumer, 10, 10, false, new IdleWait(0));
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

    @Test
    void whatTheBrokerHasMustBeHandedOut() {
        consumer.updateBeginningOffsets(Map.of(AT, 0L));
        consumer.updateEndOffsets(Map.of(AT, 5L));
        consumer.assign(List.of(AT));
        consumer.seek(AT, 5);
        PartitionBuffer buffer =
                new PartitionBuffer(0, AT, consumer, Long.MAX_VALUE, 5, false, new IdleWait(0));
        assertFalse(buffer.isBehind(4, 0));
        assertTrue(buffer.isBehind(5, 0));
        buffer.add(List.of(new ConsumerRecord<>("t", 0, 5, null, new byte[0])));
        consumer.seek(AT, 6);
        assertTrue(buffer.isBehind(5, 1));
        buffer.takeRecord();
        assertFalse(buffer.isBehind(5, 2));
    }

    @Test
    void aTopicThatWasMadeAgainIsNotWaitedForForEver() {
        consumer.assign(List.of(AT));
        consumer.seek(AT, 0);
        PartitionBuffer buffer =
                new PartitionBuffer(0, AT, consumer, Long.MAX_VALUE, 0, false, new IdleWait(0));
        assertTrue(buffer.isBehind(9, 0));
        assertTrue(buffer.isBehind(9, PartitionBuffer.BEHIND_MS - 1));
        assertFalse(buffer.isBehind(9, PartitionBuffer.BEHIND_MS));
    }
}
