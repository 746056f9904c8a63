package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.streaming.MapState;
import org.junit.jupiter.api.Test;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** What a store is not asked, and that each key that it has is found, whatever has happened. */
class KeyFilterTest {
    /** That of the attempt that does something. */
    private static Disk current;

    private static final StateEntries.Store PLACE = new StateEntries.Store("run", 0, 0);

    private static byte[] key(int number) {
        return ByteBuffer.allocate(4).putInt(number).array();
    }

    /** A JVM. */
    private static final class Jvm {
        final CacheBudget budget;
        final KeptCaches caches;

        Jvm(long bound) {
            budget = new CacheBudget(bound);
            caches = new KeptCaches(budget);
        }
    }

    /** The store of a partition: two states, each of two tasks. */
    private static final class Disk {
        final List<List<Store<byte[]>>> states =
                List.of(
                        List.of(new Store<>(), new Store<>()),
                        List.of(new Store<>(), new Store<>()));
        Long stamp;

        /** The task at hand. */
        int task;

        Disk() {}

        /** Another JVM's copy. */
        Disk(Disk other) {
            stamp = other.stamp;
            for (int i = 0; i < 2; i++) {
                for (int j = 0; j < 2; j++) {
                    store(i, j).values.putAll(other.store(i, j).values);
                }
            }
        }

        Store<byte[]> store(int state, int number) {
            return states.get(state).get(number);
        }

        int size() {
            return states.stream().flatMap(List::stream).mapToInt(one -> one.values.size()).sum();
        }

        int reads() {
            return states.stream().flatMap(List::stream).mapToInt(one -> one.reads).sum();
        }

        void with(Object number, Runnable write) {
            int before = task;
            task = (Integer) number;
            write.run();
            task = before;
        }

        /** A state, of whichever task is at hand. */
        @SuppressWarnings("unchecked")
        MapState<byte[], byte[]> state(int state) {
            return (MapState<byte[], byte[]>)
                    Proxy.newProxyInstance(
                            KeyFilterTest.class.getClassLoader(),
                            new Class<?>[] {MapState.class},
                            (proxy, method, arguments) -> {
                                try {
                                    return method.invoke(store(state, task), arguments);
                                } catch (InvocationTargetException failed) {
                                    throw failed.getCause();
                                }
                            });
        }
    }

    /** An attempt at a batch, as KeyedOperator makes it. */
    private static final class Attempt {
        final Jvm jvm;
        final Disk disk;
        final StateEntries.Store place;
        final StateCache cache;
        final List<MapState<byte[], byte[]>> states;

        Attempt(Jvm jvm, Disk disk) {
            this(jvm, disk, PLACE);
        }

        Attempt(Jvm jvm, Disk disk, StateEntries.Store place) {
            this.jvm = jvm;
            this.disk = disk;
            this.place = place;
            cache =
                    jvm.caches.take(
                            place, disk.stamp, (number, write) -> current.with(number, write));
            cache.beginBatch(disk.size());
            states = List.of(cache.over(disk.state(0)), cache.over(disk.state(1)));
            task(0);
        }

        void task(int number) {
            current = disk;
            disk.task = number;
            cache.task(number);
        }

        byte[] value(int key) {
            current = disk;
            return states.get(0).getValue(key(key));
        }

        void put(int from, int to) {
            for (int i = from; i < to; i++) {
                if (value(i) == null) {
                    states.get(0).updateValue(key(i), key(i));
                }
            }
        }

        void commit(Random random) {
            current = disk;
            cache.write();
            if (cache.takeChanged()) {
                disk.stamp = random.nextLong();
            }
            jvm.caches.keep(place, disk.stamp, cache);
        }
    }

    private final Random random = new Random(1);
    private final Jvm jvm = new Jvm(1_000_000);
    private final Disk disk = new Disk();

    private void batch(int from, int to) {
        Attempt attempt = new Attempt(jvm, disk);
        attempt.put(from, to);
        attempt.commit(random);
    }

    @Test
    void theStoreIsNotAskedForNewKeys() {
        batch(0, 2000);
        assertEquals(1, disk.reads(), "after the first one it is known to be empty");
        batch(2000, 4000);
        assertTrue(disk.reads() < 60, "about one in 300");
        int before = disk.reads();
        Attempt next = new Attempt(jvm, disk);
        for (int i = 0; i < 4000; i++) {
            assertArrayEquals(key(i), next.value(i));
        }
        assertEquals(0, disk.reads() - before, "the entries of the last batch are here");
    }

    @Test
    void afterARestartTheStoreIsAskedUntilItsKeysAreRead() {
        batch(0, 3200);
        Jvm other = new Jvm(1_000_000);
        Attempt first = new Attempt(other, disk);
        assertNull(first.value(5000));
        assertEquals(2, disk.reads(), "the first record does not wait for all of them");
        first.put(5001, 5200);
        int before = disk.reads();
        first.put(5200, 5400);
        assertTrue(disk.reads() - before < 20);
        for (int i = 0; i < 3200; i++) {
            assertArrayEquals(key(i), first.value(i));
        }
    }

    @Test
    void aScanThatDoesNotEndIsFasterInTheNextBatchAndIsGivenUp() {
        for (int i = 0; i < 5000; i++) {
            disk.store(0, 0).values.put(ByteBuffer.wrap(key(i)), key(i));
        }
        disk.stamp = 1L;
        for (int i = 1; i <= 4; i++) {
            int before = disk.reads();
            Attempt attempt = new Attempt(jvm, disk);
            attempt.value(-i);
            attempt.value(-10 - i);
            attempt.commit(random);
            assertEquals(2, disk.reads() - before);
        }
        Attempt last = new Attempt(jvm, disk);
        for (int i = 0; i < 1000; i++) {
            last.value(-100 - i);
        }
        assertEquals(1008, disk.reads(), "as 1,024 keys with a question were not enough");
    }

    @Test
    void whatAnotherJvmHasAddedIsFound() {
        batch(0, 10);
        Jvm other = new Jvm(0); // without room for a filter
        Attempt there = new Attempt(other, new Disk(disk));
        there.put(10, 20);
        there.commit(random);
        Attempt here = new Attempt(jvm, there.disk);
        assertArrayEquals(key(15), here.value(15));
    }

    @Test
    void aBatchThatIsDoneAgainElsewhereIsFound() {
        batch(0, 10);
        Disk before = new Disk(disk);
        batch(10, 20); // its result is lost
        Attempt again = new Attempt(new Jvm(1_000_000), before);
        again.put(20, 30);
        again.commit(random);
        Attempt here = new Attempt(jvm, again.disk);
        assertNull(here.value(15));
        assertArrayEquals(key(25), here.value(25));
    }

    @Test
    void anAttemptThatShouldBeOverDoesNotShareAFilter() {
        batch(0, 10);
        Attempt old = new Attempt(jvm, new Disk(disk));
        Attempt next = new Attempt(jvm, disk);
        old.put(10, 20);
        next.put(20, 30);
        next.commit(random);
        old.commit(random); // its filter is what the JVM has now
        Attempt last = new Attempt(jvm, disk);
        for (int i = 20; i < 30; i++) {
            assertArrayEquals(key(i), last.value(i));
        }
    }

    @Test
    void filtersTakeHalfOfTheRoomAtMost() {
        Jvm small = new Jvm(20_000);
        Attempt attempt = new Attempt(small, disk);
        attempt.put(0, 20_000);
        for (int i = 0; i < 20_000; i++) {
            assertArrayEquals(key(i), attempt.value(i));
        }
        assertTrue(small.budget.used() <= 20_000);
        attempt.commit(random);
        assertTrue(small.budget.used() <= 20_000);
        int before = disk.reads();
        attempt = new Attempt(small, disk);
        attempt.put(20_000, 20_100);
        assertEquals(100, disk.reads() - before, "no scan is begun that cannot end well");
        attempt.cache.close();
        assertEquals(0, small.budget.used());
    }

    @Test
    void entriesMakeRoomForFilters() {
        Jvm small = new Jvm(60_000);
        Attempt attempt = new Attempt(small, disk);
        attempt.put(0, 3000);
        attempt.put(3000, 3100);
        assertTrue(small.budget.used() <= 60_000);
        int before = disk.reads();
        attempt.put(3100, 4000);
        assertTrue(disk.reads() - before < 20);
        attempt.commit(random);
        assertTrue(small.budget.used() > 0);
    }

    @Test
    void whatEndsGivesItsRoomBack() {
        batch(0, 2000);
        assertTrue(jvm.budget.used() > 0);
        new Attempt(jvm, disk).cache.close(); // it failed
        assertEquals(0, jvm.budget.used());
        batch(2000, 3000);
        assertTrue(jvm.budget.used() > 0);
        jvm.caches.end("run");
        assertEquals(0, jvm.budget.used());
    }

    @Test
    void aCacheThatWaitsGivesWayToOneThatWorks() {
        CacheBudget budget = new CacheBudget(200_000);
        KeptCaches caches = new KeptCaches(budget, 0);
        StateCache idle = caches.take(PLACE, null, (number, write) -> write.run());
        fill(idle, new Store<>(), 1200);
        caches.keep(PLACE, 1L, idle);
        assertTrue(budget.used() > 150_000);
        StateEntries.Store other = new StateEntries.Store("busy", 0, 0);
        StateCache busy = caches.take(other, null, (number, write) -> write.run());
        Store<byte[]> store = new Store<>();
        fill(busy, store, 600);
        int before = store.reads;
        busy.beginBatch(600);
        MapState<byte[], byte[]> again = busy.over(store);
        for (int i = 0; i < 600; i++) {
            assertArrayEquals(key(i), again.getValue(key(i)));
        }
        assertEquals(before, store.reads, "all are here");
    }

    private static void fill(StateCache cache, Store<byte[]> store, int entries) {
        MapState<byte[], byte[]> state = cache.over(store);
        cache.task(0);
        for (int i = 0; i < entries; i++) {
            state.updateValue(key(i), key(i));
        }
        cache.write();
        cache.takeChanged();
    }

    @Test
    void aRunDoesNotTakeTheFilterOfAnEarlierOne() {
        batch(0, 10);
        Disk rewritten = new Disk(disk); // between the runs, with the stamp of the last batch
        rewritten.store(0, 0).values.put(ByteBuffer.wrap(key(99)), key(99));
        StateEntries.Store place = new StateEntries.Store("next", 0, 0);
        assertArrayEquals(key(99), new Attempt(jvm, rewritten, place).value(99));
    }

    @Test
    void keysThatHaveLeftTakeNoRoomForEver() {
        long most = 0;
        for (int batch = 0; batch < 200; batch++) {
            Attempt attempt = new Attempt(jvm, disk);
            attempt.put(batch * 1000, batch * 1000 + 1000);
            for (int i = 0; i < 1000; i++) {
                attempt.states.get(0).removeKey(key((batch - 1) * 1000 + i));
            }
            attempt.commit(random);
            most = Math.max(most, jvm.budget.used());
        }
        assertEquals(1000, disk.size());
        int entries = 1000 * (StateCache.OVERHEAD + 8);
        assertTrue(most < entries + 8 * 4 * 2000, most + " bytes");
        assertTrue(disk.reads() < 220_000, "200,000 for keys that are removed");
    }

    /** Any order of records, failures, restarts and moves: the state is as without filters. */
    @Test
    void itIsNotToBeSeen() {
        for (int round = 0; round < 60; round++) {
            List<Jvm> jvms = List.of(new Jvm(1_000_000), new Jvm(random.nextInt(60_000)));
            Disk kept = new Disk();
            Map<List<Integer>, byte[]> expected = new HashMap<>();
            String run = "run";
            for (int batch = 0; batch < 40; batch++) {
                if (random.nextInt(10) == 0) {
                    run = "run " + batch;
                }
                StateEntries.Store place = new StateEntries.Store(run, 0, 0);
                Jvm at = jvms.get(random.nextInt(4) == 0 ? 1 : 0);
                Disk disk = new Disk(kept);
                Attempt attempt = new Attempt(at, disk, place);
                Map<List<Integer>, byte[]> seen = new HashMap<>(expected);
                for (int i = random.nextInt(300); i > 0; i--) {
                    int task = random.nextInt(2);
                    int state = random.nextInt(2);
                    int number = random.nextInt(500);
                    List<Integer> one = List.of(task, state, number);
                    attempt.task(task);
                    MapState<byte[], byte[]> its = attempt.states.get(state);
                    switch (random.nextInt(4)) {
                        case 0 -> {
                            its.removeKey(key(number));
                            seen.remove(one);
                        }
                        case 1 -> {
                            its.updateValue(key(number), key(i));
                            seen.put(one, key(i));
                        }
                        default -> assertArrayEquals(seen.get(one), its.getValue(key(number)));
                    }
                }
                int fate = random.nextInt(10);
                if (fate == 0) {
                    attempt.cache.close(); // it failed
                    continue;
                }
                if (fate == 1) { // it failed, and was closed as if it had committed
                    at.caches.keep(place, disk.stamp, attempt.cache);
                    continue;
                }
                attempt.commit(random);
                if (random.nextInt(5) > 0) { // else its result is lost, and it is done again
                    kept = disk;
                    expected = seen;
                }
            }
            assertEquals(expected.size(), kept.size());
        }
    }
}
