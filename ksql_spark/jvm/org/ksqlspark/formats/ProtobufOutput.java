package org.ksqlspark.formats;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Protobuf's wire format, written to an array that grows. CodedOutputStream wants to know the
 * length of a message before it writes it, or the size of the array.
 */
final class ProtobufOutput {
    private static final int MAX_VARINT = 10;
    private static final VarHandle INTS =
            MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle LONGS =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private byte[] bytes = new byte[128];
    private int size;

    void clear() {
        size = 0;
    }

    /** What was written, after other bytes. */
    byte[] after(byte[] first) {
        byte[] made = Arrays.copyOf(first, first.length + size);
        System.arraycopy(bytes, 0, made, first.length, size);
        return made;
    }

    private void reserve(int count) {
        if (bytes.length - size < count) {
            int least = Math.addExact(size, count);
            bytes = Arrays.copyOf(bytes, Math.max(least, 2 * bytes.length));
        }
    }

    void varint(long number) {
        reserve(MAX_VARINT);
        if ((number & ~0x7FL) == 0) { // as most are
            bytes[size++] = (byte) number;
        } else {
            size = varint(size, number);
        }
    }

    private int varint(int place, long number) {
        int at = place;
        long left = number;
        while ((left & ~0x7FL) != 0) {
            bytes[at++] = (byte) (left | 0x80);
            left >>>= 7;
        }
        bytes[at++] = (byte) left;
        return at;
    }

    /** A number with a sign, as sint32 and sint64 have it. */
    void zigZag(long number) {
        varint(number << 1 ^ number >> 63);
    }

    void fixed32(int number) {
        reserve(Integer.BYTES);
        INTS.set(bytes, size, number);
        size += Integer.BYTES;
    }

    void fixed64(long number) {
        reserve(Long.BYTES);
        LONGS.set(bytes, size, number);
        size += Long.BYTES;
    }

    void zeros(int count) {
        reserve(count);
        Arrays.fill(bytes, size, size + count, (byte) 0);
        size += count;
    }

    /** A length, and so many bytes. */
    void bytes(byte[] given) {
        varint(given.length);
        reserve(given.length);
        System.arraycopy(given, 0, bytes, size, given.length);
        size += given.length;
    }

    /** A field with a number; none for 0. */
    void field(int tagNumber, long number) {
        if (number != 0) {
            varint(tagNumber << 3);
            varint(number);
        }
    }

    /** Begins what follows its length; returns what {@code end} needs. */
    int begin() {
        reserve(1); // enough for most lengths
        return ++size;
    }

    void end(int start) {
        int length = size - start;
        int more = (Integer.SIZE - 1 - Integer.numberOfLeadingZeros(length | 1)) / 7;
        if (more > 0) {
            reserve(more);
            System.arraycopy(bytes, start, bytes, start + more, length);
            size += more;
        }
        varint(start - 1, length);
    }
}
