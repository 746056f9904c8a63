package org.ksqlspark.kafka;

import org.apache.kafka.clients.producer.ProducerInterceptor;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.Header;

import java.nio.ByteBuffer;
import java.util.Map;

/**
 * Sets each record's timestamp to the event time that the query put into a header.
 *
 * <p>Spark's Kafka sink has columns for key, value and headers, but none for the timestamp, which
 * KSQL defines for every operator's output. The header holds epoch milliseconds as 8 bytes,
 * big-endian; the interceptor removes it.
 */
public final class EventTimeInterceptor implements ProducerInterceptor<byte[], byte[]> {
    public static final String HEADER = "__ksql_event_time";

    @Override
    public ProducerRecord<byte[], byte[]> onSend(ProducerRecord<byte[], byte[]> record) {
        Header header = record.headers().lastHeader(HEADER);
        if (header == null || header.value() == null || header.value().length != 8) {
            return record;
        }
        long timestamp = ByteBuffer.wrap(header.value()).getLong();
        record.headers().remove(HEADER);
        if (timestamp < 0) { // Kafka refuses it; the timestamp is then the current time
            return record;
        }
        return new ProducerRecord<>(
                record.topic(),
                record.partition(),
                timestamp,
                record.key(),
                record.value(),
                record.headers());
    }

    @Override
    public void onAcknowledgement(RecordMetadata metadata, Exception exception) {}

    @Override
    public void close() {}

    @Override
    public void configure(Map<String, ?> configs) {}
}
