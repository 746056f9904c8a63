package org.ksqlspark.kafka;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A record as a row with the columns of Spark's Kafka source: key, value, topic, partition, offset,
 * timestamp, timestampType, headers. A column is made when it is read, and key and value are the
 * record's own bytes. It cannot be changed, so its copy is the row itself.
 */
public final class RecordRow extends GenericInternalRow {
    private static final int KEY = 0;
    private static final int VALUE = 1;
    private static final int TOPIC = 2;
    private static final int PARTITION = 3;
    private static final int OFFSET = 4;
    private static final int TIMESTAMP = 5;
    private static final int TIMESTAMP_TYPE = 6;
    private static final int HEADERS = 7;
    private static final int FIELDS = 8;

    private static final Object[] NONE = {};

    private final ConsumerRecord<byte[], byte[]> record;

    /**
     * @param record one with a timestamp that microseconds can express ({@link Timestamps})
     */
    public RecordRow(ConsumerRecord<byte[], byte[]> record) {
        super(NONE);
        this.record = record;
    }

    @Override
    public int numFields() {
        return FIELDS;
    }

    @Override
    public Object genericGet(int ordinal) {
        return switch (ordinal) {
            case KEY -> record.key();
            case VALUE -> record.value();
            case TOPIC -> UTF8String.fromString(record.topic());
            case PARTITION -> record.partition();
            case OFFSET -> record.offset();
            case TIMESTAMP -> TimeUnit.MILLISECONDS.toMicros(record.timestamp());
            case TIMESTAMP_TYPE -> record.timestampType().id;
            case HEADERS -> headers();
            default -> throw new IndexOutOfBoundsException(ordinal);
        };
    }

    @Override
    public boolean isNullAt(int ordinal) {
        return switch (ordinal) {
            case KEY -> record.key() == null;
            case VALUE -> record.value() == null;
            case HEADERS -> !record.headers().iterator().hasNext();
            default -> false;
        };
    }

    /** An array of structs; null if the record has no headers. */
    private GenericArrayData headers() {
        List<InternalRow> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            Object[] pair = {UTF8String.fromString(header.key()), header.value()};
            headers.add(new GenericInternalRow(pair));
        }
        return headers.isEmpty() ? null : new GenericArrayData(headers.toArray());
    }

    @Override
    public void update(int ordinal, Object value) {
        throw new UnsupportedOperationException("a record's row cannot be changed");
    }

    @Override
    public void setNullAt(int ordinal) {
        update(ordinal, null);
    }

    @Override
    public GenericInternalRow copy() {
        return this;
    }
}
