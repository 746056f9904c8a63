package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.sql.Row;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * After an idle timeout, what waits for stream time waits until its end has passed by the clock.
 */
class IdleTest {
    private static final long MINUTE = 60_000;
    private static final long GRACE = 60 * MINUTE;

    static Stream<KeyedOperator> operators() {
        return Stream.of(
                new WindowAggregate(
                        Aggregates.greatest(),
                        Windows.of("TUMBLING", MINUTE, MINUTE, "", ""),
                        0,
                        GRACE,
                        true,
                        false),
                new SliceAggregate(Aggregates.greatest(), MINUTE, MINUTE / 2, GRACE, true),
                new SessionAggregate(Aggregates.greatest(), MINUTE, GRACE, true),
                new SlidingAggregate(Aggregates.greatest(), MINUTE, GRACE, true),
                new StreamStreamJoin(true, false, false, null, MINUTE, MINUTE, GRACE),
                new VersionedTableJoin(true, null, GRACE));
    }

    /** The keys of the results that a heartbeat brings once the timeout is over. */
    private static Set<Integer> afterIdle(KeyedOperator operator) {
        for (long began = System.currentTimeMillis(); System.currentTimeMillis() < began + 2; ) {
            Thread.onSpinWait(); // until the timeout is over
        }
        Set<Integer> keys = new TreeSet<>();
        for (Row row :
                TaskStates.process(operator, new byte[0], KeyedOperator.HEARTBEAT, 0, null)) {
            keys.add((int) row.<byte[]>getAs(0)[0]);
        }
        return keys;
    }

    @ParameterizedTest
    @MethodSource("operators")
    void onlyWhatIsOldEnoughCloses(KeyedOperator operator) {
        operator.closeAfter(1);
        new TaskStates().start(operator);
        long now = System.currentTimeMillis();
        for (int key : List.of(1, 2)) {
            long time = key == 1 ? now - GRACE - 3 * MINUTE : now - GRACE / 2;
            assertEquals(
                    List.of(),
                    TaskStates.process(
                            operator, new byte[] {(byte) key}, 0, time, Aggregates.record()));
        }
        assertEquals(Set.of(1), afterIdle(operator));
        assertEquals(Set.of(), afterIdle(operator));
    }

    @ParameterizedTest
    @MethodSource("operators")
    void historyClosesAtOnce(KeyedOperator operator) {
        operator.closeAfter(1);
        new TaskStates().start(operator);
        TaskStates.process(operator, new byte[] {1}, 0, 1_000_000, Aggregates.record());
        assertEquals(Set.of(1), afterIdle(operator));
    }
}
