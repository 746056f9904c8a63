package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.streaming.MapState;
import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** What a cache reads and writes, and that nobody who looks through it sees anything else. */
class StateCacheTest {
    private static final int LARGE = 1_000_000;

    private static StateCache cache(CacheBudget budget) {
        StateCache made = new StateCache(budget, (task, write) -> write.run());
        made.task(0);
        return made;
    }

    private final CacheBudget budget = new CacheBudget(LARGE);
    private final StateCache cache = cache(budget);
    private final Store<byte[]> store = new Store<>();
    private final MapState<byte[], byte[]> state = cache.over(store);

    private static byte[] bytes(int... values) {
        byte[] bytes = new byte[values.length];
        for (int i = 0; i < values.length; i++) {
            bytes[i] = (byte) values[i];
        }
        return bytes;
    }

    @Test
    void anEntryIsReadOnceAndWrittenOnce() {
        for (int i = 0; i < 100; i++) {
            byte[] old = state.getValue(bytes(1));
            assertEquals(i, old == null ? 0 : old[0]);
            state.updateValue(bytes(1), bytes(i + 1));
        }
        assertEquals(0, store.writes);
        assertTrue(cache.isAhead());
        cache.write();
        assertFalse(cache.isAhead());
        assertArrayEquals(bytes(100), store.values.get(ByteBuffer.wrap(bytes(1))));
        cache.write();
        assertEquals(1, store.reads);
        assertEquals(1, store.writes);
    }

    @Test
    void keysThatAreNotThereAreAskedForOnce() {
        assertNull(state.getValue(bytes(1)));
        assertFalse(state.containsKey(bytes(1)));
        assertEquals(1, store.reads);
    }

    @Test
    void whatCameAndWentIsNeverWritten() {
        assertNull(state.getValue(bytes(1)));
        state.updateValue(bytes(1), bytes(7));
        state.removeKey(bytes(1));
        assertNull(state.getValue(bytes(1)));
        assertFalse(cache.isAhead());
        cache.write();
        assertEquals(0, store.writes);
    }

    @Test
    void whatMayBeInTheStoreIsRemovedThere() {
        store.values.put(ByteBuffer.wrap(bytes(1)), bytes(7));
        store.values.put(ByteBuffer.wrap(bytes(2)), bytes(8));
        state.updateValue(bytes(1), bytes(9)); // without a look at the store
        state.removeKey(bytes(1));
        state.removeKey(bytes(2));
        assertNull(state.getValue(bytes(1)));
        assertNull(state.getValue(bytes(2)));
        cache.write();
        assertTrue(store.values.isEmpty());
    }

    @Test
    void whatWasInsertedAndRemovedIsNeverWritten() {
        StateCache.Cached<byte[]> known = cache.over(store);
        known.insert(bytes(1), bytes(7));
        assertArrayEquals(bytes(7), known.held(bytes(1)));
        known.removeKey(bytes(1));
        assertNull(known.held(bytes(1)));
        cache.write();
        assertEquals(0, store.reads + store.writes);
    }

    @Test
    void itKnowsWhatItNoLongerHas() {
        CacheBudget tight = new CacheBudget(2 * (StateCache.OVERHEAD + 2));
        StateCache small = cache(tight);
        StateCache.Cached<byte[]> known = small.over(store);
        known.insert(bytes(1), bytes(1));
        known.insert(bytes(2), bytes(2));
        assertEquals(0, small.gone());
        known.insert(bytes(3), bytes(3));
        assertEquals(1, small.gone());
        assertNull(known.held(bytes(1)));
        assertArrayEquals(bytes(1), known.getValue(bytes(1)));
    }

    @Test
    void aScanOfNewKeysLeavesWhatIsReadAgain() {
        StateCache small = cache(new CacheBudget(10 * (StateCache.OVERHEAD + 2)));
        StateCache.Cached<byte[]> seen = small.over(store);
        for (int i = 0; i < 4; i++) {
            seen.getValue(bytes(1));
            seen.updateValue(bytes(1), bytes(i));
        }
        for (int key = 10; key < 40; key++) {
            seen.getValue(bytes(key));
            seen.updateValue(bytes(key), bytes(key));
        }
        assertArrayEquals(bytes(3), seen.held(bytes(1)));
        for (int key = 40; key < 80; key++) {
            seen.getValue(bytes(key));
        }
        assertNull(seen.held(bytes(1)), "nobody asked for it any more");
        assertArrayEquals(bytes(3), seen.getValue(bytes(1)));
    }

    @Test
    void anEntryThatGrowsMayGoItself() {
        CacheBudget tight = new CacheBudget(2 * (StateCache.OVERHEAD + 20));
        StateCache small = cache(tight);
        StateCache.Cached<byte[]> seen = small.over(store);
        seen.updateValue(bytes(1), bytes(1));
        seen.updateValue(bytes(2), bytes(2));
        seen.getValue(bytes(2));
        seen.updateValue(bytes(1), new byte[100]);
        seen.updateValue(bytes(3), bytes(3));
        assertEquals(100, seen.getValue(bytes(1)).length);
        small.write();
        small.clear();
        assertEquals(0, tight.used());
        assertEquals(100, seen.getValue(bytes(1)).length);
    }

    @Test
    void itCountsWhatTheStoreGains() {
        store.values.put(ByteBuffer.wrap(bytes(1)), bytes(7));
        StateCache.Cached<byte[]> known = cache.over(store);
        known.updateValue(bytes(1), bytes(8)); // it was there, which nobody has looked up
        known.insert(bytes(2), bytes(8));
        known.updateValue(bytes(3), bytes(8));
        known.removeKey(bytes(4));
        assertEquals(0, cache.takeGrowth(), "nothing was written yet");
        cache.write();
        assertEquals(2, cache.takeGrowth());
        assertEquals(0, cache.takeGrowth());
        known.removeKey(bytes(1));
        known.removeKey(bytes(2));
        cache.write();
        assertEquals(-2, cache.takeGrowth());
    }

    @Test
    void tasksDoNotShareKeysAndEachIsWrittenAsItself() {
        List<Object> written = new ArrayList<>();
        StateCache two =
                new StateCache(
                        budget,
                        (task, write) -> {
                            written.add(task);
                            write.run();
                        });
        MapState<byte[], byte[]> seen = two.over(store);
        two.task(1);
        seen.updateValue(bytes(1), bytes(10));
        two.task(2);
        assertNull(seen.getValue(bytes(1)));
        seen.updateValue(bytes(1), bytes(20));
        two.task(1);
        assertArrayEquals(bytes(10), seen.getValue(bytes(1)));
        two.write();
        assertEquals(List.of(1, 2), written);
        two.close();
    }

    @Test
    void entriesAreWrittenInTheOrderOfTheirKeys() {
        List<byte[]> written = new ArrayList<>();
        MapState<byte[], byte[]> seen =
                cache.over(
                        new Store<>() {
                            @Override
                            public void updateValue(byte[] key, byte[] value) {
                                written.add(key);
                            }
                        });
        for (int i : List.of(5, -1, 3, 4)) {
            seen.updateValue(bytes(i), bytes(1));
        }
        cache.write();
        assertEquals(4, written.size());
        for (int i = 0; i < 4; i++) {
            assertArrayEquals(bytes(List.of(3, 4, 5, -1).get(i)), written.get(i));
        }
    }

    @Test
    void statesDoNotShareKeys() {
        Store<Long> numbers = new Store<>();
        MapState<byte[], Long> other = cache.over(numbers);
        state.updateValue(bytes(1), bytes(7));
        other.updateValue(bytes(1), 8L);
        assertArrayEquals(bytes(7), state.getValue(bytes(1)));
        assertEquals(8L, other.getValue(bytes(1)));
        cache.write();
        assertArrayEquals(bytes(7), store.values.get(ByteBuffer.wrap(bytes(1))));
        assertEquals(8L, numbers.values.get(ByteBuffer.wrap(bytes(1))));
    }

    @Test
    void whoeverIteratesSeesWhatWasWritten() {
        state.updateValue(bytes(1), bytes(7));
        assertTrue(state.exists());
        assertArrayEquals(bytes(7), state.iterator().next()._2());
        state.updateValue(bytes(2), bytes(8));
        assertEquals(2, state.keys().size());
        state.removeKey(bytes(1));
        assertArrayEquals(bytes(8), state.values().next());
        assertEquals(1, cache.takeGrowth());
    }

    @Test
    void whatWasUsedLongestAgoGoesFirst() {
        int size = StateCache.OVERHEAD + 2;
        budget.bound(2L * size);
        state.updateValue(bytes(1), bytes(1));
        state.updateValue(bytes(2), bytes(2));
        state.getValue(bytes(1));
        state.updateValue(bytes(3), bytes(3));
        assertEquals(1, store.writes);
        assertArrayEquals(bytes(2), store.values.get(ByteBuffer.wrap(bytes(2))));
        assertEquals(2L * size, budget.used());
        assertArrayEquals(bytes(1), state.getValue(bytes(1)));
        assertEquals(1, store.reads, "of the key that was written, to count it");
    }

    @Test
    void whatFitsNowhereGoesThrough() {
        budget.bound(StateCache.OVERHEAD + 10);
        byte[] large = new byte[100];
        state.updateValue(bytes(1), large);
        assertArrayEquals(large, store.values.get(ByteBuffer.wrap(bytes(1))));
        assertArrayEquals(large, state.getValue(bytes(1)));
        assertEquals(0, budget.used());
        state.updateValue(bytes(1), bytes(1)); // it fits, and grows
        state.updateValue(bytes(1), large);
        assertArrayEquals(large, store.values.get(ByteBuffer.wrap(bytes(1))));
        assertFalse(cache.isAhead());
        assertEquals(0, budget.used());
    }

    @Test
    void withoutABoundNothingIsKept() {
        budget.bound(0);
        state.updateValue(bytes(1), bytes(7));
        assertArrayEquals(bytes(7), state.getValue(bytes(1)));
        state.removeKey(bytes(1));
        assertTrue(store.values.isEmpty());
        assertEquals(0, budget.used());
    }

    @Test
    void whatIsForgottenIsGivenBack() {
        state.updateValue(bytes(1), bytes(7));
        assertTrue(budget.used() > 0);
        cache.close();
        cache.close();
        assertEquals(0, budget.used());
        assertEquals(0, store.writes);
    }

    @Test
    void aBusyCacheGivesRoomToAnother() {
        int size = StateCache.OVERHEAD + 2;
        budget.bound(16L * size);
        for (int i = 0; i < 16; i++) {
            state.updateValue(bytes(i), bytes(i));
        }
        assertEquals(16L * size, budget.used()); // alone it may have all of it
        StateCache newer = cache(budget);
        MapState<byte[], byte[]> its = newer.over(new Store<>());
        its.updateValue(bytes(1), bytes(1));
        assertFalse(newer.isAhead()); // there was no room, so it went through
        state.getValue(bytes(16));
        its.updateValue(bytes(1), bytes(1));
        assertTrue(newer.isAhead());
        assertTrue(budget.used() <= 16L * size);
        cache.close();
        newer.close();
        assertEquals(0, budget.used());
    }

    /** Any bound, any order of calls: the state is what it would be without a cache. */
    @Test
    void itIsNotToBeSeen() {
        Random random = new Random(1);
        for (int round = 0; round < 300; round++) {
            CacheBudget bound = new CacheBudget(random.nextInt(12) * 170L);
            Store<byte[]> kept = new Store<>();
            Map<ByteBuffer, byte[]> expected = new HashMap<>();
            long size = 0;
            for (int batch = 0; batch < 3; batch++) {
                StateCache tried = cache(bound);
                MapState<byte[], byte[]> seen = tried.over(kept);
                for (int i = 0; i < 200; i++) {
                    byte[] key = bytes(random.nextInt(10));
                    ByteBuffer place = ByteBuffer.wrap(key);
                    switch (random.nextInt(6)) {
                        case 0 -> {
                            seen.removeKey(key);
                            expected.remove(place);
                        }
                        case 1, 2 -> {
                            byte[] value = new byte[random.nextInt(40)];
                            random.nextBytes(value);
                            seen.updateValue(key, value);
                            expected.put(place, value);
                        }
                        case 3 -> assertEquals(expected.size(), seen.keys().size());
                        default -> assertArrayEquals(expected.get(place), seen.getValue(key));
                    }
                    assertTrue(bound.used() <= bound.bound());
                }
                tried.write();
                assertFalse(tried.isAhead());
                tried.close();
                assertEquals(0, bound.used());
                assertEquals(expected.keySet(), kept.values.keySet());
                size += tried.takeGrowth();
                assertEquals(expected.size(), size);
                expected.forEach((key, value) -> assertArrayEquals(value, kept.values.get(key)));
            }
        }
    }
}
