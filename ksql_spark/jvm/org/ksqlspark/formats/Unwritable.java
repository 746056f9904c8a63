package org.ksqlspark.formats;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * In the place of a key's or value's bytes: why the row cannot be written (reference §5.8). The
 * encoders of registered schemas make it, and the sink leaves such a record out. A query has no
 * other way to tell its sink of one row.
 */
public final class Unwritable {
    /** No format begins with these bytes, nor does other data by chance. */
    private static final byte[] MARK = {
        -1, 'k', 's', 'q', 'l', 0x5e, -0x2d, 0x71, -0x14, 0x0b, -0x6a, 0x3f, -0x59, 0x22, -0x7c, -1
    };

    private Unwritable() {}

    /** The bytes that say so. */
    static byte[] because(RuntimeException unfit) {
        byte[] reason = String.valueOf(unfit.getMessage()).getBytes(StandardCharsets.UTF_8);
        byte[] made = Arrays.copyOf(MARK, MARK.length + reason.length);
        System.arraycopy(reason, 0, made, MARK.length, reason.length);
        return made;
    }

    /** The reason that bytes give; null: they are those of a key or value, or null. */
    public static String reason(byte[] bytes) {
        if (bytes == null
                || bytes.length < MARK.length
                || !Arrays.equals(bytes, 0, MARK.length, MARK, 0, MARK.length)) {
            return null;
        }
        return new String(bytes, MARK.length, bytes.length - MARK.length, StandardCharsets.UTF_8);
    }

    /** What does not fit, with the name of the field where it is. */
    static IllegalArgumentException at(String field, RuntimeException unfit) {
        return new IllegalArgumentException(field + ": " + unfit.getMessage(), unfit);
    }
}
