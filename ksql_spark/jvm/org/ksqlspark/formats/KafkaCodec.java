package org.ksqlspark.formats;

import org.apache.kafka.common.utils.Utils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

import java.io.Serializable;
import java.nio.ByteBuffer;

/**
 * Kafka's serializers of numbers and texts (format KAFKA). Numbers are big-endian, and NULL if the
 * length does not match.
 */
public final class KafkaCodec {
    private KafkaCodec() {}

    /** Reads a number at the start of bytes. */
    interface Number<T> extends Serializable {
        T read(ByteBuffer bytes);
    }

    /** Bytes to a number. */
    public static final class Decode<T> extends FormatFunction<T> {
        private final int size;
        private final Number<T> number;

        private Decode(DataType type, int size, Number<T> number) {
            super("kafka_decode", type, DataTypes.BinaryType);
            this.size = size;
            this.number = number;
        }

        static Decode<Integer> toInt() {
            return new Decode<>(DataTypes.IntegerType, Integer.BYTES, ByteBuffer::getInt);
        }

        static Decode<Long> toLong() {
            return new Decode<>(DataTypes.LongType, Long.BYTES, ByteBuffer::getLong);
        }

        static Decode<Double> toDouble() {
            return new Decode<>(DataTypes.DoubleType, Double.BYTES, ByteBuffer::getDouble);
        }

        public T invoke(byte[] data) {
            return data == null || data.length != size ? null : number.read(ByteBuffer.wrap(data));
        }
    }

    /** Bytes to a text. */
    public static final class DecodeText extends FormatFunction<UTF8String> {
        DecodeText() {
            super("kafka_decode", DataTypes.StringType, DataTypes.BinaryType);
        }

        public UTF8String invoke(byte[] data) {
            return data == null ? null : Utf8.replaced(data, 0, data.length);
        }
    }

    /** DOUBLE, which must not be NULL, to 8 bytes. */
    public static final class EncodeDouble extends FormatFunction<byte[]> {
        EncodeDouble() {
            super("kafka_encode", DataTypes.BinaryType, DataTypes.DoubleType);
        }

        public byte[] invoke(double number) {
            return ByteBuffer.allocate(Double.BYTES).putDouble(number).array();
        }
    }

    /**
     * The partition of a key by Kafka's default partitioner: (key, number of partitions) to INT.
     */
    public static final class Partition extends FormatFunction<Integer> {
        Partition() {
            super(
                    "kafka_partition",
                    DataTypes.IntegerType,
                    DataTypes.BinaryType,
                    DataTypes.IntegerType);
        }

        public Integer invoke(byte[] key, int partitions) {
            return key == null ? null : Utils.toPositive(Utils.murmur2(key)) % partitions;
        }
    }
}
