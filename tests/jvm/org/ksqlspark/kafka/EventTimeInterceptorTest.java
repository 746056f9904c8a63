package org.ksqlspark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;

class EventTimeInterceptorTest {
    private static ProducerRecord<byte[], byte[]> sent(byte[] header) {
        ProducerRecord<byte[], byte[]> record =
                new ProducerRecord<>("topic", 3, new byte[] {1}, new byte[] {2});
        record.headers().add("user", new byte[] {7}).add(EventTimeInterceptor.HEADER, header);
        return new EventTimeInterceptor().onSend(record);
    }

    private static byte[] time(long millis) {
        return ByteBuffer.allocate(8).putLong(millis).array();
    }

    @Test
    void theHeaderBecomesTheTimestampAndGoes() {
        ProducerRecord<byte[], byte[]> record = sent(time(1234));
        assertEquals(1234, record.timestamp());
        assertEquals(3, record.partition());
        assertNull(record.headers().lastHeader(EventTimeInterceptor.HEADER));
        assertEquals(7, record.headers().lastHeader("user").value()[0]);
    }

    @Test
    void aNegativeTimeIsLeftToTheBroker() {
        ProducerRecord<byte[], byte[]> record = sent(time(-1));
        assertNull(record.timestamp());
        assertNull(record.headers().lastHeader(EventTimeInterceptor.HEADER));
    }

    @Test
    void anotherHeaderOfThatNameIsTheUsers() {
        assertEquals(
                2,
                sent(new byte[2]).headers().lastHeader(EventTimeInterceptor.HEADER).value().length);
    }
}
