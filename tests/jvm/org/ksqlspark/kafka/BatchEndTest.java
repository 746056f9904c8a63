package org.ksqlspark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

final class BatchEndTest {
    private static final long LENGTH = 30_000;

    /** Batches of other tests' queries ended long before. */
    private static long now = 1_000_000_000;

    private static BatchEnd second(long begin) {
        BatchEnd end = new BatchEnd(LENGTH);
        end.begin(begin - LENGTH);
        end.begin(begin);
        return end;
    }

    @Test
    void endsInAQuietMomentAfterItsTime() {
        now += 1_000_000;
        BatchEnd end = second(now);
        assertEquals(now + LENGTH, end.due(1));
        assertFalse(end.isOver(now + LENGTH - 1, now, 10));
        assertFalse(end.isOver(now + LENGTH, now + LENGTH - 1, 10));
        assertTrue(end.isOver(now + LENGTH + 100, now + LENGTH, 10));
    }

    @Test
    void endsWithoutAQuietMomentInTheEnd() {
        now += 1_000_000;
        BatchEnd end = second(now);
        long last = now + LENGTH * 3 / 2;
        assertFalse(end.isOver(last - 1, last - 1, 10));
        assertTrue(end.isOver(last, last, 10));
    }

    @Test
    void doesNotEndTogetherWithAnother() {
        now += 1_000_000;
        BatchEnd one = second(now);
        BatchEnd two = second(now);
        long due = now + LENGTH;
        assertTrue(one.isOver(due, now, 10));
        assertFalse(two.isOver(due + 100, now, 10));
        assertTrue(two.isOver(due + 300, now, 10));
    }

    @Test
    void endsWhenMuchWasRead() {
        now += 1_000_000;
        BatchEnd end = second(now);
        assertFalse(end.isOver(now + 1, now, 4_999_999));
        assertTrue(end.isOver(now + 1, now + 1, 5_000_000));
    }

    @Test
    void lastsLongerWhileItReadsNothing() {
        now += 1_000_000;
        BatchEnd end = second(now);
        assertEquals(now + 4 * LENGTH, end.due(0));
        assertFalse(end.isOver(now + 4 * LENGTH - 1, now, 0));
        assertTrue(end.isOver(now + 4 * LENGTH, now, 0));
        assertTrue(second(now + 500).isOver(now + 4 * LENGTH + 400, now, 1));
    }

    @Test
    void theFirstOneIsShorterByUpToAHalf() {
        now += 1_000_000;
        for (int i = 0; i < 100; i++) {
            BatchEnd end = new BatchEnd(LENGTH);
            end.begin(now);
            assertTrue(end.due(1) > now + LENGTH / 2 && end.due(1) <= now + LENGTH);
        }
    }

    @Test
    void withoutALengthItNeverEnds() {
        BatchEnd end = new BatchEnd(0);
        end.begin(now);
        assertFalse(end.isOver(now + 1_000_000_000, 0, 10_000_000));
    }
}
