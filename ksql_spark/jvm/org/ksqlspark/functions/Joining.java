package org.ksqlspark.functions;

import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** Texts and byte strings one after another. */
public final class Joining {
    private static final UTF8String NULL = UTF8String.fromString("null");

    private Joining() {}

    /** (left, right): + of two STRINGs. */
    public static final class Append extends LimitedFunction<UTF8String> {
        public Append(Limits limits) {
            super(limits, DataTypes.StringType, DataTypes.StringType, DataTypes.StringType);
        }

        public UTF8String invoke(UTF8String left, UTF8String right) {
            if (left == null || right == null) {
                return null;
            }
            return limits.allowBytes((long) left.numBytes() + right.numBytes())
                    ? UTF8String.concat(left, right)
                    : null;
        }
    }

    /**
     * (separator, ARRAY): CONCAT, CONCAT_WS and ARRAY_JOIN. NULLs in the array are left out, or
     * shown as null.
     */
    public static final class Join extends LimitedFunction<Object> {
        private final boolean showsNulls;

        /**
         * @param type STRING or BYTES
         */
        public Join(Limits limits, DataType type, boolean showsNulls) {
            super(limits, type, type, DataTypes.createArrayType(type));
            this.showsNulls = showsNulls;
        }

        public UTF8String invoke(UTF8String separator, ArrayData texts) {
            if (separator == null || texts == null) {
                return null;
            }
            UTF8String[] parts = new UTF8String[texts.numElements()];
            long size = -separator.numBytes();
            for (int i = 0; i < parts.length; i++) {
                if (!texts.isNullAt(i)) {
                    parts[i] = texts.getUTF8String(i);
                } else if (showsNulls) {
                    parts[i] = NULL;
                } else {
                    continue;
                }
                size += separator.numBytes() + parts[i].numBytes();
            }
            return limits.allowBytes(size) ? UTF8String.concatWs(separator, parts) : null;
        }

        public byte[] invoke(byte[] separator, ArrayData values) {
            if (separator == null || values == null) {
                return null;
            }
            byte[][] parts = new byte[values.numElements()][];
            long size = -separator.length;
            for (int i = 0; i < parts.length; i++) {
                if (!values.isNullAt(i)) {
                    parts[i] = values.getBinary(i);
                    size += separator.length + parts[i].length;
                }
            }
            return limits.allowBytes(size)
                    ? joined(separator, parts, (int) Math.max(size, 0))
                    : null;
        }

        private static byte[] joined(byte[] separator, byte[][] parts, int size) {
            byte[] all = new byte[size];
            int at = 0;
            boolean isFirst = true;
            for (byte[] part : parts) {
                if (part == null) {
                    continue;
                }
                if (!isFirst) {
                    System.arraycopy(separator, 0, all, at, separator.length);
                    at += separator.length;
                }
                System.arraycopy(part, 0, all, at, part.length);
                at += part.length;
                isFirst = false;
            }
            return all;
        }

        @Override
        public boolean equals(Object other) {
            return super.equals(other)
                    && ((Join) other).showsNulls == showsNulls
                    && ((Join) other).resultType().equals(resultType());
        }

        @Override
        public int hashCode() {
            return super.hashCode() + (showsNulls ? 1 : 0) + resultType().hashCode();
        }
    }
}
