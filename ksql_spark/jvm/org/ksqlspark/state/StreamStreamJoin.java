package org.ksqlspark.state;

import org.ksqlspark.log.LateRow;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A stream-stream join (reference §6.5), with the clocks of Kafka Streams.
 *
 * <p>The task's stream time, over both sides, determines when an unmatched row of an outer side is
 * emitted: when stream time passes window and grace period, or at once if it already has. (Kafka
 * Streams does not wait for the grace period if the window is over when the row comes.) Each side's
 * own time, the greatest of its kept rows, determines how long its rows can be matched: window and
 * grace period. So a side that lags behind still matches rows of the other side that the task's
 * time has left behind.
 *
 * <p>Rows are stored in buckets of time as long as the window: per side, bucket and key a group of
 * (timestamp, waits?, length, row), in parts of a few KiB. So a record reads two or three groups,
 * however many rows its key has, and adds to one part. Lists of the keys in each bucket of a side,
 * in parts too, let whole buckets be removed once no record can match them.
 *
 * <p>Without a window, rows of any times match, and all are kept: in one bucket, without a list of
 * its keys, as it is never removed.
 */
final class StreamStreamJoin extends KeyedOperator {
    private static final long DAY = 24 * 3600 * 1000L;

    private final boolean[] outer;

    /**
     * A semi join: a left row is emitted when its first partner comes. Those that are kept wait for
     * it, without a deadline.
     */
    private final boolean isSemi;

    /** What a pair must satisfy besides equal keys; null: nothing. */
    private final PairCondition condition;

    /** How far the other side's time may be before and after this side's. */
    private final long[] before;

    private final long[] after;
    private final long grace;

    /** Unmatched rows are emitted as soon as they come, not when their window closes. */
    private final boolean isEager;

    /** There is no window. */
    private final boolean isEndless;

    private final long width;

    /** A part that has so many bytes is not added to. */
    private static final int FULL = 4096;

    /** Before a row: timestamp, waits?, length. */
    private static final int ROW_HEAD = 13;

    private static final int WAITS = 8;

    /** Parts by (side, bucket, key, number); the first one begins with the number of the last. */
    private transient StateCache.Cached<byte[]> groups;

    /** Parts by (side, bucket, number): lists of (length, key). */
    private transient StateCache.Cached<byte[]> contents;

    /** The number of the last part of a bucket's contents. */
    private transient StateCache.Cached<Long> buckets;

    private transient StateCache.Cached<byte[]> waiting;
    private transient StateCache.Cached<Long> clocks;

    /** A bucket of a side. */
    private static final class Bucket {
        /** The number of the last part of its contents. */
        long last;

        /** KeyedOperator.gone() when it was new, so that all of it is in the heap; else -1. */
        final long gone;

        Bucket(long last, long gone) {
            this.last = last;
            this.gone = gone;
        }
    }

    /** What is kept of a task in the heap, as in the state. */
    private static final class Index {
        /** Each side's own time. */
        final long[] times = new long[2];

        /** The buckets of each side. */
        final List<TreeMap<Long, Bucket>> known = List.of(new TreeMap<>(), new TreeMap<>());

        /** All waiting rows by the time they must be emitted. */
        final TreeMap<Long, List<byte[]>> deadlines = new TreeMap<>();
    }

    private transient Map<Integer, Index> indexes;

    /** Of the current task. */
    private transient long[] times;

    private transient List<TreeMap<Long, Bucket>> known;
    private transient TreeMap<Long, List<byte[]>> deadlines;

    StreamStreamJoin(
            boolean leftOuter,
            boolean rightOuter,
            boolean isSemi,
            PairCondition condition,
            long before,
            long after,
            long grace) {
        this.condition = condition;
        this.outer = new boolean[] {leftOuter, rightOuter};
        this.isSemi = isSemi;
        this.before = new long[] {before, after};
        this.after = new long[] {after, before};
        this.isEager = grace < 0;
        this.grace = grace < 0 ? DAY : grace;
        this.isEndless = before < 0;
        this.width = Math.max(1, before + after + 1);
    }

    @Override
    protected void open() {
        indexes = new HashMap<>();
        groups = bytes("groups");
        contents = bytes("contents");
        buckets = longs("buckets");
        waiting = bytes("waiting");
        clocks = longs("clocks");
    }

    @Override
    protected void taskChanged(int number) {
        Index index = indexes.computeIfAbsent(number, task -> stored());
        times = index.times;
        known = index.known;
        deadlines = index.deadlines;
    }

    private Index stored() {
        Index index = new Index();
        for (int side = 0; side < 2; side++) {
            Long kept = clocks.getValue(new byte[] {(byte) side});
            index.times[side] = kept == null ? Long.MIN_VALUE : kept;
        }
        scala.collection.Iterator<scala.Tuple2<byte[], Long>> there = buckets.iterator();
        while (there.hasNext()) {
            scala.Tuple2<byte[], Long> bucket = there.next();
            ByteBuffer name = ByteBuffer.wrap(bucket._1());
            index.known.get(name.get()).put(name.getLong(), new Bucket(bucket._2(), -1));
        }
        scala.collection.Iterator<byte[]> unmatched = waiting.keys();
        while (unmatched.hasNext()) {
            byte[] entry = unmatched.next();
            index.deadlines
                    .computeIfAbsent(ByteBuffer.wrap(entry).getLong(), d -> new ArrayList<>())
                    .add(entry);
        }
        return index;
    }

    /** As in Kafka Streams, whose join looks at the value before the time. */
    @Override
    protected boolean isSkipped(byte[] value) {
        return value == null;
    }

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        if (key.length == 0) {
            if (outer[side]) {
                alone(key, side, ts, value);
            }
            return;
        }
        if (ts == streamTime) {
            release();
        }
        List<Stored> matches = matches(key, side, ts, value);
        if (isSemi) {
            processSemi(key, side, ts, value, matches);
            expire(side);
            return;
        }
        for (Stored match : matches) {
            byte[] row = match.row();
            emit(key, Math.max(ts, match.ts), side == 0 ? value : row, side == 0 ? row : value);
            if (match.waits()) {
                match.settle();
                settle(match.ts + after[1 - side] + grace, match.place());
            }
        }
        boolean isAlone = outer[side] && matches.isEmpty();
        boolean waits = isAlone && !isEager && ts + after[side] + grace >= streamTime;
        if (isAlone && !waits) {
            alone(key, side, ts, value);
        }
        byte[] place = store(key, side, ts, value, waits);
        if (waits) {
            await(ts + after[side] + grace, place);
        }
        expire(side);
    }

    private void processSemi(byte[] key, int side, long ts, byte[] value, List<Stored> matches) {
        if (side == 0 && !matches.isEmpty()) {
            emit(key, ts, value, null);
            advance(side, ts);
            return;
        }
        for (Stored match : matches) {
            if (match.waits()) {
                emit(key, match.ts, match.row(), null);
                match.settle();
            }
        }
        store(key, side, ts, value, side == 0);
    }

    @Override
    protected long end() {
        return deadlines.isEmpty() ? Long.MIN_VALUE : deadlines.lastKey() + 1;
    }

    @Override
    protected void timePassed() {
        release();
    }

    private void alone(byte[] key, int side, long ts, byte[] row) {
        emit(key, ts, side == 0 ? row : null, side == 0 ? null : row);
    }

    /** The time up to which rows of this side have been removed. */
    private long gone(int side) {
        return isEndless || times[side] == Long.MIN_VALUE
                ? Long.MIN_VALUE
                : times[side] - before[0] - after[0] - grace;
    }

    /** A stored row: where it begins in which part of a group. */
    private final class Stored {
        final byte[] name;
        final byte[] part;
        final int at;
        final long ts;

        Stored(byte[] name, byte[] part, int at) {
            this.name = name;
            this.part = part;
            this.at = at;
            this.ts = ByteBuffer.wrap(part).getLong(at);
        }

        /** The row that was stored at a place. */
        static Stored at(StreamStreamJoin join, byte[] place) {
            byte[] name = Arrays.copyOf(place, place.length - 4);
            int at = ByteBuffer.wrap(place).getInt(name.length);
            return join.new Stored(name, join.groups.getValue(name), at);
        }

        boolean waits() {
            return part[at + WAITS] == 1;
        }

        byte[] row() {
            int length = ByteBuffer.wrap(part).getInt(at + WAITS + 1);
            return Arrays.copyOfRange(part, at + ROW_HEAD, at + ROW_HEAD + length);
        }

        /** It does not wait any more. */
        void settle() {
            part[at + WAITS] = 0;
            groups.updateValue(name, part);
        }

        byte[] place() {
            return StreamStreamJoin.place(name, at);
        }
    }

    /** Rows of the other side within the window that still exist, by time. */
    private List<Stored> matches(byte[] key, int side, long ts, byte[] value) {
        List<Stored> found = new ArrayList<>();
        int other = 1 - side;
        long gone = gone(other);
        long first = isEndless ? Long.MIN_VALUE : ts - before[side];
        long last = isEndless ? Long.MAX_VALUE : ts + after[side];
        for (long bucket = bucketOf(first); bucket <= bucketOf(last); bucket++) {
            Bucket there = known.get(other).get(bucket);
            if (there == null) {
                continue;
            }
            byte[] name = group(other, bucket, key, 0);
            byte[] part = part(there, name);
            if (part == null) {
                continue;
            }
            int parts = ByteBuffer.wrap(part).getInt();
            int at = 4;
            for (int n = 0; n <= parts; n++) {
                if (n > 0) {
                    name = group(other, bucket, key, n);
                    part = groups.getValue(name);
                    at = 0;
                }
                while (at < part.length) {
                    Stored row = new Stored(name, part, at);
                    boolean isInTime = row.ts >= first && row.ts <= last && row.ts > gone;
                    if (isInTime && isPair(side, value, row)) {
                        found.add(row);
                    }
                    at += ROW_HEAD + ByteBuffer.wrap(part).getInt(at + WAITS + 1);
                }
            }
        }
        if (found.size() > 1) {
            found.sort(Comparator.comparingLong(row -> row.ts));
        }
        return found;
    }

    private long bucketOf(long ts) {
        return isEndless ? 0 : Math.floorDiv(ts, width);
    }

    private boolean isPair(int side, byte[] value, Stored other) {
        if (condition == null) {
            return true;
        }
        byte[] row = other.row();
        return side == 0 ? condition.test(value, row) : condition.test(row, value);
    }

    /** The first part of a group; the store is asked only for buckets that it may know. */
    private byte[] part(Bucket bucket, byte[] name) {
        return bucket.gone == gone() ? groups.held(name) : groups.getValue(name);
    }

    /**
     * Stores a row to be matched; a row that no record can match any more is stored only if it
     * waits to be emitted unmatched. It is late if so, or if rows that it matches may be gone.
     */
    private byte[] store(byte[] key, int side, long ts, byte[] value, boolean waits) {
        advance(side, ts);
        boolean isGone = ts <= gone(side) && (!waits || isSemi);
        if (isGone || ts - before[side] <= gone(1 - side)) {
            reportLate(side, ts);
        }
        if (isGone) {
            return null;
        }
        long number = bucketOf(ts);
        byte[] name = group(side, number, key, 0);
        Bucket bucket = known.get(side).get(number);
        byte[] first = bucket == null ? null : part(bucket, name);
        if (first == null) {
            list(side, number, bucket, key);
            groups.insert(name, appended(new byte[4], 4, ts, waits, value));
            return place(name, 4);
        }
        int parts = ByteBuffer.wrap(first).getInt();
        byte[] last = first;
        if (parts > 0) {
            name = group(side, number, key, parts);
            last = groups.getValue(name);
        }
        if (last.length >= FULL) {
            byte[] counted = first.clone();
            ByteBuffer.wrap(counted).putInt(parts + 1);
            groups.updateValue(group(side, number, key, 0), counted);
            name = group(side, number, key, parts + 1);
            last = new byte[0];
        }
        groups.updateValue(name, appended(last, last.length, ts, waits, value));
        return place(name, last.length);
    }

    /** A row that no later one can match, or that comes when rows that it matches may be gone. */
    private void reportLate(int side, long ts) {
        long first = ts - before[side];
        long time = times[side];
        long lag = time - ts;
        long other = times[1 - side];
        if (other != Long.MIN_VALUE && other - first > lag) {
            time = other;
            lag = other - first;
        }
        long needed = lag - before[0] - after[0] + 1;
        late(new LateRow.Lateness(time, needed, first, ts + after[side]));
    }

    private void advance(int side, long ts) {
        if (ts > times[side]) {
            times[side] = ts;
            clocks.updateValue(new byte[] {(byte) side}, ts);
        }
    }

    private static byte[] appended(byte[] part, int at, long ts, boolean waits, byte[] value) {
        byte[] longer = Arrays.copyOf(part, at + ROW_HEAD + value.length);
        ByteBuffer.wrap(longer, at, longer.length - at)
                .putLong(ts)
                .put((byte) (waits ? 1 : 0))
                .putInt(value.length)
                .put(value);
        return longer;
    }

    /** Adds a key to a bucket's contents; the bucket is null if it is new. */
    private void list(int side, long number, Bucket bucket, byte[] key) {
        byte[] name = name(side, number);
        byte[] listed = null;
        if (bucket == null) {
            bucket = new Bucket(0, gone());
            known.get(side).put(number, bucket);
            buckets.insert(name, 0L);
        } else if (!isEndless) {
            listed = contents.getValue(numbered(name, bucket.last));
            if (listed.length >= FULL) {
                listed = null;
                buckets.updateValue(name, ++bucket.last);
            }
        }
        if (isEndless) {
            return;
        }
        int at = listed == null ? 0 : listed.length;
        byte[] longer = new byte[at + 4 + key.length];
        if (listed != null) {
            System.arraycopy(listed, 0, longer, 0, at);
        }
        ByteBuffer.wrap(longer, at, longer.length - at).putInt(key.length).put(key);
        if (listed == null) {
            contents.insert(numbered(name, bucket.last), longer);
        } else {
            contents.updateValue(numbered(name, bucket.last), longer);
        }
    }

    /**
     * Removes a side's buckets whose rows can no longer be matched, unless one of the rows may
     * still wait.
     */
    private void expire(int side) {
        TreeMap<Long, Bucket> mine = known.get(side);
        long gone = gone(side);
        while (!mine.isEmpty()) {
            long newest = (mine.firstKey() + 1) * width - 1;
            boolean mayWait =
                    !deadlines.isEmpty() && deadlines.firstKey() <= newest + after[side] + grace;
            if (newest > gone || mayWait) {
                return;
            }
            Map.Entry<Long, Bucket> oldest = mine.pollFirstEntry();
            byte[] name = name(side, oldest.getKey());
            for (long i = 0; i <= oldest.getValue().last; i++) {
                byte[] place = numbered(name, i);
                ByteBuffer listed = ByteBuffer.wrap(contents.getValue(place));
                while (listed.hasRemaining()) {
                    byte[] key = new byte[listed.getInt()];
                    listed.get(key);
                    remove(side, oldest.getKey(), oldest.getValue(), key);
                }
                contents.removeKey(place);
            }
            buckets.removeKey(name);
        }
    }

    private void remove(int side, long number, Bucket bucket, byte[] key) {
        byte[] name = group(side, number, key, 0);
        int parts = ByteBuffer.wrap(part(bucket, name)).getInt();
        for (int n = 1; n <= parts; n++) {
            groups.removeKey(group(side, number, key, n));
        }
        groups.removeKey(name);
    }

    /** Emits waiting rows that can no longer be matched: by time, the right side's first. */
    private void release() {
        List<byte[]> due = new ArrayList<>();
        while (!deadlines.isEmpty() && deadlines.firstKey() < streamTime) {
            due.addAll(deadlines.pollFirstEntry().getValue());
        }
        due.sort(
                Comparator.<byte[]>comparingLong(
                                entry -> ByteBuffer.wrap(entry).getLong() - after[entry[8]])
                        .thenComparing(entry -> -entry[8])
                        .thenComparing(
                                (one, two) ->
                                        Arrays.compareUnsigned(
                                                one, 9, one.length, two, 9, two.length)));
        for (byte[] entry : due) {
            waiting.removeKey(entry);
            Stored stored = Stored.at(this, Arrays.copyOfRange(entry, 8, entry.length));
            stored.settle();
            byte[] key = Arrays.copyOfRange(stored.name, 9, stored.name.length - 4);
            emitWaiting(
                    key,
                    stored.ts,
                    stored.name[0] == 0 ? stored.row() : null,
                    stored.name[0] == 0 ? null : stored.row());
        }
    }

    private void await(long deadline, byte[] place) {
        byte[] entry = ByteBuffer.allocate(8 + place.length).putLong(deadline).put(place).array();
        waiting.updateValue(entry, new byte[0]);
        deadlines.computeIfAbsent(deadline, d -> new ArrayList<>()).add(entry);
    }

    private void settle(long deadline, byte[] place) {
        byte[] entry = ByteBuffer.allocate(8 + place.length).putLong(deadline).put(place).array();
        waiting.removeKey(entry);
        List<byte[]> there = deadlines.get(deadline);
        if (there != null) {
            there.removeIf(other -> Arrays.equals(other, entry));
            if (there.isEmpty()) {
                deadlines.remove(deadline);
            }
        }
    }

    private static byte[] name(int side, long bucket) {
        return ByteBuffer.allocate(9).put((byte) side).putLong(bucket).array();
    }

    private static byte[] group(int side, long bucket, byte[] key, int part) {
        return ByteBuffer.allocate(13 + key.length)
                .put((byte) side)
                .putLong(bucket)
                .put(key)
                .putInt(part)
                .array();
    }

    private static byte[] place(byte[] name, int at) {
        return ByteBuffer.allocate(name.length + 4).put(name).putInt(at).array();
    }

    private static byte[] numbered(byte[] group, long n) {
        return ByteBuffer.allocate(group.length + 8).put(group).putLong(n).array();
    }
}
