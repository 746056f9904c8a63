package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.testing.InMemoryStatefulProcessorHandle;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.util.SystemClock;
import org.junit.jupiter.api.Test;
import org.ksqlspark.internals.state.BeforeCommit;

import java.util.List;

/** What operators share. */
class KeyedOperatorTest {
    private final InMemoryStatefulProcessorHandle handle =
            new InMemoryStatefulProcessorHandle(TimeMode.None(), new SystemClock());

    private final KeyedOperator operator = new TableChanges();

    private void process(int task, long... times) {
        for (long time : times) {
            Row row = RowFactory.create(task, new byte[] {1}, 0, time, new byte[] {2}, null);
            scala.collection.Iterator<Row> rows =
                    scala.jdk.javaapi.CollectionConverters.asScala(List.of(row).iterator());
            BeforeCommit.with(
                    task, () -> operator.handleInputRows(task, rows, null).foreach(done -> done));
        }
    }

    private void assertClock(int task, long time) {
        BeforeCommit.with(
                task, () -> assertEquals(time, handle.<Long>peekValueState("clock").get()));
    }

    /** Nobody calls before a commit here, so nothing may be held back. */
    @Test
    void whereACommitIsNotAnnouncedEachRecordIsWritten() {
        operator.setHandle(handle);
        operator.init(OutputMode.Update(), TimeMode.None());
        process(1, 10, 30, 20);
        assertClock(1, 30);
        process(2, 5);
        assertClock(1, 30);
        assertClock(2, 5);
        process(1, 25, 40);
        assertClock(1, 40);
        operator.close();
    }
}
