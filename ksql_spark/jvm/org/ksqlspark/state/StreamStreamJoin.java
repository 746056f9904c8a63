package org.ksqlspark.state;

import org.apache.spark.sql.streaming.MapState;

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
 * emitted: at once if its window is over, else when stream time passes window and grace period.
 * Each side's own time, the greatest of its kept rows, determines how long its rows can be matched:
 * window and grace period. So a side that lags behind still matches rows of the other side that the
 * task's time has left behind.
 *
 * <p>Rows are stored in buckets of time as long as the window: per side, key and bucket a count,
 * and per index in it (timestamp, waits?, row). So a record reads two or three buckets, however
 * many rows its key has. An index of the keys in each bucket of a side lets whole buckets be
 * removed once no record can match them.
 */
final class StreamStreamJoin extends KeyedOperator {
    private static final long DAY = 24 * 3600 * 1000L;

    private final boolean[] outer;

    /** How far the other side's time may be before and after this side's. */
    private final long[] before;

    private final long[] after;
    private final long grace;

    /** Unmatched rows are emitted as soon as they come, not when their window closes. */
    private final boolean isEager;

    private final long width;

    private transient MapState<byte[], byte[]> rows;
    private transient MapState<byte[], Long> counts;
    private transient MapState<byte[], byte[]> contents;
    private transient MapState<byte[], Long> buckets;
    private transient MapState<byte[], byte[]> waiting;
    private transient MapState<byte[], Long> clocks;

    /** What is kept of a task in the heap, as in the state. */
    private static final class Index {
        /** Each side's own time. */
        final long[] times = new long[2];

        /** The buckets of each side, with the number of their keys. */
        final List<TreeMap<Long, Long>> known = List.of(new TreeMap<>(), new TreeMap<>());

        /** All waiting rows by the time they must be emitted. */
        final TreeMap<Long, List<byte[]>> deadlines = new TreeMap<>();
    }

    private transient Map<Integer, Index> indexes;

    /** Of the current task. */
    private transient long[] times;

    private transient List<TreeMap<Long, Long>> known;
    private transient TreeMap<Long, List<byte[]>> deadlines;

    StreamStreamJoin(boolean leftOuter, boolean rightOuter, long before, long after, long grace) {
        this.outer = new boolean[] {leftOuter, rightOuter};
        this.before = new long[] {before, after};
        this.after = new long[] {after, before};
        this.isEager = grace < 0;
        this.grace = grace < 0 ? DAY : grace;
        this.width = Math.max(1, before + after + 1);
    }

    @Override
    protected void open() {
        indexes = new HashMap<>();
        rows = bytes("rows");
        counts = longs("counts");
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
            index.known.get(name.get()).put(name.getLong(), bucket._2());
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

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        if (value == null) {
            return;
        }
        if (key.length == 0) {
            if (outer[side]) {
                alone(key, side, ts, value);
            }
            return;
        }
        if (ts == streamTime) {
            release();
        }
        List<byte[][]> matches = matches(key, side, ts);
        for (byte[][] match : matches) {
            ByteBuffer found = ByteBuffer.wrap(match[1]);
            long other = found.getLong();
            boolean waits = found.get() == 1;
            byte[] row = Arrays.copyOfRange(match[1], 9, match[1].length);
            emit(key, Math.max(ts, other), side == 0 ? value : row, side == 0 ? row : value);
            if (waits) {
                match[1][8] = 0;
                rows.updateValue(match[0], match[1]);
                settle(other + after[1 - side] + grace, match[0]);
            }
        }
        boolean isAlone = outer[side] && matches.isEmpty();
        boolean waits = isAlone && !isEager && ts + after[side] >= streamTime;
        if (isAlone && !waits) {
            alone(key, side, ts, value);
        }
        byte[] place = store(key, side, ts, value, waits);
        if (waits) {
            await(ts + after[side] + grace, place);
        }
        expire(side);
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
        return times[side] == Long.MIN_VALUE
                ? Long.MIN_VALUE
                : times[side] - before[0] - after[0] - grace;
    }

    /**
     * Rows of the other side within the window that still exist, as (index, stored bytes), by time.
     */
    private List<byte[][]> matches(byte[] key, int side, long ts) {
        List<byte[][]> found = new ArrayList<>();
        long gone = gone(1 - side);
        long first = ts - before[side];
        long last = ts + after[side];
        for (long bucket = Math.floorDiv(first, width);
                bucket <= Math.floorDiv(last, width);
                bucket++) {
            if (!known.get(1 - side).containsKey(bucket)) {
                continue;
            }
            byte[] group = group(1 - side, bucket, key);
            Long count = counts.getValue(group);
            for (long n = 0; count != null && n < count; n++) {
                byte[] place = numbered(group, n);
                byte[] stored = rows.getValue(place);
                long other = ByteBuffer.wrap(stored).getLong();
                if (other >= first && other <= last && other > gone) {
                    found.add(new byte[][] {place, stored});
                }
            }
        }
        found.sort(Comparator.comparingLong(match -> ByteBuffer.wrap(match[1]).getLong()));
        return found;
    }

    /**
     * Stores a row to be matched; a row that no record can match any more is stored only if it
     * waits to be emitted unmatched.
     */
    private byte[] store(byte[] key, int side, long ts, byte[] value, boolean waits) {
        if (ts > times[side]) {
            times[side] = ts;
            clocks.updateValue(new byte[] {(byte) side}, ts);
        }
        if (ts <= gone(side) && !waits) {
            late();
            return null;
        }
        long bucket = Math.floorDiv(ts, width);
        byte[] group = group(side, bucket, key);
        Long count = counts.getValue(group);
        if (count == null) {
            count = 0L;
            long listed = known.get(side).getOrDefault(bucket, 0L);
            byte[] name = name(side, bucket);
            contents.updateValue(numbered(name, listed), group);
            known.get(side).put(bucket, listed + 1);
            buckets.updateValue(name, listed + 1);
        }
        byte[] place = numbered(group, count);
        ByteBuffer stored =
                ByteBuffer.allocate(9 + value.length).putLong(ts).put((byte) (waits ? 1 : 0));
        rows.updateValue(place, stored.put(value).array());
        counts.updateValue(group, count + 1);
        return place;
    }

    /**
     * Removes a side's buckets whose rows can no longer be matched, unless one of the rows may
     * still wait.
     */
    private void expire(int side) {
        TreeMap<Long, Long> mine = known.get(side);
        long gone = gone(side);
        while (!mine.isEmpty()) {
            long newest = (mine.firstKey() + 1) * width - 1;
            boolean mayWait =
                    !deadlines.isEmpty() && deadlines.firstKey() <= newest + after[side] + grace;
            if (newest > gone || mayWait) {
                return;
            }
            Map.Entry<Long, Long> oldest = mine.pollFirstEntry();
            byte[] bucket = name(side, oldest.getKey());
            for (long i = 0; i < oldest.getValue(); i++) {
                byte[] listed = numbered(bucket, i);
                byte[] group = contents.getValue(listed);
                Long count = counts.getValue(group);
                for (long n = 0; count != null && n < count; n++) {
                    rows.removeKey(numbered(group, n));
                }
                counts.removeKey(group);
                contents.removeKey(listed);
            }
            buckets.removeKey(bucket);
        }
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
            byte[] place = Arrays.copyOfRange(entry, 8, entry.length);
            byte[] stored = rows.getValue(place);
            stored[8] = 0;
            rows.updateValue(place, stored);
            byte[] key = Arrays.copyOfRange(place, 9, place.length - 8);
            byte[] row = Arrays.copyOfRange(stored, 9, stored.length);
            emitWaiting(
                    key,
                    ByteBuffer.wrap(stored).getLong(),
                    place[0] == 0 ? row : null,
                    place[0] == 0 ? null : row);
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

    private static byte[] group(int side, long bucket, byte[] key) {
        return ByteBuffer.allocate(9 + key.length)
                .put((byte) side)
                .putLong(bucket)
                .put(key)
                .array();
    }

    private static byte[] numbered(byte[] group, long n) {
        return ByteBuffer.allocate(group.length + 8).put(group).putLong(n).array();
    }
}
