package org.ksqlspark.internals.kafka;

import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.AbstractRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;

import java.util.Map;

/**
 * The largest record that is sent to a topic, where a refusal by its brokers would end a run.
 *
 * <p>It leaves out no record that they would take: Kafka's client compares its limit with the size
 * before compression, and a broker with the size after it.
 */
public final class SizeLimit {
    /** Brokers decide. */
    public static final SizeLimit NONE = new SizeLimit(Long.MAX_VALUE, Long.MAX_VALUE, Map.of());

    private final long clientBytes;
    private final long brokerBytes;
    private final Compression compression;

    /**
     * @param clientBytes max.request.size
     * @param brokerBytes max.message.bytes of the topic
     * @param settings of Kafka's producers
     */
    public SizeLimit(long clientBytes, long brokerBytes, Map<String, String> settings) {
        this.clientBytes = clientBytes;
        this.brokerBytes = brokerBytes;
        String type = settings.getOrDefault(ProducerConfig.COMPRESSION_TYPE_CONFIG, "none");
        compression = Compression.of(type).build();
    }

    /** Why a record is not sent; null: it is. */
    public String refusal(ProducerRecord<byte[], byte[]> record) {
        int most =
                AbstractRecords.estimateSizeInBytesUpperBound(
                        RecordBatch.CURRENT_MAGIC_VALUE,
                        compression.type(),
                        record.key(),
                        record.value(),
                        record.headers().toArray());
        if (most > clientBytes) {
            return most + " bytes are more than max.request.size, which is " + clientBytes + ".";
        }
        if (most <= brokerBytes) {
            return null;
        }
        int size = alone(record).sizeInBytes();
        return size > brokerBytes
                ? size + " bytes are more than max.message.bytes, which is " + brokerBytes + "."
                : null;
    }

    /** As the client sends it after a batch with others was too large. */
    private MemoryRecords alone(ProducerRecord<byte[], byte[]> record) {
        Long time = record.timestamp();
        return MemoryRecords.withRecords(
                compression,
                new SimpleRecord(
                        time == null ? System.currentTimeMillis() : time,
                        record.key(),
                        record.value(),
                        record.headers().toArray()));
    }
}
