package org.ksqlspark.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class QueryRunTest {
    private static final String NAME = "query-run-test";

    private final QueryRun run = QueryRun.of(NAME, 0);

    @AfterEach
    void release() {
        QueryRun.release(NAME);
    }

    @Test
    void sourcesOfOneMicroBatchReadAllOrNone() {
        assertTrue(run.isReading("left"));
        run.drain();
        assertTrue(run.isReading("right"), "draining began in the middle of a round");
        assertFalse(run.isReading("left"));
        assertFalse(run.isReading("right"));
    }

    @Test
    void isDrainedOnceTheRoundInWhichDrainingBeganIsOver() {
        run.isReading("first");
        run.drain();
        run.isReading("second");
        run.isReading("third");
        assertFalse(run.isDrained(), "what the first has reported is still to be processed");
        run.isReading("first");
        assertTrue(run.isDrained());
    }

    @Test
    void isDrainedByTheFirstRoundWhereDrainingBeganBetweenTwo() {
        run.isReading("only");
        assertEquals(-1, run.drain());
        assertFalse(run.isDrained());
        run.isReading("only");
        assertTrue(run.isDrained());
    }
}
