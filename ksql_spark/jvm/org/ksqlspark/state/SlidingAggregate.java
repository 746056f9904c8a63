package org.ksqlspark.state;

import org.apache.spark.sql.streaming.MapState;
import org.ksqlspark.log.LateRow;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Aggregates per key and sliding window (reference §2.6). A window ends with each record, and one
 * begins right after each record that others follow within the size; both bounds are inclusive.
 * Windows that would begin before 1970 are one, which begins there.
 *
 * <p>A window is closed once stream time is past its end and the grace period: then it changes no
 * more for readers. It is still kept up to date until no record can come from which a window begins
 * that shares records with it. So a record that is too late for some windows is in all others.
 *
 * <p>State per key: the times of its records, and its windows by start as (start, was passed on?,
 * length, buffer). An index lists keys by the times at which windows close or are forgotten.
 */
final class SlidingAggregate extends KeyedOperator {
    private final Aggregator aggregator;
    private final long size;
    private final long grace;
    private final boolean isFinal;

    /** How long after its end a window may still have records that a new window needs. */
    private final long memory;

    private transient MapState<byte[], byte[]> groups;
    private transient KeysByTime ends;

    SlidingAggregate(Aggregator aggregator, long size, long grace, boolean isFinal) {
        this.aggregator = aggregator;
        this.size = size;
        this.grace = grace;
        this.isFinal = isFinal;
        this.memory = 2 * size + 2;
    }

    private static final class Window {
        final long start;
        boolean wasPassed;

        /** Null: no record has been added. */
        byte[] buffer;

        Window(long start, byte[] buffer) {
            this.start = start;
            this.buffer = buffer;
        }
    }

    /** What is known of a key. */
    private final class Group {
        final TreeSet<Long> times = new TreeSet<>();
        final TreeMap<Long, Window> windows = new TreeMap<>();

        /** The time of the latest record in a window; null: it has none. */
        Long latest(Window window) {
            Long time = times.floor(window.start + size);
            return time == null || time < window.start ? null : time;
        }

        /**
         * A window that begins at {@code start}, unless it is there.
         *
         * @param before the last window that begins earlier: records of the new one are in it too,
         *     and if it has a record that is not too early, all its records are in the new one
         */
        Window begin(long start, Map.Entry<Long, Window> before) {
            if (windows.containsKey(start)) {
                return null;
            }
            Long latest = before == null ? null : latest(before.getValue());
            boolean isShared = latest != null && latest >= start;
            Window window = new Window(start, isShared ? before.getValue().buffer : null);
            windows.put(start, window);
            return window;
        }
    }

    @Override
    protected void open() {
        aggregator.open();
        groups = bytes("groups");
        ends = new KeysByTime(bytes("ends"));
    }

    @Override
    protected void taskChanged(int number) {
        ends.taskChanged(number);
    }

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        if (ts < 0 || isClosed(ts + 1)) {
            long needed = streamTime - size - ts - 1;
            late(new LateRow.Lateness(streamTime, needed, Math.max(0, ts - size), ts));
        } else {
            add(key, ts, value);
        }
        timePassed();
    }

    private boolean isClosed(long start) {
        return start + size + grace < streamTime;
    }

    private void add(byte[] key, long ts, byte[] value) {
        Group group = load(key);
        List<Window> begun = new ArrayList<>();
        Long previous = group.times.lower(ts);
        if (previous != null && previous + 1 + size >= ts) {
            begun.add(group.begin(previous + 1, null));
        }
        long first = Math.max(0, ts - size);
        begun.add(group.begin(first, group.windows.lowerEntry(first)));
        Long next = group.times.higher(ts);
        Window after = null;
        if (next != null && next <= ts + 1 + size) {
            after = group.begin(ts + 1, group.windows.floorEntry(ts));
            begun.add(after);
        }
        group.times.add(ts);
        for (Window window : group.windows.subMap(first, true, ts, true).values()) {
            if (window.buffer == null) {
                aggregator.reset();
            } else {
                aggregator.load(window.buffer, 0);
            }
            aggregator.add(value);
            window.buffer = aggregator.save(0);
            changed(key, group, window);
        }
        if (after != null) {
            aggregator.load(after.buffer, 0);
            changed(key, group, after);
        }
        save(key, group);
        for (Window window : begun) {
            if (window != null) {
                ends.add(window.start + size + memory, key);
                if (isFinal && !isClosed(window.start)) {
                    ends.add(window.start + size, key);
                }
            }
        }
    }

    /** Emits a window, which the aggregator has, unless it is closed. */
    private void changed(byte[] key, Group group, Window window) {
        if (isFinal || isClosed(window.start)) {
            return;
        }
        boolean passes = aggregator.passes();
        if (passes || window.wasPassed) {
            byte[] row = passes ? aggregator.result() : null;
            long time = group.latest(window);
            emitChange(key, time, row, window.start, window.start + size, !window.wasPassed);
        }
        window.wasPassed = passes;
    }

    @Override
    protected void forget(byte[] key) {
        for (long start : load(key).windows.keySet()) {
            ends.remove(start + size, key);
            ends.remove(start + size + memory, key);
        }
        groups.removeKey(key);
    }

    @Override
    protected long end() {
        return ends.isEmpty() ? Long.MIN_VALUE : ends.last() - memory + grace + 1;
    }

    @Override
    protected void timePassed() {
        KeysByTime.Due due;
        while ((due = ends.poll(time -> time + grace < streamTime)) != null) {
            for (byte[] key : due.keys()) {
                Group group = load(key);
                Window closed = group.windows.get(due.time() - size);
                if (isFinal && closed != null) {
                    aggregator.load(closed.buffer, 0);
                    if (aggregator.passes()) {
                        long time = group.latest(closed);
                        emitWaiting(key, time, aggregator.result(), closed.start, due.time());
                    }
                }
                NavigableMap<Long, Window> forgotten =
                        group.windows.headMap(due.time() - memory - size, true);
                if (!forgotten.isEmpty()) {
                    forgotten.clear();
                    group.times.headSet(due.time() - memory, true).clear();
                    save(key, group);
                }
            }
        }
    }

    private Group load(byte[] key) {
        Group group = new Group();
        byte[] saved = groups.getValue(key);
        if (saved != null) {
            ByteBuffer data = ByteBuffer.wrap(saved);
            for (int left = data.getInt(); left > 0; left--) {
                group.times.add(data.getLong());
            }
            while (data.hasRemaining()) {
                Window window = new Window(data.getLong(), null);
                window.wasPassed = data.get() == 1;
                window.buffer = new byte[data.getInt()];
                data.get(window.buffer);
                group.windows.put(window.start, window);
            }
        }
        return group;
    }

    private void save(byte[] key, Group group) {
        if (group.windows.isEmpty()) {
            groups.removeKey(key);
            return;
        }
        int length = 4 + 8 * group.times.size();
        for (Window window : group.windows.values()) {
            length += 13 + window.buffer.length;
        }
        ByteBuffer data = ByteBuffer.allocate(length).putInt(group.times.size());
        group.times.forEach(data::putLong);
        for (Window window : group.windows.values()) {
            data.putLong(window.start).put((byte) (window.wasPassed ? 1 : 0));
            data.putInt(window.buffer.length).put(window.buffer);
        }
        groups.updateValue(key, data.array());
    }
}
