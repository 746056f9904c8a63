package org.ksqlspark.formats;

import org.apache.kafka.common.utils.Utils;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

import java.nio.ByteBuffer;

/**
 * Kafka's serializers of numbers (format KAFKA): big-endian, NULL if the length does not match.
 * Everything is public, because Spark's generated code calls {@code invoke}.
 */
public final class KafkaCodec {
    private KafkaCodec() {}

    /** A function of one argument. */
    public abstract static class Unary<T> implements ScalarFunction<T> {
        private final DataType input;
        private final DataType result;

        Unary(DataType input, DataType result) {
            this.input = input;
            this.result = result;
        }

        @Override
        public DataType[] inputTypes() {
            return new DataType[] {input};
        }

        @Override
        public DataType resultType() {
            return result;
        }

        @Override
        public String name() {
            return getClass().getSimpleName();
        }
    }

    /** 4 bytes to INT. */
    public static final class DecodeInt extends Unary<Integer> {
        public DecodeInt() {
            super(DataTypes.BinaryType, DataTypes.IntegerType);
        }

        @Override
        public Integer produceResult(InternalRow input) {
            byte[] data = input.isNullAt(0) ? null : input.getBinary(0);
            return data == null || data.length != 4
                    ? null
                    : Integer.valueOf(ByteBuffer.wrap(data).getInt());
        }
    }

    /** 8 bytes to BIGINT. */
    public static final class DecodeLong extends Unary<Long> {
        public DecodeLong() {
            super(DataTypes.BinaryType, DataTypes.LongType);
        }

        @Override
        public Long produceResult(InternalRow input) {
            byte[] data = input.isNullAt(0) ? null : input.getBinary(0);
            return data == null || data.length != 8
                    ? null
                    : Long.valueOf(ByteBuffer.wrap(data).getLong());
        }
    }

    /** 8 bytes to DOUBLE. */
    public static final class DecodeDouble extends Unary<Double> {
        public DecodeDouble() {
            super(DataTypes.BinaryType, DataTypes.DoubleType);
        }

        @Override
        public Double produceResult(InternalRow input) {
            byte[] data = input.isNullAt(0) ? null : input.getBinary(0);
            return data == null || data.length != 8
                    ? null
                    : Double.valueOf(ByteBuffer.wrap(data).getDouble());
        }
    }

    /** DOUBLE to 8 bytes. */
    public static final class EncodeDouble extends Unary<byte[]> {
        public EncodeDouble() {
            super(DataTypes.DoubleType, DataTypes.BinaryType);
        }

        @Override
        public byte[] produceResult(InternalRow input) {
            return input.isNullAt(0)
                    ? null
                    : ByteBuffer.allocate(8).putDouble(input.getDouble(0)).array();
        }
    }

    /**
     * The partition of a key by Kafka's default partitioner: (key, number of partitions) to INT.
     */
    public static final class Partition implements ScalarFunction<Integer> {
        @Override
        public DataType[] inputTypes() {
            return new DataType[] {DataTypes.BinaryType, DataTypes.IntegerType};
        }

        @Override
        public DataType resultType() {
            return DataTypes.IntegerType;
        }

        @Override
        public String name() {
            return "Partition";
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
