package org.ksqlspark.cluster;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;

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
}
