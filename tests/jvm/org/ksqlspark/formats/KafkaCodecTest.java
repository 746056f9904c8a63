package org.ksqlspark.formats;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.kafka.common.serialization.DoubleSerializer;
import org.apache.kafka.common.serialization.IntegerSerializer;
import org.apache.kafka.common.serialization.LongSerializer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.junit.jupiter.api.Test;

class KafkaCodecTest {
    private static InternalRow row(Object... values) {
        return new GenericInternalRow(values);
    }

    @Test
    void readsWhatKafkasSerializersWrite() {
        assertEquals(
                -5,
                KafkaCodec.Decode.toInt()
                        .produceResult(row(new IntegerSerializer().serialize("t", -5))));
        assertEquals(
                1L << 40,
                KafkaCodec.Decode.toLong()
                        .produceResult(row(new LongSerializer().serialize("t", 1L << 40))));
        assertEquals(
                2.5,
                KafkaCodec.Decode.toDouble()
                        .produceResult(row(new DoubleSerializer().serialize("t", 2.5))));
        assertArrayEquals(
                new DoubleSerializer().serialize("t", 2.5),
                new KafkaCodec.EncodeDouble().produceResult(row(2.5)));
    }

    @Test
    void anotherLengthIsNull() {
        assertNull(KafkaCodec.Decode.toInt().produceResult(row(new byte[8])));
        assertNull(KafkaCodec.Decode.toLong().produceResult(row(new byte[4])));
        assertNull(KafkaCodec.Decode.toDouble().produceResult(row(new byte[0])));
        assertNull(KafkaCodec.Decode.toInt().produceResult(row(new Object[] {null})));
    }

    @Test
    void thePartitionIsTheDefaultPartitioners() {
        byte[] key = "21".getBytes(); // murmur2 is -973932308: Kafka's own test vector
        assertEquals(
                (-973932308 & 0x7fffffff) % 7,
                new KafkaCodec.Partition().produceResult(row(key, 7)));
    }
}
