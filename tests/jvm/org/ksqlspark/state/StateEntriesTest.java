package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

import java.util.Map;

/** Which counts of entries belong together, and which is the latest. */
class StateEntriesTest {
    private static final StateEntries.Query QUERY = new StateEntries.Query("server", "Q");
    private static final StateEntries.Store FIRST = new StateEntries.Store("run", 0, 0);

    @Test
    void entriesOfAllStoresOfARunAreAdded() {
        StateEntries.set(QUERY, FIRST, 3);
        StateEntries.set(QUERY, FIRST, 5);
        StateEntries.set(QUERY, new StateEntries.Store("run", 0, 1), 7);
        StateEntries.set(QUERY, new StateEntries.Store("other", 0, 0), 100);
        assertEquals(12, StateEntries.of("server", "Q", "run"));
        assertEquals(0, StateEntries.of("another", "Q", "run"));
        StateEntries.forget("server", "Q");
        assertEquals(0, StateEntries.of("server", "Q", "run"));
    }

    @Test
    void whatWasTakenIsThereOnceItIsAdded() {
        StateEntries.set(QUERY, FIRST, 3);
        Map<StateEntries.Query, Map<StateEntries.Store, StateEntries.Count>> taken =
                StateEntries.take();
        assertEquals(0, StateEntries.of("server", "Q", "run"));
        StateEntries.add(taken);
        assertEquals(3, StateEntries.of("server", "Q", "run"));
        StateEntries.forget("server", "Q");
    }

    @Test
    void theLaterCountOfAStoreThatMovedStays() {
        StateEntries.set(QUERY, FIRST, 3);
        long now = System.currentTimeMillis();
        StateEntries.add(Map.of(QUERY, Map.of(FIRST, new StateEntries.Count(1, now - 1000))));
        assertEquals(3, StateEntries.of("server", "Q", "run"));
        StateEntries.add(Map.of(QUERY, Map.of(FIRST, new StateEntries.Count(9, now + 1000))));
        assertEquals(9, StateEntries.of("server", "Q", "run"));
        StateEntries.forget("server", "Q");
    }
}
