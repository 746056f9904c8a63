package org.ksqlspark.state;

import org.apache.spark.sql.streaming.MapState;
import org.ksqlspark.log.LateRow;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * Aggregates per key, or per key and window that is not a session (reference §6.8, §6.9).
 *
 * <p>State per window and key: (greatest timestamp, was passed on?, the aggregates' buffer). A
 * numbered list of each window's keys is used to remove the window, or to emit it with EMIT FINAL,
 * when stream time closes it.
 *
 * <p>Without windows there may be a TTL: a group without records for so long is deleted, and a
 * record after that begins a new one.
 */
final class WindowAggregate extends KeyedOperator implements Expiry.Rows {
    /** Bytes before the aggregates' buffer: the timestamp and the flag. */
    private static final int HEAD = 9;

    private final Aggregator aggregator;
    private final boolean isUnwindowed;

    /** Null without windows. */
    private final Windows ofTime;

    private final long ttl;
    private final long grace;
    private final boolean isFinal;
    private final boolean isLossy;

    private transient MapState<byte[], byte[]> groups;

    /** The groups of each open window, by the window's number; null without windows. */
    private transient ListsByTime windows;

    /** Null: no aggregate has DISTINCT. */
    private transient DistinctValues distinct;

    /** Null without a TTL. */
    private transient Expiry expiry;

    /** The rows that were emitted of groups whose next record is to emit another one. */
    private transient Map<ByteBuffer, byte[]> emitted;

    WindowAggregate(
            Aggregator aggregator,
            Windows ofTime,
            long ttl,
            long grace,
            boolean isFinal,
            boolean isLossy) {
        this.aggregator = aggregator;
        this.isUnwindowed = ofTime == null;
        this.ofTime = ofTime;
        this.ttl = ttl;
        this.grace = grace;
        this.isFinal = isFinal;
        this.isLossy = isLossy;
    }

    @Override
    protected void open() {
        aggregator.open();
        emitted = new HashMap<>();
        groups = bytes("groups");
        if (!isUnwindowed) {
            windows = new ListsByTime(bytes("members"), longs("windows"));
        } else if (ttl > 0) {
            expiry = new Expiry(this, ttl);
        }
        distinct = DistinctValues.of(aggregator.columns(), this, !isUnwindowed || ttl > 0);
    }

    @Override
    protected void taskChanged(int number) {
        if (!isUnwindowed) {
            windows.taskChanged(number);
        } else if (expiry != null) {
            expiry.taskChanged(number);
        }
    }

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        if (expiry != null) {
            updateUnlessExpired(key, ts, value);
            return;
        }
        if (isUnwindowed) {
            update(key, key, ts, value, 0, side != REPLACED);
            return;
        }
        boolean isLate = true;
        long newest = Long.MIN_VALUE;
        long end = 0;
        long window = ofTime.first(ts);
        for (long start; (start = ofTime.start(window)) <= ts; window = ofTime.next(window)) {
            newest = start;
            end = ofTime.end(window);
            if (end + grace > streamTime) {
                isLate = false;
                byte[] place = NumberedKey.of(window, key);
                if (update(place, key, ts, value, window, true)) {
                    windows.add(window, place);
                }
            }
        }
        if (isLate) {
            late(new LateRow.Lateness(streamTime, streamTime - end + 1, newest, end));
        }
        closeExpired(newest);
    }

    @Override
    protected void forget(byte[] key) {
        if (isUnwindowed) {
            remove(key);
            if (expiry != null) {
                expiry.forget(key);
            }
            return;
        }
        for (long window : windows.times().keySet()) {
            remove(NumberedKey.of(window, key));
        }
        windows.forget(place -> NumberedKey.has(place, key));
    }

    private void updateUnlessExpired(byte[] key, long ts, byte[] value) {
        if (expiry.hasExpired(ts, streamTime)) {
            late();
        } else if (update(key, key, ts, value, 0, true)) {
            expiry.list(key, ts);
        }
        expiry.check(streamTime, this);
    }

    @Override
    public long last(byte[] key) {
        return ByteBuffer.wrap(groups.getValue(key)).getLong();
    }

    @Override
    public void expire(byte[] key, long time) {
        byte[] saved = groups.getValue(key);
        boolean wasPassed = saved[HEAD - 1] == 1;
        remove(key);
        if (wasPassed && emitsChanges()) {
            aggregator.load(saved, HEAD);
            replace(key, time, Version.of(aggregator.result()), null, null, null, null);
        } else if (wasPassed) {
            emitWaiting(key, time, null, null);
        }
    }

    /** Adds a record and emits the result if asked to; returns true if the group is new. */
    private boolean update(
            byte[] place, byte[] key, long ts, byte[] value, long window, boolean emits) {
        byte[] saved = groups.getValue(place);
        long time = ts;
        boolean wasPassed = false;
        byte[] before = null;
        if (saved == null) {
            aggregator.reset();
        } else {
            ByteBuffer head = ByteBuffer.wrap(saved);
            long last = head.getLong();
            wasPassed = head.get() == 1;
            if (wasPassed && emitsChanges()) {
                before = before(place, saved, emits);
            }
            if (expiry != null && expiry.hasExpired(last, streamTime)) {
                remove(place);
                aggregator.reset();
            } else {
                time = Math.max(ts, last);
                aggregator.load(saved, HEAD);
            }
        }
        aggregator.add(distinct == null ? value : distinct.taken(place, value));
        boolean isPassed = emits ? !isFinal && aggregator.passes() : wasPassed;
        byte[] group = aggregator.save(HEAD);
        ByteBuffer.wrap(group).putLong(time).put((byte) (isPassed ? 1 : 0));
        groups.updateValue(place, group);
        if (!emits) {
            return saved == null;
        }
        if (isPassed) {
            send(key, time, before, aggregator.result(), window, !wasPassed);
        } else if (wasPassed) {
            send(key, ts, before, null, window, false);
        }
        return saved == null;
    }

    /**
     * The row that was emitted of a group. A record that emits nothing leaves the group in a state
     * that nobody sees, until the record that follows it.
     */
    private byte[] before(byte[] place, byte[] saved, boolean emits) {
        byte[] row = emitted.isEmpty() ? null : emitted.remove(ByteBuffer.wrap(place));
        if (row == null) {
            aggregator.load(saved, HEAD);
            row = aggregator.result();
        }
        if (!emits) {
            emitted.put(ByteBuffer.wrap(place), row);
        }
        return row;
    }

    private void remove(byte[] place) {
        groups.removeKey(place);
        if (distinct != null) {
            distinct.remove(place);
        }
    }

    private void send(
            byte[] key, long time, byte[] before, byte[] row, long window, boolean isNew) {
        if (emitsChanges()) {
            if (!Arrays.equals(before, row)) {
                replace(key, time, before, row, window, headers());
            }
        } else if (isUnwindowed) {
            emitChange(key, time, row, isNew);
        } else {
            emitChange(key, time, row, ofTime.start(window), ofTime.end(window), isNew);
        }
    }

    private void replace(
            byte[] key, long time, byte[] before, byte[] row, long window, byte[] own) {
        Long start = isUnwindowed ? null : (Long) ofTime.start(window);
        Long end = isUnwindowed ? null : (Long) ofTime.end(window);
        replace(key, time, Version.of(before), Version.of(row), start, end, own);
    }

    @Override
    protected long end() {
        return isUnwindowed || windows.times().isEmpty()
                ? Long.MIN_VALUE
                : ofTime.end(windows.times().lastKey()) + grace;
    }

    @Override
    protected void timePassed() {
        closeExpired(Long.MIN_VALUE);
    }

    /**
     * Removes windows that stream time has closed, and emits them with EMIT FINAL.
     *
     * @param newest start of the latest window of the current record; a window whose end and grace
     *     period lie before it has already left the store of Kafka Streams, and is lost there
     */
    private void closeExpired(long newest) {
        while (!windows.times().isEmpty()
                && ofTime.end(windows.times().firstKey()) + grace <= streamTime) {
            long window = windows.times().firstKey();
            long end = ofTime.end(window);
            boolean isLost = isLossy && end + grace < newest;
            windows.removeFirst(
                    place -> {
                        if (isFinal && !isLost) {
                            emitFinal(place, window, end);
                        }
                        remove(place);
                    });
        }
    }

    private void emitFinal(byte[] place, long window, long end) {
        byte[] saved = groups.getValue(place);
        aggregator.load(saved, HEAD);
        if (aggregator.passes()) {
            byte[] key = NumberedKey.key(place);
            long time = ByteBuffer.wrap(saved).getLong();
            emitClosed(key, time, aggregator.result(), ofTime.start(window), end);
        }
    }
}
