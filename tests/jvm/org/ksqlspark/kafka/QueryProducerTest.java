package org.ksqlspark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.ksqlspark.internals.kafka.SizeLimit;

class QueryProducerTest {
    private MockProducer<byte[], byte[]> kafkaOfA;
    private MockProducer<byte[], byte[]> kafkaOfB;
    private QueryProducer a;
    private QueryProducer b;

    @BeforeEach
    void add() {
        var bytes = new ByteArraySerializer();
        kafkaOfA = new MockProducer<>(false, null, bytes, bytes);
        kafkaOfB = new MockProducer<>(false, null, bytes, bytes);
        a = new QueryProducer(kafkaOfA, SizeLimit.NONE, "", "A", "");
        b = new QueryProducer(kafkaOfB, SizeLimit.NONE, "", "B", "");
        QueryProducer.add("run of A", a);
        QueryProducer.add("run of B", b);
    }

    @AfterEach
    void release() {
        QueryProducer.release("run of A");
        QueryProducer.release("run of B");
    }

    private static ProducerRecord<byte[], byte[]> record() {
        return new ProducerRecord<>("sink", new byte[] {1});
    }

    @Test
    void aRecordThatIsNotDeliveredBelongsToTheQueryThatHasIt() {
        a.send(record());
        b.send(record());
        b.flush();
        assertTrue(kafkaOfB.flushed());
        assertFalse(kafkaOfA.flushed(), "a record of A is still on its way");

        kafkaOfA.errorNext(new TimeoutException("nobody takes it"));
        var failure = assertThrows(IllegalStateException.class, a::flush);
        assertTrue(failure.getMessage().contains("nobody takes it"), failure.getMessage());
        assertThrows(IllegalStateException.class, () -> a.send(record()));
        b.send(record());
        b.flush();
        assertEquals(2, kafkaOfB.history().size());
    }

    @Test
    void theEndOfOneQueryLeavesTheOthersAlone() {
        assertSame(a, QueryProducer.of("run of A"));
        a.send(record());
        QueryProducer.release("run of A");
        assertTrue(kafkaOfA.closed());
        assertThrows(IllegalStateException.class, () -> QueryProducer.of("run of A"));
        b.send(record());
        b.flush();
        assertFalse(kafkaOfB.closed());
    }
}
