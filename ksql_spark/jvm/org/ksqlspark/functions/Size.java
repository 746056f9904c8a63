package org.ksqlspark.functions;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * How large values are: elements and bytes, through all levels, looked at until a limit is passed.
 */
public final class Size {
    private final Limits limits;
    private long elements;
    private long bytes;

    private Size(Limits limits) {
        this.limits = limits;
    }

    private boolean isAllowed() {
        return limits.allowElements(elements) && limits.allowBytes(bytes);
    }

    private static boolean isFixed(DataType type) {
        return !(type instanceof StringType
                || type instanceof BinaryType
                || type instanceof ArrayType
                || type instanceof MapType
                || type instanceof StructType);
    }

    private void add(Object value, DataType type) {
        if (value instanceof UTF8String text) {
            bytes += text.numBytes();
        } else if (value instanceof byte[] data) {
            bytes += data.length;
        } else if (value instanceof ArrayData array) {
            addAll(array, ((ArrayType) type).elementType());
        } else if (value instanceof MapData map) {
            addAll(map.keyArray(), ((MapType) type).keyType());
            if (isAllowed()) {
                elements -= map.numElements(); // an entry is one element
                addAll(map.valueArray(), ((MapType) type).valueType());
            }
        } else if (value instanceof InternalRow row) {
            StructField[] fields = ((StructType) type).fields();
            for (int i = 0; i < fields.length && isAllowed(); i++) {
                if (!isFixed(fields[i].dataType()) && !row.isNullAt(i)) {
                    add(row.get(i, fields[i].dataType()), fields[i].dataType());
                }
            }
        }
    }

    private void addAll(ArrayData values, DataType type) {
        elements += values.numElements();
        if (isFixed(type)) {
            return;
        }
        for (int i = 0; i < values.numElements() && isAllowed(); i++) {
            if (!values.isNullAt(i)) {
                add(values.get(i, type), type);
            }
        }
    }

    /** Whether a value of any type is within the limits; NULL is. */
    public static final class Fits extends LimitedFunction<Boolean> {
        private final DataType type;

        public Fits(Limits limits, DataType type) {
            super(limits, DataTypes.BooleanType, type);
            this.type = type;
        }

        private boolean fits(Object value) {
            Size size = new Size(limits);
            size.add(value, type);
            return size.isAllowed();
        }

        public boolean invoke(UTF8String value) {
            return value == null || limits.allowBytes(value.numBytes());
        }

        public boolean invoke(byte[] value) {
            return value == null || limits.allowBytes(value.length);
        }

        public boolean invoke(ArrayData value) {
            return fits(value);
        }

        public boolean invoke(MapData value) {
            return fits(value);
        }

        public boolean invoke(InternalRow value) {
            return fits(value);
        }

        @Override
        public boolean equals(Object other) {
            return super.equals(other) && ((Fits) other).type.equals(type);
        }

        @Override
        public int hashCode() {
            return super.hashCode() + type.hashCode();
        }
    }

    /** A value of any type; NULL where it is not within the limits. */
    public static final class Limited extends LimitedFunction<Object> {
        private final Fits fits;

        public Limited(Limits limits, DataType type) {
            super(limits, type, type);
            this.fits = new Fits(limits, type);
        }

        public UTF8String invoke(UTF8String value) {
            return fits.invoke(value) ? value : null;
        }

        public byte[] invoke(byte[] value) {
            return fits.invoke(value) ? value : null;
        }

        public ArrayData invoke(ArrayData value) {
            return fits.invoke(value) ? value : null;
        }

        public MapData invoke(MapData value) {
            return fits.invoke(value) ? value : null;
        }

        public InternalRow invoke(InternalRow value) {
            return fits.invoke(value) ? value : null;
        }

        @Override
        public boolean equals(Object other) {
            return super.equals(other) && ((Limited) other).fits.equals(fits);
        }

        @Override
        public int hashCode() {
            return fits.hashCode();
        }
    }

    /**
     * (sum, value): a sum of sizes with one more; -1 where it passes a limit. The number of
     * elements is in the upper half of the sum, that of bytes in the lower.
     */
    public static final class Sum extends LimitedFunction<Long> {
        private final DataType type;

        public Sum(Limits limits, DataType type) {
            super(limits, DataTypes.LongType, DataTypes.LongType, type);
            this.type = type;
        }

        private long sum(long sum, Object value) {
            Size size = new Size(limits);
            size.elements = sum >>> 32;
            size.bytes = sum & 0xFFFFFFFFL;
            size.add(value, type);
            return size.isAllowed() ? size.elements << 32 | size.bytes : -1;
        }

        public long invoke(long sum, UTF8String value) {
            return sum(sum, value);
        }

        public long invoke(long sum, byte[] value) {
            return sum(sum, value);
        }

        public long invoke(long sum, ArrayData value) {
            return sum(sum, value);
        }

        public long invoke(long sum, MapData value) {
            return sum(sum, value);
        }

        public long invoke(long sum, InternalRow value) {
            return sum(sum, value);
        }

        @Override
        public boolean equals(Object other) {
            return super.equals(other) && ((Sum) other).type.equals(type);
        }

        @Override
        public int hashCode() {
            return super.hashCode() + type.hashCode();
        }
    }

    /** (count): whether so many elements, or bytes, are within the limit. */
    public static final class CountFits extends LimitedFunction<Boolean> {
        private final boolean isOfBytes;

        public CountFits(Limits limits, boolean isOfBytes) {
            super(limits, DataTypes.BooleanType, DataTypes.LongType);
            this.isOfBytes = isOfBytes;
        }

        public boolean invoke(long count) {
            return isOfBytes ? limits.allowBytes(count) : limits.allowElements(count);
        }

        @Override
        public boolean equals(Object other) {
            return super.equals(other) && ((CountFits) other).isOfBytes == isOfBytes;
        }

        @Override
        public int hashCode() {
            return super.hashCode() + (isOfBytes ? 1 : 0);
        }
    }
}
