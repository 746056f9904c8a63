package org.ksqlspark.state;

import org.apache.spark.sql.streaming.MapState;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.function.BiPredicate;

/**
 * Entries of an operator's state, with the changes that its store does not have yet. An entry that
 * is read is read from the store once; one that changes is written when the cache lets it go, or at
 * {@link #write}, with its last value only.
 *
 * <p>Entries go in the order in which they came, but each time that one is read again it stays for
 * another round, for up to three. So many new keys, each of one record, do not drive out those that
 * records ask for all the time.
 *
 * <p>It has the entries of all tasks of a partition, one thread. After a batch, {@link KeptCaches}
 * keeps it for the next one.
 */
final class StateCache {
    /** What an entry takes beside the bytes of its key and value: objects and their headers. */
    static final int OVERHEAD = 160;

    private static final int MOST_ROUNDS = 3;

    /** Does something with the state of a task, whichever is the current one. */
    interface Tasks {
        void with(Object task, Runnable write);
    }

    private final CacheBudget budget;
    private final Tasks tasks;

    /** The operator's states, in the order in which it opens them. */
    private final List<Cached<?>> states = new ArrayList<>();

    /** How many of them are open. */
    private int opened;

    /** Null: the store is asked for all keys. */
    private KeyFilter filter;

    /** The current one; the store finds its entries. */
    private Integer task;

    /** Those that go next come first. */
    private final LinkedHashMap<Key, Entry> entries = new LinkedHashMap<>();

    /** Between the last and the first of those that have changed, a ring in the order of change. */
    private final Entry changed = new Entry(null);

    private long held;

    /** How many entries are no longer here, or never were for want of room. */
    private long gone;

    /** How many more entries the store has than when this was taken last. */
    private long growth;

    /** Whether the store got other entries since this was taken last. */
    private boolean hasChanged;

    private boolean isClosed;

    StateCache(CacheBudget budget, Tasks tasks) {
        this.budget = budget;
        this.tasks = tasks;
        changed.previous = changed.next = changed;
        budget.join();
    }

    /** Goes on with another task. */
    void task(Integer number) {
        task = number;
    }

    /**
     * Begins a batch, with the entries that it has from the one before.
     *
     * @param stored how many entries the store has
     */
    void beginBatch(long stored) {
        opened = 0;
        if (filter != null && filter.isStale(stored)) {
            filter.close();
            filter = null;
        }
        if (filter == null) {
            filter = new KeyFilter(budget, stored);
        }
    }

    /** Ends a batch; whether it has only what the store has, and may begin another one. */
    boolean endBatch() {
        if (filter != null && !filter.endBatch()) {
            filter = null;
        }
        shrink();
        return !isClosed && !isAhead() && !hasChanged;
    }

    /** An entry's key, with the state and the task that it belongs to. */
    private static final class Key implements Comparable<Key> {
        final Cached<?> state;
        final Integer task;
        final byte[] bytes;
        private final int hash;

        Key(Cached<?> state, Integer task, byte[] bytes) {
            this.state = state;
            this.task = task;
            this.bytes = bytes;
            int sum = 31 * (31 * state.number + task) + Arrays.hashCode(bytes);
            this.hash = sum * 0x9E3779B9; // keys that differ little would meet in few places
        }

        @Override
        public int compareTo(Key other) {
            int order = task.compareTo(other.task);
            order = order == 0 ? state.number - other.state.number : order;
            return order == 0 ? Arrays.compareUnsigned(bytes, other.bytes) : order;
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Key key
                    && key.state == state
                    && key.hash == hash
                    && key.task.equals(task)
                    && Arrays.equals(key.bytes, bytes);
        }
    }

    private static final class Entry {
        final Key key;

        /** Null: there is none. */
        Object value;

        /** Whether the store has a value for the key; null: it was not asked yet. */
        Boolean isStored;

        int size;

        /** For how many more rounds it stays. */
        byte rounds;

        /** Its neighbours among those that have changed; null where the store has this value. */
        Entry previous;

        Entry next;

        Entry(Key key) {
            this.key = key;
        }

        boolean isChanged() {
            return next != null;
        }

        /** Whether the store has a value for the key, of the task at hand. */
        boolean isStored() {
            if (isStored == null) {
                isStored = key.state.stored(key) != null;
            }
            return isStored;
        }

        /** The bytes that the entry takes with its value of now. */
        int sizeNow() {
            int length = value instanceof byte[] bytes ? bytes.length : 0;
            return OVERHEAD + key.bytes.length + length; // numbers are in the overhead
        }
    }

    /** A state whose entries are here; arrays that go in or come out must not change afterwards. */
    @SuppressWarnings("unchecked")
    <V> Cached<V> over(MapState<byte[], V> store) {
        if (opened == states.size()) {
            states.add(new Cached<>());
        }
        Cached<V> state = (Cached<V>) states.get(opened++);
        state.store = store;
        return state;
    }

    /**
     * How often an entry that has a value was let go. While this number stays as it was, all that
     * was put in since is here, and {@link Cached#held} knows of it.
     */
    long gone() {
        return gone;
    }

    /**
     * How many entries the store got since the last call, of all tasks; those it lost count less.
     */
    long takeGrowth() {
        long taken = growth;
        growth = 0;
        return taken;
    }

    /** Whether the store got other entries since the last call. */
    boolean takeChanged() {
        boolean taken = hasChanged;
        hasChanged = false;
        return taken;
    }

    /** Whether there are changes that the store does not have. */
    boolean isAhead() {
        return changed.next != changed;
    }

    /**
     * Bring the store up to date, in the order of keys, which costs RocksDB less than any other.
     */
    void write() {
        List<Entry> all = new ArrayList<>();
        for (Entry entry = changed.next; entry != changed; entry = entry.next) {
            all.add(entry);
        }
        all.sort(Comparator.comparing(entry -> entry.key));
        int from = 0;
        while (from < all.size()) {
            Integer one = all.get(from).key.task;
            int to = from + 1;
            while (to < all.size() && all.get(to).key.task.equals(one)) {
                to++;
            }
            List<Entry> its = all.subList(from, to);
            tasks.with(one, () -> its.forEach(this::write));
            from = to;
        }
    }

    private void write(Entry entry) {
        put(entry);
        if (entry.value == null) { // nobody is likely to ask for it
            remove(entry);
        }
    }

    /** Forget everything, changes too. */
    void clear() {
        entries.clear();
        changed.previous = changed.next = changed;
        release(held);
    }

    /** Forget everything for good; may be called more than once. */
    void close() {
        if (!isClosed) {
            isClosed = true;
            clear();
            if (filter != null) {
                filter.close();
            }
            budget.leave();
        }
    }

    private void store(Entry entry) {
        if (entry.key.task.equals(task)) {
            put(entry);
        } else {
            tasks.with(entry.key.task, () -> put(entry));
        }
    }

    private void put(Entry entry) {
        hasChanged = true;
        if (entry.value != null) {
            if (!entry.isStored()) {
                growth++;
                if (filter != null) {
                    filter.add(entry.key.state.number, entry.key.task, entry.key.bytes);
                }
            }
            entry.key.state.put(entry.key.bytes, entry.value);
        } else if (entry.isStored()) {
            growth--;
            entry.key.state.store.removeKey(entry.key.bytes);
        }
        entry.isStored = entry.value != null;
        settle(entry);
    }

    /** The store has the entry's value. */
    private static void settle(Entry entry) {
        if (entry.isChanged()) {
            entry.previous.next = entry.next;
            entry.next.previous = entry.previous;
            entry.previous = entry.next = null;
        }
    }

    /** The store has another value. */
    private void change(Entry entry) {
        if (!entry.isChanged()) {
            entry.previous = changed.previous;
            entry.next = changed;
            changed.previous.next = entry;
            changed.previous = entry;
        }
    }

    /** Take an entry in; false where there is no room for it. */
    private boolean insert(Entry entry) {
        entry.size = entry.sizeNow();
        if (entry.size > budget.bound()) {
            return false;
        }
        while (!budget.take(entry.size)) {
            if (entries.isEmpty()) {
                return false;
            }
            evict();
        }
        held += entry.size;
        shrink(); // before it is here, so it is not what goes
        entries.put(entry.key, entry);
        return true;
    }

    /** Account for a value that has changed; the entry itself may have to go. */
    private void resize(Entry entry) {
        int size = entry.sizeNow();
        int more = size - entry.size;
        if (more <= 0) {
            entry.size = size;
            release(-more);
            return;
        }
        while (!budget.take(more)) {
            evict();
            if (!entries.containsKey(entry.key)) {
                return;
            }
        }
        held += more;
        entry.size = size;
        shrink();
    }

    /** Let what is more than a fair share go. */
    private void shrink() {
        while (budget.isOver(held) && entries.size() > 1) {
            evict();
        }
    }

    /** Let an entry go, see above. */
    private void evict() {
        Entry eldest = entries.values().iterator().next();
        while (eldest.rounds > 0) {
            eldest.rounds--;
            entries.remove(eldest.key);
            entries.put(eldest.key, eldest);
            eldest = entries.values().iterator().next();
        }
        if (eldest.isChanged()) {
            store(eldest);
        }
        if (eldest.value != null) {
            gone++;
        }
        remove(eldest);
    }

    private void remove(Entry entry) {
        entries.remove(entry.key);
        release(entry.size);
    }

    private void release(long bytes) {
        held -= bytes;
        budget.give(bytes);
    }

    /** One of the operator's states. */
    final class Cached<V> implements MapState<byte[], V> {
        /** That of the batch. */
        MapState<byte[], V> store;

        /** For hashes. */
        final int number = opened + 1;

        private Cached() {}

        /** The store's value for a key of the task at hand; null: there is none. */
        private V stored(Key key) {
            if (filter != null && filter.lacks(number, key.task, key.bytes)) {
                return null;
            }
            V found = store.getValue(key.bytes);
            if (found == null && filter != null) {
                filter.scan(number, key.task, store);
            }
            return found;
        }

        @SuppressWarnings("unchecked")
        void put(byte[] key, Object value) {
            store.updateValue(key, (V) value);
        }

        /** The value if it is here; the store is not asked. */
        @SuppressWarnings("unchecked")
        V held(byte[] bytes) {
            Entry found = entries.get(new Key(this, task, bytes));
            return found == null ? null : (V) found.value;
        }

        @Override
        @SuppressWarnings("unchecked")
        public V getValue(byte[] bytes) {
            Key key = new Key(this, task, bytes);
            Entry found = entries.get(key);
            if (found == null) {
                found = new Entry(key);
                found.value = stored(key);
                found.isStored = found.value != null;
                StateCache.this.insert(found);
            } else {
                found.rounds = (byte) Math.min(found.rounds + 1, MOST_ROUNDS);
            }
            return (V) found.value;
        }

        @Override
        public boolean containsKey(byte[] key) {
            return getValue(key) != null;
        }

        @Override
        public void updateValue(byte[] bytes, V value) {
            put(bytes, value, null);
        }

        /** The same for a key that the store is known not to have, unless its entry is here. */
        void insert(byte[] bytes, V value) {
            put(bytes, value, false);
        }

        private void put(byte[] bytes, V value, Boolean isStored) {
            Key key = new Key(this, task, bytes);
            Entry found = entries.get(key);
            if (found != null) {
                found.value = value;
                change(found);
                resize(found);
                return;
            }
            found = new Entry(key);
            found.value = value;
            found.isStored = isStored;
            if (StateCache.this.insert(found)) {
                change(found);
            } else {
                gone++;
                StateCache.this.put(found);
            }
        }

        @Override
        public void removeKey(byte[] bytes) {
            Key key = new Key(this, task, bytes);
            Entry found = entries.get(key);
            if (found == null) {
                StateCache.this.put(new Entry(key));
            } else if (found.isStored == null || found.isStored) {
                found.value = null;
                change(found);
                resize(found);
            } else {
                settle(found);
                remove(found);
            }
        }

        @Override
        public scala.collection.Iterator<scala.Tuple2<byte[], V>> iterator() {
            write();
            return store.iterator();
        }

        @Override
        public scala.collection.Iterator<byte[]> keys() {
            write();
            return store.keys();
        }

        @Override
        public scala.collection.Iterator<V> values() {
            write();
            return store.values();
        }

        /** Removes the current task's entries that fit; it looks at all of them. */
        void removeIf(BiPredicate<byte[], V> fits) {
            List<byte[]> found = new ArrayList<>();
            for (scala.collection.Iterator<scala.Tuple2<byte[], V>> all = iterator();
                    all.hasNext(); ) {
                scala.Tuple2<byte[], V> entry = all.next();
                if (fits.test(entry._1(), entry._2())) {
                    found.add(entry._1());
                }
            }
            found.forEach(this::removeKey);
        }

        @Override
        public boolean exists() {
            write();
            return store.exists();
        }

        @Override
        public void clear() {
            throw new UnsupportedOperationException("entries are removed by their keys");
        }
    }
}
