package org.ksqlspark.internals.kafka;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.ProducerIdAndEpoch;
import org.junit.jupiter.api.Test;

import java.util.Map;

class ProducerEpochTest {
    @Test
    void aProducerHasTheEpochThatItWasGiven() {
        var bytes = new ByteArraySerializer();
        Map<String, Object> settings = Map.of("bootstrap.servers", "localhost:1");
        try (var kafka = new KafkaProducer<>(settings, bytes, bytes)) {
            var epoch = new ProducerEpoch(kafka);
            epoch.set(new ProducerIdAndEpoch(7, (short) 3));
            assertTrue(epoch.isKept());
            var other = new ProducerEpoch(kafka);
            other.set(new ProducerIdAndEpoch(7, (short) 4));
            assertTrue(other.isKept());
            assertFalse(epoch.isKept());
        }
    }
}
