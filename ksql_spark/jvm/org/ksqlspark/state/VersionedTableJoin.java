package org.ksqlspark.state;

import org.ksqlspark.log.LateRow;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A stream-table join by the versions of the table (FOR SYSTEM_TIME AS OF, reference §6.6): a
 * stream's record waits until stream time has passed its time by the grace period; then it is
 * joined with the row that the table had at the record's time.
 *
 * <p>State: by key the versions of its row, by time; the waiting records, by time and order of
 * arrival; by time the keys whose versions may be forgotten then. A version is forgotten once no
 * waiting record can need it: when stream time is the grace period past the next version, or past
 * the version itself if that is a deletion. A record that is later than the grace period does not
 * wait. It has no partner if the version of its time is forgotten.
 */
final class VersionedTableJoin extends KeyedOperator {
    private static final byte[] NOTHING = new byte[0];

    private final boolean isOuter;
    private final PairCondition condition;
    private final long grace;

    /** By key: (time, length, row), oldest first; the length of a deletion is -1. */
    private transient StateCache.Cached<byte[]> versions;

    /** By (time, number): the parts of a record, see {@link #packed}. */
    private transient StateCache.Cached<byte[]> waiting;

    /** By (time, key). */
    private transient StateCache.Cached<byte[]> expiring;

    /** What is kept of a task in the heap, as in the state. */
    private static final class Index {
        /** How many records of a time wait; their numbers are from 0. */
        final TreeMap<Long, Integer> waiting = new TreeMap<>();

        final TreeMap<Long, List<byte[]>> expiring = new TreeMap<>();
    }

    private transient Map<Integer, Index> indexes;

    /** Of the current task. */
    private transient Index index;

    private record Version(long time, byte[] row) {}

    VersionedTableJoin(boolean isOuter, PairCondition condition, long grace) {
        this.isOuter = isOuter;
        this.condition = condition;
        this.grace = grace;
    }

    @Override
    protected void open() {
        indexes = new HashMap<>();
        versions = bytes("versions");
        waiting = bytes("waiting");
        expiring = bytes("expiring");
    }

    @Override
    protected void taskChanged(int number) {
        index = indexes.computeIfAbsent(number, task -> stored());
    }

    private Index stored() {
        Index found = new Index();
        scala.collection.Iterator<byte[]> places = waiting.keys();
        while (places.hasNext()) {
            found.waiting.merge(ByteBuffer.wrap(places.next()).getLong(), 1, Integer::sum);
        }
        scala.collection.Iterator<byte[]> entries = expiring.keys();
        while (entries.hasNext()) {
            expires(found, entries.next());
        }
        return found;
    }

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        boolean hasKey = key.length > 0;
        if (side == 1 && hasKey) {
            put(key, ts, value);
        }
        timePassed();
        if (side == 1 || value == null || (!hasKey && !isOuter)) {
            return;
        }
        if (ts > streamTime - grace) {
            int number = index.waiting.merge(ts, 1, Integer::sum) - 1;
            waiting.insert(place(ts, number), packed(key, value, headers()));
            return;
        }
        byte[] row = partner(key, ts, value);
        if (row == null && ts < streamTime - grace) {
            late(new LateRow.Lateness(streamTime, streamTime - ts, null, null));
        }
        if (row != null || isOuter) {
            emit(key, ts, value, row);
        }
    }

    @Override
    protected long end() {
        return index.waiting.isEmpty() ? Long.MIN_VALUE : index.waiting.lastKey() + grace;
    }

    @Override
    protected void timePassed() {
        release();
        forget();
    }

    /** The table's row that a record meets; null: none. */
    private byte[] partner(byte[] key, long time, byte[] value) {
        byte[] row = key.length > 0 ? at(key, time) : null;
        return row == null || condition == null || condition.test(value, row) ? row : null;
    }

    /** The row that the table had at a time; null: none that is known. */
    private byte[] at(byte[] key, long time) {
        byte[] row = null;
        for (Version version : unpacked(versions.getValue(key))) {
            if (version.time <= time) {
                row = version.row;
            }
        }
        return row;
    }

    /** Adds a version; one of the same time is replaced. */
    private void put(byte[] key, long time, byte[] row) {
        List<Version> all = unpacked(versions.getValue(key));
        int at = all.size();
        while (at > 0 && all.get(at - 1).time > time) {
            at--;
        }
        if (at > 0 && all.get(at - 1).time == time) {
            all.set(--at, new Version(time, row));
        } else {
            all.add(at, new Version(time, row));
        }
        versions.updateValue(key, packed(all));
        // the first one goes when the second one holds for all that waits; a deletion goes by
        // itself
        if (row == null || at > 0) {
            expire(key, time);
        }
        if (at == 0 && all.size() > 1) {
            expire(key, all.get(1).time);
        }
    }

    private void expire(byte[] key, long time) {
        byte[] entry = NumberedKey.of(time, key);
        if (expiring.getValue(entry) == null) {
            expiring.updateValue(entry, NOTHING);
            expires(index, entry);
        }
    }

    private static void expires(Index index, byte[] entry) {
        long time = ByteBuffer.wrap(entry).getLong();
        index.expiring.computeIfAbsent(time, t -> new ArrayList<>()).add(entry);
    }

    /** Joins the records that have waited long enough: by time, equal ones as they arrived. */
    private void release() {
        while (!index.waiting.isEmpty() && index.waiting.firstKey() <= streamTime - grace) {
            Map.Entry<Long, Integer> due = index.waiting.pollFirstEntry();
            for (int number = 0; number < due.getValue(); number++) {
                byte[] place = place(due.getKey(), number);
                ByteBuffer record = ByteBuffer.wrap(waiting.getValue(place));
                waiting.removeKey(place);
                byte[] key = part(record);
                byte[] value = part(record);
                byte[] headers = part(record);
                byte[] row = partner(key, due.getKey(), value);
                if (row != null || isOuter) {
                    emitWaiting(key, due.getKey(), value, row, headers);
                }
            }
        }
    }

    private void forget() {
        while (!index.expiring.isEmpty() && index.expiring.firstKey() <= streamTime - grace) {
            for (byte[] entry : index.expiring.pollFirstEntry().getValue()) {
                expiring.removeKey(entry);
                prune(Arrays.copyOfRange(entry, 8, entry.length));
            }
        }
    }

    /** Keeps the version that holds at the time that has passed for all, and newer ones. */
    private void prune(byte[] key) {
        List<Version> all = unpacked(versions.getValue(key));
        int first = 0;
        while (first + 1 < all.size() && all.get(first + 1).time <= streamTime - grace) {
            first++;
        }
        if (first < all.size()) {
            Version oldest = all.get(first);
            if (oldest.row == null && oldest.time <= streamTime - grace) {
                first++;
            }
        }
        if (first == 0) {
            return;
        }
        List<Version> kept = all.subList(first, all.size());
        if (kept.isEmpty()) {
            versions.removeKey(key);
        } else {
            versions.updateValue(key, packed(kept));
        }
    }

    private static byte[] place(long time, int number) {
        return ByteBuffer.allocate(12).putLong(time).putInt(number).array();
    }

    /** Parts as (length, bytes); the length of null is -1. */
    private static byte[] packed(byte[]... parts) {
        int size = 0;
        for (byte[] part : parts) {
            size += 4 + (part == null ? 0 : part.length);
        }
        ByteBuffer out = ByteBuffer.allocate(size);
        for (byte[] part : parts) {
            put(out, part);
        }
        return out.array();
    }

    private static byte[] packed(List<Version> all) {
        int size = 0;
        for (Version version : all) {
            size += 12 + (version.row == null ? 0 : version.row.length);
        }
        ByteBuffer out = ByteBuffer.allocate(size);
        for (Version version : all) {
            out.putLong(version.time);
            put(out, version.row);
        }
        return out.array();
    }

    private static List<Version> unpacked(byte[] bytes) {
        List<Version> all = new ArrayList<>();
        if (bytes != null) {
            ByteBuffer in = ByteBuffer.wrap(bytes);
            while (in.hasRemaining()) {
                all.add(new Version(in.getLong(), part(in)));
            }
        }
        return all;
    }

    private static void put(ByteBuffer out, byte[] part) {
        out.putInt(part == null ? -1 : part.length);
        if (part != null) {
            out.put(part);
        }
    }

    private static byte[] part(ByteBuffer in) {
        int length = in.getInt();
        if (length < 0) {
            return null;
        }
        byte[] part = new byte[length];
        in.get(part);
        return part;
    }
}
