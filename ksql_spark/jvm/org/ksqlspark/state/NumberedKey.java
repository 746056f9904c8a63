package org.ksqlspark.state;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** The bytes of a number, such as a time or that of a window, and a key behind it. */
final class NumberedKey {
    private NumberedKey() {}

    static byte[] of(long number, byte[] key) {
        return ByteBuffer.allocate(Long.BYTES + key.length).putLong(number).put(key).array();
    }

    static byte[] key(byte[] numbered) {
        return Arrays.copyOfRange(numbered, Long.BYTES, numbered.length);
    }

    /** Whether it has this key, with whatever number. */
    static boolean has(byte[] numbered, byte[] key) {
        return Arrays.equals(numbered, Long.BYTES, numbered.length, key, 0, key.length);
    }
}
