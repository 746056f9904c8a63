package org.ksqlspark.formats;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;

class Utf8Test {
    @Test
    void aByteThatIsNotUtf8IsSeenAtEachPlace() {
        for (int size = 0; size < 40; size++) {
            byte[] data = "x".repeat(size + 6).getBytes(StandardCharsets.UTF_8);
            assertTrue(Utf8.isValid(data, 3, size));
            for (int at = 0; at < data.length; at++) {
                data[at] = (byte) 0xff;
                assertEquals(at < 3 || at >= 3 + size, Utf8.isValid(data, 3, size));
                data[at] = 'x';
            }
        }
    }

    @Test
    void textsBeyondAsciiAreValid() {
        byte[] data = "eight bytes, é, € and 😀".getBytes(StandardCharsets.UTF_8);
        assertTrue(Utf8.isValid(data, 0, data.length));
        assertFalse(Utf8.isValid(data, 0, data.length - 1));
    }
}
