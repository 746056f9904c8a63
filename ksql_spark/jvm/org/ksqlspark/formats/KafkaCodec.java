package org.ksqlspark.formats;

import org.apache.kafka.common.utils.Utils;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

import java.io.Serializable;
import java.nio.ByteBuffer;

/** Kafka's serializers of numbers (format KAFKA): big-endian, NULL if the length does not match. */
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

        @Override
        public T produceResult(InternalRow input) {
            byte[] data = input.isNullAt(0) ? null : input.getBinary(0);
            return data == null || data.length != size ? null : number.read(ByteBuffer.wrap(data));
        }
    }

    /** DOUBLE to 8 bytes. */
    public static final class EncodeDouble extends FormatFunction<byte[]> {
        EncodeDouble() {
            super("kafka_encode", DataTypes.BinaryType, DataTypes.DoubleType);
        }

        @Override
        public byte[] produceResult(InternalRow input) {
            return input.isNullAt(0)
                    ? null
                    : ByteBuffer.allocate(Double.BYTES).putDouble(input.getDouble(0)).array();
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

        @Override
        public Integer produceResult(InternalRow input) {
            if (input.isNullAt(0)) {
                return null;
            }
            return Utils.toPositive(Utils.murmur2(input.getBinary(0))) % input.getInt(1);
        }
    }
}
