package org.ksqlspark.kafka;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.kafka010.KafkaRecordToRowConverter;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.Optional;

class RecordRowTest {
    private static final DataType[] TYPES =
            Arrays.stream(KafkaRecordToRowConverter.kafkaSchema(true).fields())
                    .map(StructField::dataType)
                    .toArray(DataType[]::new);

    private static ConsumerRecord<byte[], byte[]> record(
            byte[] key, byte[] value, long timestamp, Headers headers) {
        return new ConsumerRecord<>(
                "a topic",
                3,
                12L,
                timestamp,
                TimestampType.LOG_APPEND_TIME,
                ConsumerRecord.NULL_SIZE,
                ConsumerRecord.NULL_SIZE,
                key,
                value,
                headers,
                Optional.empty());
    }

    /** Each column is what Spark's own source makes of the record. */
    private static void assertAsInSpark(ConsumerRecord<byte[], byte[]> record) {
        InternalRow theirs =
                new KafkaRecordToRowConverter().toInternalRowWithHeaders().apply(record);
        InternalRow ours = new RecordRow(record);
        assertEquals(theirs.numFields(), ours.numFields());
        for (int i = 0; i < TYPES.length; i++) {
            assertEquals(theirs.isNullAt(i), ours.isNullAt(i), "column " + i);
            assertEquals(theirs.get(i, TYPES[i]), ours.get(i, TYPES[i]), "column " + i);
        }
    }

    @Test
    void itHasTheColumnsOfSparksSource() {
        Headers headers = new RecordHeaders().add("a", new byte[] {1}).add("b", null);
        assertAsInSpark(record(new byte[] {1}, new byte[] {2, 3}, 1_700_000_000_123L, headers));
    }

    @Test
    void whatARecordLacksIsNull() {
        assertAsInSpark(record(null, null, -1, new RecordHeaders()));
    }

    @Test
    void keyAndValueAreNotCopied() {
        byte[] value = {1, 2};
        InternalRow row = new RecordRow(record(null, value, 0, new RecordHeaders()));
        assertTrue(row.getBinary(1) == value);
        assertArrayEquals(value, row.copy().getBinary(1));
    }

    @Test
    void itCannotBeChanged() {
        InternalRow row = new RecordRow(record(null, null, 0, new RecordHeaders()));
        assertThrows(UnsupportedOperationException.class, () -> row.setNullAt(0));
        assertThrows(UnsupportedOperationException.class, () -> row.update(4, 1L));
    }
}
