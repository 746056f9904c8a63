package org.ksqlspark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class IdleWaitTest {
    @Test
    void anEmptyPartitionIsWaitedForOnce() {
        IdleWait wait = new IdleWait(2000);
        assertEquals(2000, wait.left(100));
        assertEquals(500, wait.left(1600));
        assertEquals(0, wait.left(2100));
        assertEquals(0, wait.left(9000));
    }

    @Test
    void itIsWaitedForAgainOnceItHadSomething() {
        IdleWait wait = new IdleWait(2000);
        wait.left(100);
        wait.end();
        assertEquals(2000, wait.left(9000));
        assertEquals(1, wait.left(10_999));
    }

    @Test
    void nothingIsWaitedForWithoutTheProperty() {
        assertEquals(0, new IdleWait(0).left(100));
        assertEquals(0, new IdleWait(-1).left(100));
    }
}
