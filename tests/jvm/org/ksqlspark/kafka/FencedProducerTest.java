package org.ksqlspark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;
import org.ksqlspark.internals.kafka.SizeLimit;

import java.util.Map;

class FencedProducerTest {
    private final MockProducer<byte[], byte[]> kafka =
            new MockProducer<>(false, null, new ByteArraySerializer(), new ByteArraySerializer());
    private final Taken epoch = new Taken();
    private final SizeLimit limit = new SizeLimit(1000, 1000, Map.of());
    private final QueryProducer producer =
            new FencedProducer(kafka, epoch, limit, "a log", "Q", "");

    private static final class Taken implements FencedProducer.Epoch {
        private int times;
        private boolean isKept = true;

        @Override
        public void take() {
            times++;
        }

        @Override
        public boolean isKept() {
            return isKept;
        }
    }

    private static ProducerRecord<byte[], byte[]> record(int bytes) {
        return new ProducerRecord<>("sink", new byte[] {1}, new byte[bytes]);
    }

    @Test
    void nothingIsSentAfterARefusal() {
        producer.send(record(1));
        producer.send(record(2));
        kafka.errorNext(new InvalidProducerEpochException("an old epoch"));
        assertTrue(kafka.closed(), "its client would send the second one with another epoch");
        var failure = assertThrows(IllegalStateException.class, () -> producer.send(record(3)));
        assertTrue(failure.getMessage().contains("an old epoch"), failure.getMessage());
    }

    @Test
    void aRecordThatIsTooLargeIsNotTried() {
        producer.send(record(1000));
        producer.send(record(10));
        assertEquals(1, kafka.history().size());
        assertFalse(kafka.closed());
    }

    @Test
    void theClientDoesNotChooseItsEpoch() {
        producer.send(record(1));
        epoch.isKept = false;
        assertThrows(IllegalStateException.class, () -> producer.send(record(2)));
    }

    @Test
    void anEpochIsTakenOnceADay() {
        producer.begin();
        producer.begin();
        assertEquals(0, epoch.times);
    }
}
