package org.ksqlspark.formats;

import org.apache.spark.unsafe.types.UTF8String;

import java.nio.charset.StandardCharsets;

/** Texts in records, whose bytes need not be UTF-8. */
final class Utf8 {
    private Utf8() {}

    /**
     * A text as ksqlDB reads it: what is not UTF-8 becomes U+FFFD. UTF8String.makeValid would make
     * three of half a character, and Java makes one.
     */
    static UTF8String replaced(byte[] data, int from, int size) {
        UTF8String text = UTF8String.fromBytes(data, from, size);
        return isValid(text)
                ? text
                : UTF8String.fromString(new String(data, from, size, StandardCharsets.UTF_8));
    }

    /** Whether all its bytes are UTF-8; most texts are ASCII, which is seen sooner. */
    static boolean isValid(UTF8String text) {
        return text.isFullAscii() || text.isValid();
    }
}
