package org.ksqlspark.formats;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.UUID;

/**
 * What comes before a record whose format keeps schemas in a registry, and names the schema that
 * the record was written by: a zero and four bytes of its id, or a one and sixteen bytes of its
 * GUID.
 */
public final class Frame {
    static final int BY_ID = 5;
    static final int BY_GUID = 17;

    private Frame() {}

    /** How long the frame of a record is, BY_ID or BY_GUID; 0: there is none. */
    static int sizeOrZero(byte[] data) {
        if (data.length >= BY_ID && data[0] == 0) {
            return BY_ID;
        }
        return data.length >= BY_GUID && data[0] == 1 ? BY_GUID : 0;
    }

    /** The same; throws where there is none. */
    static int size(byte[] data) {
        int size = sizeOrZero(data);
        if (size == 0) {
            throw new IllegalArgumentException(
                    "It does not start with a zero and the id of a schema.");
        }
        return size;
    }

    /** The frame of a schema's id. */
    static byte[] of(int id) {
        return ByteBuffer.allocate(BY_ID).putInt(1, id).array();
    }

    /** The id in a frame of BY_ID bytes. */
    static int id(byte[] data) {
        return ByteBuffer.wrap(data).getInt(1);
    }

    /** What a frame says of the schema: an Integer or a UUID, see RegistryClient.schema. */
    static Object writer(byte[] data) {
        if (size(data) == BY_ID) {
            return id(data);
        }
        ByteBuffer bytes = ByteBuffer.wrap(data, 1, BY_GUID - 1);
        return new UUID(bytes.getLong(), bytes.getLong());
    }

    private static byte[] joined(byte[] first, byte[] second) {
        byte[] whole = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, whole, first.length, second.length);
        return whole;
    }

    /** What follows the frame; NULL where there is none. */
    public static final class Body extends FormatFunction<byte[]> {
        public Body() {
            super("frame_body", DataTypes.BinaryType, DataTypes.BinaryType);
        }

        /** Spark's generated code calls this overload. */
        public byte[] invoke(byte[] data) {
            int size = data == null ? 0 : sizeOrZero(data);
            return size == 0 ? null : Arrays.copyOfRange(data, size, data.length);
        }
    }

    /**
     * A record behind the frame that newer serializers write into a header of the record instead,
     * the last one of the given name; the record as it is where there is no such header.
     */
    public static final class FromHeader extends FormatFunction<byte[]> {
        private final UTF8String header;

        public FromHeader(String header, StructType types) {
            super(
                    "framed",
                    DataTypes.BinaryType,
                    types.fields()[0].dataType(),
                    types.fields()[1].dataType());
            this.header = UTF8String.fromString(header);
        }

        /** Spark's generated code calls this overload. */
        public byte[] invoke(byte[] data, ArrayData headers) {
            if (data == null || headers == null) {
                return data;
            }
            for (int i = headers.numElements() - 1; i >= 0; i--) {
                InternalRow one = headers.getStruct(i, 2);
                if (header.equals(one.getUTF8String(0))) {
                    return one.isNullAt(1) ? data : joined(one.getBinary(1), data);
                }
            }
            return data;
        }
    }
}
