package org.ksqlspark.state;

import org.apache.spark.sql.streaming.MapState;
import org.ksqlspark.log.LateRow;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Aggregates per key and session (reference §6.9). A record merges all sessions within the gap:
 * they are deleted under their old bounds, and the merged session is emitted.
 *
 * <p>State per key: its sessions, each as (start, end, was passed on?, length, buffer), in order of
 * time. An index lists keys by the end of their sessions, to find closed ones.
 */
final class SessionAggregate extends KeyedOperator {
    private final Aggregator aggregator;
    private final long gap;
    private final long grace;
    private final boolean isFinal;

    private transient MapState<byte[], byte[]> sessions;
    private transient KeysByTime ends;

    SessionAggregate(Aggregator aggregator, long gap, long grace, boolean isFinal) {
        this.aggregator = aggregator;
        this.gap = gap;
        this.grace = grace;
        this.isFinal = isFinal;
    }

    private static final class Session {
        long start;
        long end;
        boolean wasPassed;
        byte[] buffer;
    }

    @Override
    protected void open() {
        aggregator.open();
        sessions = bytes("sessions");
        ends = new KeysByTime(bytes("ends"));
    }

    @Override
    protected void taskChanged(int number) {
        ends.taskChanged(number);
    }

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        List<Session> all = load(key);
        List<Session> merged = new ArrayList<>();
        long start = ts;
        long end = ts;
        for (Session session : all) {
            if (session.end >= ts - gap && session.start <= ts + gap) {
                merged.add(session);
                start = Math.min(start, session.start);
                end = Math.max(end, session.end);
            }
        }
        if (end + gap + grace < streamTime) {
            late(new LateRow.Lateness(streamTime, streamTime - end - gap, start, end));
            closeExpired();
            return;
        }
        aggregator.reset();
        for (Session session : merged) {
            aggregator.merge(session.buffer, 0);
        }
        aggregator.add(value);
        for (Session session : merged) {
            boolean isSame = session.start == start && session.end == end;
            if (session.wasPassed && !isSame) {
                emitChange(key, session.end, null, session.start, session.end, false);
            }
            if (!isSame) {
                ends.remove(session.end, key);
            }
        }
        boolean wasSame =
                merged.size() == 1 && merged.get(0).start == start && merged.get(0).end == end;
        boolean passes = !isFinal && aggregator.passes();
        boolean wasPassed = wasSame && merged.get(0).wasPassed;
        if (passes) {
            emitChange(key, end, aggregator.result(), start, end, !wasPassed);
        } else if (wasPassed) {
            emitChange(key, end, null, start, end, false);
        }
        Session session = new Session();
        session.start = start;
        session.end = end;
        session.wasPassed = passes;
        session.buffer = aggregator.save(0);
        all.removeAll(merged);
        int at = 0;
        while (at < all.size() && all.get(at).start < start) {
            at++;
        }
        all.add(at, session);
        save(key, all);
        if (!wasSame) {
            ends.add(end, key);
        }
        closeExpired();
    }

    @Override
    protected void forget(byte[] key) {
        for (Session session : load(key)) {
            ends.remove(session.end, key);
        }
        sessions.removeKey(key);
    }

    @Override
    protected long end() {
        return ends.isEmpty() ? Long.MIN_VALUE : ends.last() + gap + grace + 1;
    }

    @Override
    protected void timePassed() {
        closeExpired();
    }

    /** Removes sessions that stream time has closed, and emits them with EMIT FINAL. */
    private void closeExpired() {
        KeysByTime.Due due;
        while ((due = ends.poll(end -> end + gap + grace < streamTime)) != null) {
            long end = due.time();
            for (byte[] key : due.keys()) {
                List<Session> left = new ArrayList<>();
                for (Session session : load(key)) {
                    if (session.end != end) {
                        left.add(session);
                    } else if (isFinal) {
                        aggregator.load(session.buffer, 0);
                        if (aggregator.passes()) {
                            emitWaiting(key, end, aggregator.result(), session.start, end);
                        }
                    }
                }
                save(key, left);
            }
        }
    }

    private List<Session> load(byte[] key) {
        List<Session> all = new ArrayList<>();
        byte[] saved = sessions.getValue(key);
        if (saved != null) {
            ByteBuffer data = ByteBuffer.wrap(saved);
            while (data.hasRemaining()) {
                Session session = new Session();
                session.start = data.getLong();
                session.end = data.getLong();
                session.wasPassed = data.get() == 1;
                session.buffer = new byte[data.getInt()];
                data.get(session.buffer);
                all.add(session);
            }
        }
        return all;
    }

    private void save(byte[] key, List<Session> all) {
        if (all.isEmpty()) {
            sessions.removeKey(key);
            return;
        }
        int length = 0;
        for (Session session : all) {
            length += 21 + session.buffer.length;
        }
        ByteBuffer data = ByteBuffer.allocate(length);
        for (Session session : all) {
            data.putLong(session.start)
                    .putLong(session.end)
                    .put((byte) (session.wasPassed ? 1 : 0));
            data.putInt(session.buffer.length).put(session.buffer);
        }
        sessions.updateValue(key, data.array());
    }
}
