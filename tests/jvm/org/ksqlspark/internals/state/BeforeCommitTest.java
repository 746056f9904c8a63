package org.ksqlspark.internals.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl;
import org.apache.spark.sql.streaming.TimeMode;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** What we rely on in Spark: that states are asked to remove what has expired before a commit. */
class BeforeCommitTest {
    private static StatefulProcessorHandleImpl handle() {
        scala.collection.immutable.Map<String, SQLMetric> metrics =
                new scala.collection.immutable.Map.Map1<>(
                        "numValuesRemovedDueToTTLExpiry", new SQLMetric("sum", 0));
        return new StatefulProcessorHandleImpl(
                null,
                UUID.randomUUID(),
                null,
                TimeMode.None(),
                true,
                scala.Option.apply(1L),
                scala.Option.empty(),
                metrics,
                scala.Option.empty());
    }

    @Test
    void itIsCalled() {
        StatefulProcessorHandleImpl handle = handle();
        int[] calls = {0};
        assertTrue(BeforeCommit.call(handle, () -> calls[0]++));
        handle.doTtlCleanup(); // what TransformWithStateExec does before the commit
        assertEquals(1, calls[0]);
    }

    @Test
    void whatFailsFailsTheTask() {
        StatefulProcessorHandleImpl handle = handle();
        BeforeCommit.call(
                handle,
                () -> {
                    throw new IllegalStateException("no");
                });
        assertThrows(IllegalStateException.class, handle::doTtlCleanup);
    }

    @Test
    void otherHandlesAreLeftAlone() {
        assertFalse(BeforeCommit.call(null, () -> {}));
    }

    @Test
    void theKeyAtHandIsPutBack() {
        List<Object> seen = new ArrayList<>();
        Runnable look = () -> seen.add(ImplicitGroupingKeyTracker.getImplicitKeyOption().get());
        BeforeCommit.with(1, () -> BeforeCommit.with(2, look));
        BeforeCommit.with(
                1,
                () -> {
                    BeforeCommit.with(2, look);
                    look.run();
                });
        assertEquals(List.of(2, 2, 1), seen);
        assertTrue(ImplicitGroupingKeyTracker.getImplicitKeyOption().isEmpty());
    }
}
