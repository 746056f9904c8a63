package org.ksqlspark.state;

import org.ksqlspark.log.LateRow;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Aggregates per key and hopping window that are emitted once, when stream time closes the window
 * (reference §6.8, EMIT FINAL). Windows share slices, which lie between two of their bounds. So a
 * record is added to one slice, however many windows it is in, and the slices of a window are
 * merged when it closes. Results are those of {@link WindowAggregate}; keys come in the order of
 * their first slices, then in that of arrival.
 *
 * <p>State per slice and key: (greatest timestamp, the aggregates' buffer). A numbered list of each
 * slice's groups, and the first window that has not been closed.
 */
final class SliceAggregate extends KeyedOperator {
    /** Bytes before the aggregates' buffer: the timestamp. */
    private static final int HEAD = 8;

    /** The key of the only entry of a state. */
    private static final byte[] ONLY = {};

    private final Aggregator aggregator;
    private final long size;
    private final long advance;
    private final long grace;
    private final boolean isLossy;

    private transient StateCache.Cached<byte[]> groups;
    private transient ListsByTime slices;
    private transient StateCache.Cached<Long> progress;

    /** Start of the first window of the current task that has not been closed. */
    private transient long firstOpen;

    SliceAggregate(Aggregator aggregator, long size, long advance, long grace, boolean isLossy) {
        this.aggregator = aggregator;
        this.size = size;
        this.advance = advance;
        this.grace = grace;
        this.isLossy = isLossy;
    }

    @Override
    protected void open() {
        aggregator.open();
        groups = bytes("groups");
        slices = new ListsByTime(bytes("members"), longs("slices"));
        progress = longs("open");
    }

    @Override
    protected void taskChanged(int number) {
        slices.taskChanged(number);
        Long stored = progress.getValue(ONLY);
        firstOpen = stored == null ? 0 : stored;
    }

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        long newest = Math.floorDiv(ts, advance) * advance;
        closeExpired(newest);
        if (newest < firstOpen) {
            long end = newest + size;
            late(new LateRow.Lateness(streamTime, streamTime - end + 1, newest, end));
            return;
        }
        long last = size % advance; // where, after the start of a window, an earlier one ends
        add(ts < newest + last ? newest : newest + last, key, ts, value);
    }

    private void add(long slice, byte[] key, long ts, byte[] value) {
        byte[] place = NumberedKey.of(slice, key);
        byte[] saved = groups.getValue(place);
        long time = ts;
        if (saved == null) {
            aggregator.reset();
            slices.add(slice, place);
        } else {
            time = Math.max(ts, time(saved));
            aggregator.load(saved, HEAD);
        }
        aggregator.add(value);
        byte[] group = aggregator.save(HEAD);
        ByteBuffer.wrap(group).putLong(time);
        groups.updateValue(place, group);
    }

    private static long time(byte[] group) {
        return ByteBuffer.wrap(group).getLong();
    }

    @Override
    protected void forget(byte[] key) {
        for (long slice : slices.times().keySet()) {
            groups.removeKey(NumberedKey.of(slice, key));
        }
        slices.forget(place -> NumberedKey.has(place, key));
    }

    @Override
    protected long end() {
        return slices.times().isEmpty()
                ? Long.MIN_VALUE
                : slices.times().lastKey() / advance * advance + size + grace;
    }

    @Override
    protected void timePassed() {
        closeExpired(Long.MIN_VALUE);
    }

    private boolean isExpired(long window) {
        return window + size + grace <= streamTime;
    }

    /**
     * Emits windows that stream time has closed, and removes slices that no open window has.
     *
     * @param newest start of the latest window of the current record, see WindowAggregate
     */
    private void closeExpired(long newest) {
        if (!isExpired(firstOpen)) {
            return;
        }
        while (!slices.times().isEmpty()) {
            long first = slices.times().firstKey();
            long window =
                    Math.max(firstOpen, Math.max(0, first - size + advance) / advance * advance);
            if (!isExpired(window)) {
                break;
            }
            if (!isLossy || window + size + grace >= newest) {
                emit(window);
            }
            firstOpen = window + advance;
            while (!slices.times().isEmpty() && slices.times().firstKey() < firstOpen) {
                slices.removeFirst(groups::removeKey);
            }
        }
        firstOpen = (streamTime - size - grace) / advance * advance + advance;
        progress.updateValue(ONLY, firstOpen);
    }

    private void emit(long window) {
        Map<ByteBuffer, List<byte[]>> parts = new LinkedHashMap<>();
        for (long slice : slices.times().subMap(window, window + size).keySet()) {
            slices.forEach(
                    slice,
                    place ->
                            parts.computeIfAbsent(
                                            ByteBuffer.wrap(place, 8, place.length - 8),
                                            key -> new ArrayList<>())
                                    .add(place));
        }
        for (List<byte[]> places : parts.values()) {
            long time = Long.MIN_VALUE;
            for (byte[] place : places) {
                byte[] saved = groups.getValue(place);
                if (time == Long.MIN_VALUE) {
                    aggregator.load(saved, HEAD);
                } else {
                    aggregator.merge(saved, HEAD);
                }
                time = Math.max(time, time(saved));
            }
            if (aggregator.passes()) {
                byte[] place = places.get(0);
                byte[] key = NumberedKey.key(place);
                emitClosed(key, time, aggregator.result(), window, window + size);
            }
        }
    }
}
