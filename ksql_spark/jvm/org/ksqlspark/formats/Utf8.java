package org.ksqlspark.formats;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Texts in records, whose bytes need not be UTF-8. */
final class Utf8 {
    /** Eight bytes at once, which takes an eighth of the time. */
    private static final VarHandle LONGS =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private static final long NOT_ASCII = 0x8080808080808080L;

    private Utf8() {}

    /**
     * A text as ksqlDB reads it: what is not UTF-8 becomes U+FFFD. UTF8String.makeValid would make
     * three of half a character, and Java makes one.
     */
    static UTF8String replaced(byte[] data, int from, int size) {
        return isValid(data, from, size)
                ? UTF8String.fromBytes(data, from, size)
                : UTF8String.fromString(new String(data, from, size, StandardCharsets.UTF_8));
    }

    /** Whether all these bytes are UTF-8; most texts are ASCII, which is seen sooner. */
    static boolean isValid(byte[] data, int from, int size) {
        return isAscii(data, from, from + size) || UTF8String.fromBytes(data, from, size).isValid();
    }

    private static boolean isAscii(byte[] data, int from, int to) {
        int at = from;
        for (; at <= to - Long.BYTES; at += Long.BYTES) {
            if (((long) LONGS.get(data, at) & NOT_ASCII) != 0) {
                return false;
            }
        }
        for (; at < to; at++) {
            if (data[at] < 0) {
                return false;
            }
        }
        return true;
    }

    /** The format KAFKA's STRING. */
    static final class Decode extends FormatFunction<UTF8String> {
        Decode() {
            super("kafka_decode", DataTypes.StringType, DataTypes.BinaryType);
        }

        @Override
        public UTF8String produceResult(InternalRow input) {
            if (input.isNullAt(0)) {
                return null;
            }
            byte[] data = input.getBinary(0);
            return replaced(data, 0, data.length);
        }
    }
}
