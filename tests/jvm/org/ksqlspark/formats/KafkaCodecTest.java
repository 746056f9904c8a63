package org.ksqlspark.formats;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.kafka.common.serialization.DoubleSerializer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.junit.jupiter.api.Test;

class KafkaCodecTest {
    private static InternalRow row(Object... values) {
        return new GenericInternalRow(values);
    }

    @Test
    void writesWhatKafkasSerializerDoes() {
        assertArrayEquals(
                new DoubleSerializer().serialize("t", 2.5),
                new KafkaCodec.EncodeDouble().produceResult(row(2.5)));
    }

    @Test
    void thePartitionIsTheDefaultPartitioners() {
        byte[] key = "21".getBytes(); // murmur2 is -973932308: Kafka's own test vector
        assertEquals(
                (-973932308 & 0x7fffffff) % 7,
                new KafkaCodec.Partition().produceResult(row(key, 7)));
    }
}
