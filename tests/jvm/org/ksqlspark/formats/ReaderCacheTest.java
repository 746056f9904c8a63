package org.ksqlspark.formats;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

class ReaderCacheTest {
    private final List<Object> made = new ArrayList<>();
    private final ReaderCache<String> cache =
            new ReaderCache<>(
                    key -> {
                        made.add(key);
                        return "reader of " + key;
                    });

    @Test
    void aReaderIsMadeOnce() {
        assertSame(cache.byId(1), cache.byId(1));
        assertEquals("reader of 2", cache.byId(2));
        assertEquals("reader of 1", cache.byId(1));
        assertSame(cache.byId(1), cache.by(1));
        assertEquals(List.of(1, 2), made);
    }

    @Test
    void manySchemasAreNotAllKept() {
        for (int id = 0; id < 3000; id++) {
            cache.byId(id);
        }
        assertEquals("reader of 0", cache.byId(0));
        assertEquals(3001, made.size());
    }

    @Test
    void aSchemaThatFailsIsAskedForAgain() {
        ReaderCache<String> failing =
                new ReaderCache<>(
                        key -> {
                            made.add(key);
                            throw new IllegalStateException();
                        });
        assertThrows(IllegalStateException.class, () -> failing.byId(1));
        assertThrows(IllegalStateException.class, () -> failing.byId(1));
        assertEquals(2, made.size());
    }
}
