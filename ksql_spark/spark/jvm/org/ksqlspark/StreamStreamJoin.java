package org.ksqlspark;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.streaming.MapState;

/**
 * Stream with stream (reference §6.5).
 *
 * Rows lie in buckets of time as long as the window: per side, key and bucket a count, and per number in it
 * (timestamp, matched?, row). So a record looks at two or three buckets, however many rows the key has. A list
 * of what each bucket holds lets whole buckets go when no record can meet them any more.
 */
final class StreamStreamJoin extends KeyedOperator {
    private static final long DAY = 24 * 3600 * 1000L;

    private final boolean[] outer;
    /** How far the other side's time may be before and after this side's. */
    private final long[] before;
    private final long[] after;
    private final long grace;
    /** Unmatched rows leave as soon as they come, not when their window closes. */
    private final boolean isEager;
    private final long width;

    private transient MapState<byte[], byte[]> rows;
    private transient MapState<byte[], Long> counts;
    private transient MapState<byte[], byte[]> contents;
    private transient MapState<byte[], Long> buckets;
    private transient MapState<byte[], byte[]> waiting;
    /** Buckets there are, and unmatched rows by the time they must leave; what state has, in order. */
    private transient TreeMap<Long, Long> known;
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
        rows = bytes("rows");
        counts = longs("counts");
        contents = bytes("contents");
        buckets = longs("buckets");
        waiting = bytes("waiting");
    }

    @Override
    protected void taskChanged() {
        known = new TreeMap<>();
        deadlines = new TreeMap<>();
        scala.collection.Iterator<scala.Tuple2<byte[], Long>> there = buckets.iterator();
        while (there.hasNext()) {
            scala.Tuple2<byte[], Long> bucket = there.next();
            known.put(ByteBuffer.wrap(bucket._1()).getLong(), bucket._2());
        }
        scala.collection.Iterator<byte[]> unmatched = waiting.keys();
        while (unmatched.hasNext()) {
            byte[] place = unmatched.next();
            deadlines.computeIfAbsent(ByteBuffer.wrap(place).getLong(), d -> new ArrayList<>()).add(place);
        }
    }

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        if (value == null) {
            return;
        }
        if (!isEager) {
            release();
        }
        boolean isLate = ts + after[side] + grace < streamTime;
        boolean isMatched = false;
        if (key.length > 0 && (!isLate || outer[side])) {
            for (byte[][] match : matches(key, side, ts)) {
                ByteBuffer found = ByteBuffer.wrap(match[1]);
                long other = found.getLong();
                boolean wasMatched = found.get() == 1;
                byte[] row = Arrays.copyOfRange(match[1], 9, match[1].length);
                long time = Math.max(ts, other);
                emit(key, time, side == 0 ? value : row, side == 0 ? row : value);
                isMatched = true;
                if (!wasMatched && outer[1 - side] && !isEager) {
                    match[1][8] = 1;
                    rows.updateValue(match[0], match[1]);
                    settle(other + after[1 - side] + grace, match[0]);
                }
            }
        }
        boolean leavesNow = outer[side] && !isMatched && (isEager || isLate || key.length == 0);
        if (leavesNow) {
            emit(key, ts, side == 0 ? value : null, side == 0 ? null : value);
        }
        if (!isLate && key.length > 0) {
            byte[] place = store(key, side, ts, value, isMatched || !outer[side] || isEager);
            if (outer[side] && !isMatched && !isEager) {
                await(ts + after[side] + grace, place);
            }
        }
        expire();
    }

    /** Rows of the other side within the window, as (place, stored bytes), by their time. */
    private List<byte[][]> matches(byte[] key, int side, long ts) {
        List<byte[][]> found = new ArrayList<>();
        long first = ts - before[side];
        long last = ts + after[side];
        for (long bucket = Math.floorDiv(first, width); bucket <= Math.floorDiv(last, width); bucket++) {
            byte[] group = group(1 - side, bucket, key);
            Long count = counts.getValue(group);
            for (long n = 0; count != null && n < count; n++) {
                byte[] place = numbered(group, n);
                byte[] stored = rows.getValue(place);
                long other = ByteBuffer.wrap(stored).getLong();
                if (other >= first && other <= last) {
                    found.add(new byte[][] {place, stored});
                }
            }
        }
        found.sort(Comparator.comparingLong(match -> ByteBuffer.wrap(match[1]).getLong()));
        return found;
    }

    private byte[] store(byte[] key, int side, long ts, byte[] value, boolean isSettled) {
        long bucket = Math.floorDiv(ts, width);
        byte[] group = group(side, bucket, key);
        Long count = counts.getValue(group);
        if (count == null) {
            count = 0L;
            long listed = known.getOrDefault(bucket, 0L);
            contents.updateValue(numbered(ByteBuffer.allocate(8).putLong(bucket).array(), listed), group);
            known.put(bucket, listed + 1);
            buckets.updateValue(ByteBuffer.allocate(8).putLong(bucket).array(), listed + 1);
        }
        byte[] place = numbered(group, count);
        ByteBuffer stored = ByteBuffer.allocate(9 + value.length).putLong(ts).put((byte) (isSettled ? 1 : 0));
        rows.updateValue(place, stored.put(value).array());
        counts.updateValue(group, count + 1);
        return place;
    }

    /** Drop buckets that no record can meet: the newest row in them is too old for any that is not late. */
    private void expire() {
        long kept = Math.max(before[0], after[0]) + grace;
        while (!known.isEmpty() && (known.firstKey() + 1) * width + kept + grace < streamTime) {
            Map.Entry<Long, Long> oldest = known.pollFirstEntry();
            byte[] bucket = ByteBuffer.allocate(8).putLong(oldest.getKey()).array();
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

    /** Rows of an outer side that met nothing, once no more can come: alone, in order of time. */
    private void release() {
        while (!deadlines.isEmpty() && deadlines.firstKey() < streamTime) {
            for (byte[] entry : deadlines.pollFirstEntry().getValue()) {
                byte[] place = Arrays.copyOfRange(entry, 8, entry.length);
                waiting.removeKey(entry);
                byte[] stored = rows.getValue(place);
                stored[8] = 1;
                rows.updateValue(place, stored);
                boolean isLeft = place[0] == 0;
                byte[] key = Arrays.copyOfRange(place, 9, place.length - 8);
                byte[] row = Arrays.copyOfRange(stored, 9, stored.length);
                emit(key, ByteBuffer.wrap(stored).getLong(), isLeft ? row : null, isLeft ? null : row);
            }
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

    private static byte[] group(int side, long bucket, byte[] key) {
        return ByteBuffer.allocate(9 + key.length).put((byte) side).putLong(bucket).put(key).array();
    }

    private static byte[] numbered(byte[] group, long n) {
        return ByteBuffer.allocate(group.length + 8).put(group).putLong(n).array();
    }
}
