package org.ksqlspark.kafka;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.ksqlspark.internals.kafka.SizeLimit;

class RefusalsTest {
    private MockProducer<byte[], byte[]> kafka;

    private QueryProducer run(boolean failsOnRefusal) {
        var bytes = new ByteArraySerializer();
        kafka = new MockProducer<>(Cluster.empty(), false, null, bytes, bytes);
        return new QueryProducer(kafka, SizeLimit.NONE, "log", "Q", "")
                .failingOnRefusal(failsOnRefusal);
    }

    @AfterEach
    void forget() {
        Traffic.forget("log", "Q");
    }

    private static ProducerRecord<byte[], byte[]> record(int value) {
        return new ProducerRecord<>("out", null, 5L, null, new byte[] {(byte) value});
    }

    /** Sends three records; the brokers refuse the second, and those around it. */
    private void refuseTheSecond(QueryProducer producer) {
        for (int value = 1; value <= 3; value++) {
            producer.send(record(value));
        }
        kafka.errorNext(new KafkaException("part of a batch with invalid records"));
        kafka.errorNext(new InvalidRecordException("no schema of this topic"));
        kafka.errorNext(new KafkaException("part of a batch with invalid records"));
        assertThrows(IllegalStateException.class, producer::flush);
    }

    @Test
    void theNextRunLeavesOutWhatTheBrokersHaveRefusedAndWritesTheOthersInTheirOrder() {
        refuseTheSecond(run(false));
        QueryProducer next = run(false);
        for (int value = 1; value <= 3; value++) {
            next.send(record(value));
        }
        assertEquals(2, kafka.history().size());
        assertEquals(3, kafka.history().get(1).value()[0]);
        next.flush();
    }

    @Test
    void whereRefusalsStopTheQueryNothingIsLeftOut() {
        refuseTheSecond(run(true));
        QueryProducer next = run(true);
        next.send(record(2));
        assertEquals(1, kafka.history().size());
        kafka.errorNext(new RecordTooLargeException("too large"));
        assertThrows(IllegalStateException.class, next::flush);
    }

    @Test
    void anotherQueryKnowsNothingOfIt() {
        refuseTheSecond(run(false));
        Traffic.forget("log", "Q");
        QueryProducer next = run(false);
        next.send(record(2));
        kafka.completeNext();
        assertDoesNotThrow(next::flush);
        assertEquals(1, kafka.history().size());
    }
}
