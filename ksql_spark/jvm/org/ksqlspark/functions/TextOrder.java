package org.ksqlspark.functions;

import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

import java.util.Arrays;
import java.util.Comparator;

/**
 * The order of STRING and BYTES in ksqlDB (reference §3.3): text by UTF-16 units, where characters
 * beyond U+FFFF come before U+E000, and bytes as signed numbers. Spark's order is that of unsigned
 * UTF-8 bytes.
 */
public final class TextOrder {
    /**
     * The first UTF-8 byte of U+E000; and that of the first character that UTF-16 writes in two
     * units.
     */
    private static final int LAST_BLOCK = 0xEE;

    private static final int BEYOND = 0xF0;

    private TextOrder() {}

    public static int compare(UTF8String a, UTF8String b) {
        int common = Math.min(a.numBytes(), b.numBytes());
        int at = mismatch(a, b, common);
        if (at == common) {
            return Integer.compare(a.numBytes(), b.numBytes());
        }
        int x = a.getByte(at) & 0xFF;
        int y = b.getByte(at) & 0xFF;
        return x >= LAST_BLOCK && y >= LAST_BLOCK && x >= BEYOND != y >= BEYOND ? y - x : x - y;
    }

    private static int mismatch(UTF8String a, UTF8String b, int common) {
        Object left = a.getBaseObject();
        Object right = b.getBaseObject();
        long leftAt = a.getBaseOffset();
        long rightAt = b.getBaseOffset();
        int i = 0;
        while (i + 8 <= common
                && Platform.getLong(left, leftAt + i) == Platform.getLong(right, rightAt + i)) {
            i += 8;
        }
        while (i < common
                && Platform.getByte(left, leftAt + i) == Platform.getByte(right, rightAt + i)) {
            i++;
        }
        return i;
    }

    public static int compare(byte[] a, byte[] b) {
        return Arrays.compare(a, b);
    }

    /** The order of a type's values in arrays; null for types with Spark's order. */
    public static Comparator<Object> of(DataType type) {
        if (type.equals(DataTypes.StringType)) {
            return (a, b) -> compare((UTF8String) a, (UTF8String) b);
        }
        return type.equals(DataTypes.BinaryType) ? (a, b) -> compare((byte[]) a, (byte[]) b) : null;
    }

    /** (a, b) to a negative number, 0 or a positive number; NULL if an argument is NULL. */
    public static final class Compare extends InvokeFunction<Integer> {
        public Compare(DataType type) {
            super(DataTypes.IntegerType, type, type);
        }

        public Integer invoke(UTF8String a, UTF8String b) {
            return a == null || b == null ? null : Integer.signum(compare(a, b));
        }

        public Integer invoke(byte[] a, byte[] b) {
            return a == null || b == null ? null : Integer.signum(compare(a, b));
        }
    }

    /** Bytes whose unsigned order is the value's order, for Spark's aggregates. */
    public static final class Rank extends InvokeFunction<byte[]> {
        public Rank(DataType type) {
            super(DataTypes.BinaryType, type);
        }

        public byte[] invoke(UTF8String text) {
            if (text == null) {
                return null;
            }
            byte[] bytes = text.getBytes();
            byte[] rank = bytes;
            for (int i = 0; i < bytes.length; i++) {
                // first bytes only: what follows them is below
                int first = bytes[i] & 0xFF;
                if (first >= LAST_BLOCK && first < BEYOND) {
                    rank = rank == bytes ? bytes.clone() : rank;
                    rank[i] = (byte) (first + 0x10);
                }
            }
            return rank;
        }

        public byte[] invoke(byte[] bytes) {
            if (bytes == null) {
                return null;
            }
            byte[] rank = bytes.clone();
            for (int i = 0; i < rank.length; i++) {
                rank[i] ^= (byte) 0x80;
            }
            return rank;
        }
    }

    /** The text of a rank. */
    public static final class RankedText extends InvokeFunction<UTF8String> {
        public RankedText() {
            super(DataTypes.StringType, DataTypes.BinaryType);
        }

        public UTF8String invoke(byte[] rank) {
            if (rank == null) {
                return null;
            }
            byte[] bytes = rank;
            for (int i = 0; i < rank.length; i++) {
                int first = rank[i] & 0xFF;
                if (first >= LAST_BLOCK + 0x10) {
                    bytes = bytes == rank ? rank.clone() : bytes;
                    bytes[i] = (byte) (first - 0x10);
                }
            }
            return UTF8String.fromBytes(bytes);
        }
    }

    /** (array, descending): the elements in order, NULLs last. */
    public static final class Sort extends InvokeFunction<ArrayData> {
        private final DataType element;

        public Sort(DataType element) {
            super(
                    DataTypes.createArrayType(element),
                    DataTypes.createArrayType(element),
                    DataTypes.BooleanType);
            this.element = element;
        }

        public ArrayData invoke(ArrayData array, boolean descending) {
            if (array == null) {
                return null;
            }
            Object[] values = values(array, element);
            Comparator<Object> order = of(element);
            Arrays.sort(values, Comparator.nullsLast(descending ? order.reversed() : order));
            return new GenericArrayData(values);
        }
    }

    /** The greater or the smaller of two values; NULLs are ignored. */
    public static final class OfTwo extends InvokeFunction<Object> {
        private final boolean greater;

        public OfTwo(DataType type, boolean greater) {
            super(type, type, type);
            this.greater = greater;
        }

        public UTF8String invoke(UTF8String a, UTF8String b) {
            return b == null || a != null && compare(a, b) >= 0 == greater ? a : b;
        }

        public byte[] invoke(byte[] a, byte[] b) {
            return b == null || a != null && compare(a, b) >= 0 == greater ? a : b;
        }

        @Override
        public boolean equals(Object other) {
            return super.equals(other) && ((OfTwo) other).greater == greater;
        }

        @Override
        public int hashCode() {
            return super.hashCode() + (greater ? 1 : 0);
        }
    }

    /** (array of STRING, greatest): its greatest or smallest element; NULLs are ignored. */
    public static final class ExtremeText extends InvokeFunction<UTF8String> {
        public ExtremeText() {
            super(
                    DataTypes.StringType,
                    DataTypes.createArrayType(DataTypes.StringType),
                    DataTypes.BooleanType);
        }

        public UTF8String invoke(ArrayData array, boolean greatest) {
            UTF8String best = null;
            for (int i = 0; array != null && i < array.numElements(); i++) {
                UTF8String value = array.isNullAt(i) ? null : array.getUTF8String(i);
                if (value != null && (best == null || compare(value, best) > 0 == greatest)) {
                    best = value;
                }
            }
            return best;
        }
    }

    /** (array of BYTES, greatest). */
    public static final class ExtremeBytes extends InvokeFunction<byte[]> {
        public ExtremeBytes() {
            super(
                    DataTypes.BinaryType,
                    DataTypes.createArrayType(DataTypes.BinaryType),
                    DataTypes.BooleanType);
        }

        public byte[] invoke(ArrayData array, boolean greatest) {
            byte[] best = null;
            for (int i = 0; array != null && i < array.numElements(); i++) {
                byte[] value = array.isNullAt(i) ? null : array.getBinary(i);
                if (value != null && (best == null || compare(value, best) > 0 == greatest)) {
                    best = value;
                }
            }
            return best;
        }
    }

    private static Object[] values(ArrayData array, DataType element) {
        Object[] values = new Object[array.numElements()];
        for (int i = 0; i < values.length; i++) {
            values[i] = array.isNullAt(i) ? null : array.get(i, element);
        }
        return values;
    }
}
