package org.ksqlspark.ownership;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class OwnershipTest {
    @AfterEach
    void release() {
        Ownership.release();
    }

    @Test
    void whoIsAloneMayAlwaysWrite() {
        assertDoesNotThrow(Ownership::check);
    }

    @Test
    void mayWriteUntilTheConfirmationEnds() {
        Ownership.confirm(Ownership.now(), 3600);
        assertDoesNotThrow(Ownership::check);
        Ownership.confirm(Ownership.now() - 6_000_000_000L, 5);
        assertThrows(IllegalStateException.class, Ownership::check);
        Ownership.confirm(Ownership.now(), 3600);
        assertDoesNotThrow(Ownership::check);
    }

    @Test
    void anotherJvmMayWriteNoLonger() {
        long asked = Ownership.now();
        Ownership.confirm(asked, 3600);
        long left = Ownership.left();
        Ownership.follow(asked, left);
        assertTrue(Ownership.left() <= left);
        assertDoesNotThrow(Ownership::check);
        Ownership.confirm(Ownership.now() - 6_000_000_000L, 5);
        Ownership.follow(Ownership.now(), Ownership.left());
        assertThrows(IllegalStateException.class, Ownership::check);
        Ownership.release();
        Ownership.follow(asked, Ownership.left());
        assertDoesNotThrow(Ownership::check);
        assertEquals(Long.MAX_VALUE, Ownership.left());
    }
}
