package org.ksqlspark.formats;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.kafka.common.serialization.DoubleSerializer;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

class KafkaCodecTest {
    @Test
    void writesWhatKafkasSerializerDoes() {
        assertArrayEquals(
                new DoubleSerializer().serialize("t", 2.5),
                new KafkaCodec.EncodeDouble().invoke(2.5));
    }

    @Test
    void thePartitionIsTheDefaultPartitioners() {
        byte[] key = "21".getBytes(); // murmur2 is -973932308: Kafka's own test vector
        assertEquals((-973932308 & 0x7fffffff) % 7, new KafkaCodec.Partition().invoke(key, 7));
    }

    @Test
    void readsOnlyNumbersOfTheirOwnSize() {
        assertEquals(258, KafkaCodec.Decode.toInt().invoke(new byte[] {0, 0, 1, 2}));
        assertNull(KafkaCodec.Decode.toInt().invoke(new byte[] {1, 2}));
        assertNull(KafkaCodec.Decode.toLong().invoke(null));
    }

    @Test
    void readsTextsWhateverTheirBytes() {
        byte[] bytes = {'a', (byte) 0xff};
        assertEquals(UTF8String.fromString("a\ufffd"), new KafkaCodec.DecodeText().invoke(bytes));
        assertNull(new KafkaCodec.DecodeText().invoke(null));
    }
}
