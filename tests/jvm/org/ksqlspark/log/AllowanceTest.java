package org.ksqlspark.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class AllowanceTest {
    @Test
    void aLoggerWritesSoMuchASecondAndReportsTheRestOnce() {
        Allowance allowance = new Allowance();
        for (int i = 0; i < Allowance.MAX_PER_SECOND; i++) {
            assertTrue(allowance.take(100));
        }
        assertFalse(allowance.take(100));
        assertFalse(allowance.take(100));
        assertEquals(0, allowance.report(100, false), "the second is not over");
        assertEquals(2, allowance.report(101, false));
        assertEquals(0, allowance.report(101, false));
        assertTrue(allowance.take(101));
    }

    @Test
    void aClosingLogReportsAtOnce() {
        Allowance allowance = new Allowance();
        allowance.take(100);
        allowance.leaveOut();
        assertEquals(1, allowance.report(100, true));
    }
}
