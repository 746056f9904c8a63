package org.ksqlspark.state;

import net.jpountz.xxhash.XXHash64;
import net.jpountz.xxhash.XXHashFactory;

import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.util.sketch.BloomFilter;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The keys that a store may have, so that it is not asked for others (ADR 22): Bloom filters, each
 * at least as large as those before it together. They are Spark's, since blocked ones of our own
 * would save 0.1 to 0.3 µs of the 4 to 10 that a question costs.
 *
 * <p>Keys are added and never removed, so it also knows the store's earlier versions. Who has it
 * alone uses it.
 */
final class KeyFilter {
    /** Of a filter, for each key: one in 300 others looks like one of them. */
    private static final int BITS = 12;

    /** How many keys the first filter is for at least. */
    private static final int FIRST = 1 << 10;

    /** While it has fewer keys, the next filter is three times as large as those before it. */
    private static final int SMALL = 1 << 16;

    /** It is too full where it has so many times the keys of the store. */
    private static final int STALE = 4;

    /**
     * How many keys a scan reads for each that is not there; each later scan reads 4 times more.
     */
    private static final int SLICE = 16;

    private static final int SCANS = 4;

    private static final XXHash64 HASH = XXHashFactory.safeInstance().hash64();

    /** The entries of a task in one of an operator's states; {@code state}: its number. */
    private record Part(int state, int task) {}

    private final CacheBudget budget;
    private final List<BloomFilter> filters = new ArrayList<>();

    /** The parts all of whose keys are here. */
    private final Set<Part> complete = new HashSet<>();

    /** The keys of the others, as far as they were not read; for the batch that runs. */
    private final Map<Part, scala.collection.Iterator<byte[]>> scans = new HashMap<>();

    /** How many batches have ended before a scan had. */
    private int unfinished;

    /** How many keys the next filter is for. */
    private long next;

    private long keys;

    /** How many keys fit into the last filter. */
    private long room;

    private long bytes;
    private boolean isGivenUp;

    /**
     * @param entries how many the store has
     */
    KeyFilter(CacheBudget budget, long entries) {
        this.budget = budget;
        next = Math.max(FIRST, 2 * entries); // if it does not fit, no scan is begun
    }

    /** Whether a state certainly has no such key. */
    boolean lacks(int state, Integer task, byte[] key) {
        Part part = new Part(state, task);
        return !isGivenUp && complete.contains(part) && !has(hash(part, key));
    }

    /** Adds a key that a state is about to get, unless a scan will find it. */
    void add(int state, Integer task, byte[] key) {
        Part part = new Part(state, task);
        if (complete.contains(part) || scans.containsKey(part)) {
            add(hash(part, key));
        }
    }

    /**
     * Adds some of the keys that a state has, of the task at hand. It is called when the store was
     * asked for a key and had none. All at once would hold up the first records after a restart,
     * and only the task's thread may use the store.
     */
    void scan(int state, Integer task, MapState<byte[], ?> store) {
        Part part = new Part(state, task);
        if (complete.contains(part) || unfinished == SCANS || !reserve()) {
            return;
        }
        scala.collection.Iterator<byte[]> left = scans.get(part);
        if (left == null) {
            left = store.keys();
            scans.put(part, left);
        }
        for (int i = SLICE << 2 * unfinished; i > 0; i--) {
            if (!left.hasNext()) {
                scans.remove(part);
                complete.add(part);
                return;
            }
            // at once: what hasNext() finds is in a row that Spark's iterators share
            add(hash(part, left.next()));
        }
    }

    private static long hash(Part part, byte[] key) {
        return HASH.hash(key, 0, key.length, part.hashCode());
    }

    private boolean has(long hash) {
        for (int i = filters.size() - 1; i >= 0; i--) {
            if (filters.get(i).mightContainLong(hash)) {
                return true;
            }
        }
        return false;
    }

    private void add(long hash) {
        if (!has(hash) && reserve()) {
            filters.get(filters.size() - 1).putLong(hash);
            keys++;
            room--;
        }
    }

    /** Makes room for a key; gives up where there is none. */
    private boolean reserve() {
        if (room > 0 || isGivenUp) {
            return !isGivenUp;
        }
        long more = next * BITS / 8;
        if (!budget.takeForFilter(more)) {
            close();
            return false;
        }
        bytes += more;
        filters.add(BloomFilter.create(next, next * BITS));
        room = next;
        long all = keys + room;
        next = all < SMALL ? 3 * all : all;
        return true;
    }

    /** The batch has ended; whether it is of use for the next one. */
    boolean endBatch() {
        if (!scans.isEmpty()) {
            scans.clear();
            unfinished++;
        }
        return !isGivenUp;
    }

    /** Whether most of its keys have left the store, which has so many entries. */
    boolean isStale(long entries) {
        return keys > STALE * (entries + FIRST);
    }

    /** Gives up and gives back what it takes. */
    void close() {
        isGivenUp = true;
        filters.clear();
        scans.clear();
        budget.giveForFilter(bytes);
        bytes = 0;
    }
}
