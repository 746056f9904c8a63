package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Each record with aggregates of the records of its key before and after it, in the order of
 * arrival (OVER, reference §6.14).
 *
 * <p>In: rows of two columns, the record's row and the arguments of the aggregates. Out: the
 * record's row, and a row with the packed results of each frame.
 *
 * <p>State per key: the arguments of as many records as the longest frame with a beginning goes
 * back, oldest first, as (length, bytes); the buffer of each frame without one. So a frame with a
 * beginning is aggregated anew for each record.
 *
 * <p>A frame of time has the records that are at most so much older than the record, and not newer.
 * With such a frame the state has (time, length, bytes), also of all records that are at most so
 * much older than the latest one of their key; what is older counts no more, even for a late
 * record.
 *
 * <p>With a frame after the current record, records wait until as many others of their key have
 * come. The state has those that wait, oldest first: time, then length and bytes of the headers (-1
 * for none), of the row, of the results so far and of the arguments.
 *
 * <p>With WITHIN, a key is forgotten once stream time is more than that past its latest record;
 * those that wait are emitted then, with what has come.
 */
final class Over extends KeyedOperator {
    private static final int ARGUMENTS = 1;

    private final Aggregator[] aggregators;

    /** How many records before the current one each frame begins; negative: with the first one. */
    private final int[] firsts;

    /** How many records before the current one each frame ends; negative: so many after it. */
    private final int[] lasts;

    /**
     * How much older the first record of each frame may be, in ms; negative: a frame of records.
     */
    private final long[] ranges;

    /** How many records are kept. */
    private final int most;

    /**
     * How much older than the latest one records are kept, in ms; negative: without their times.
     */
    private final long longest;

    /** For how many records one waits. */
    private final int ahead;

    /** How long a key is remembered after its latest record, ms; negative: forever. */
    private final long within;

    private transient StateCache.Cached<byte[]> recent;

    /** By (number of the frame, key). */
    private transient StateCache.Cached<byte[]> totals;

    private transient StateCache.Cached<byte[]> waiting;

    /** The time of each key's latest record. */
    private transient StateCache.Cached<Long> latest;

    /** With such times; those that are older than a key's latest record do not matter. */
    private transient KeyQueue queue;

    Over(
            List<Aggregator> aggregators,
            List<Integer> firsts,
            List<Integer> lasts,
            List<? extends Number> ranges,
            long within) {
        this.aggregators = aggregators.toArray(new Aggregator[0]);
        this.firsts = firsts.stream().mapToInt(Integer::intValue).toArray();
        this.lasts = lasts.stream().mapToInt(Integer::intValue).toArray();
        this.ranges = ranges.stream().mapToLong(Number::longValue).toArray();
        this.most = Math.max(0, firsts.stream().mapToInt(Integer::intValue).max().orElse(0));
        this.longest = Arrays.stream(this.ranges).max().orElse(-1);
        this.ahead = -Math.min(0, Arrays.stream(this.lasts).min().orElse(0));
        this.within = within;
    }

    @Override
    protected void open() {
        for (Aggregator aggregator : aggregators) {
            aggregator.open();
        }
        recent = bytes("recent");
        totals = bytes("totals");
        if (ahead > 0) {
            waiting = bytes("waiting");
        }
        if (within >= 0) {
            latest = longs("latest");
            queue = new KeyQueue(this);
        }
    }

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        if (within < 0) {
            add(key, ts, value);
            return;
        }
        forget();
        Long before = latest.getValue(key);
        if (before != null && isOver(before)) { // a newer one is before it in the queue
            end(key);
            before = null;
        }
        add(key, ts, value);
        if (before == null || ts > before) {
            latest.updateValue(key, ts);
            queue.append(key, ts);
        }
        if (isOver(latest.getValue(key))) {
            end(key);
        }
    }

    private boolean isOver(long time) {
        return time < streamTime - within;
    }

    private void forget() {
        KeyQueue.Entry entry = queue.poll(this::isOver);
        while (entry != null) {
            Long last = latest.getValue(entry.key());
            if (last != null && last == entry.time()) {
                end(entry.key());
            }
            entry = queue.poll(this::isOver);
        }
    }

    private void end(byte[] key) {
        if (ahead > 0) {
            List<Waiting> rows = waiting(key);
            while (!rows.isEmpty()) {
                leave(key, rows);
            }
            waiting.removeKey(key);
        }
        recent.removeKey(key);
        for (int i = 0; i < aggregators.length; i++) {
            if (isTotal(i)) {
                totals.removeKey(place(i, key));
            }
        }
        latest.removeKey(key);
    }

    private void add(byte[] key, long ts, byte[] value) {
        UnsafeRow row = PackedRow.view(value, 2);
        byte[] arguments = row.getBinary(ARGUMENTS);
        boolean isKept = most > 0 || longest >= 0;
        List<Kept> rows = isKept ? unpacked(recent.getValue(key)) : new ArrayList<>();
        rows.add(new Kept(ts, arguments));
        long newest = rows.stream().mapToLong(Kept::time).max().orElse(ts);
        UnsafeRowWriter results = new UnsafeRowWriter(aggregators.length);
        results.resetRowWriter();
        for (int i = 0; i < aggregators.length; i++) {
            if (lasts[i] < 0) {
                results.setNullAt(i);
            } else if (ranges[i] >= 0) {
                results.write(i, ranged(i, rows, newest - ranges[i], ts));
            } else {
                results.write(i, isTotal(i) ? total(i, key, arguments) : framed(i, rows));
            }
        }
        if (isKept) {
            recent.updateValue(key, packed(rows, newest - longest));
        }
        byte[] found = results.getRow().getBytes();
        if (ahead == 0) {
            emit(key, ts, row.getBinary(0), found);
            return;
        }
        List<Waiting> all = waiting(key);
        all.add(new Waiting(ts, headers(), row.getBinary(0), found, arguments));
        if (all.size() > ahead) {
            leave(key, all);
        }
        waiting.updateValue(key, packed(all));
    }

    /** Emits the first record that waits, with what has come after it. */
    private void leave(byte[] key, List<Waiting> rows) {
        Waiting first = rows.get(0);
        UnsafeRow found = PackedRow.view(first.results, aggregators.length);
        UnsafeRowWriter results = new UnsafeRowWriter(aggregators.length);
        results.resetRowWriter();
        for (int i = 0; i < aggregators.length; i++) {
            results.write(i, lasts[i] < 0 ? following(i, rows) : found.getBinary(i));
        }
        emitWaiting(key, first.ts, first.row, results.getRow().getBytes(), first.headers);
        rows.remove(0);
    }

    private byte[] following(int frame, List<Waiting> rows) {
        Aggregator aggregator = aggregators[frame];
        aggregator.reset();
        for (int n = -firsts[frame]; n <= Math.min(-lasts[frame], rows.size() - 1); n++) {
            aggregator.add(rows.get(n).arguments);
        }
        return aggregator.result();
    }

    private boolean isTotal(int frame) {
        return ranges[frame] < 0 && firsts[frame] < 0 && lasts[frame] >= 0;
    }

    private static byte[] place(int frame, byte[] key) {
        return ByteBuffer.allocate(4 + key.length).putInt(frame).put(key).array();
    }

    private byte[] total(int frame, byte[] key, byte[] arguments) {
        byte[] place = place(frame, key);
        byte[] saved = totals.getValue(place);
        Aggregator aggregator = aggregators[frame];
        if (saved == null) {
            aggregator.reset();
        } else {
            aggregator.load(saved, 0);
        }
        aggregator.add(arguments);
        totals.updateValue(place, aggregator.save(0));
        return aggregator.result();
    }

    private byte[] ranged(int frame, List<Kept> rows, long from, long to) {
        Aggregator aggregator = aggregators[frame];
        aggregator.reset();
        Kept current = rows.get(rows.size() - 1);
        for (Kept row : rows) {
            if (row == current || (row.time >= from && row.time <= to)) {
                aggregator.add(row.arguments);
            }
        }
        return aggregator.result();
    }

    private byte[] framed(int frame, List<Kept> rows) {
        Aggregator aggregator = aggregators[frame];
        aggregator.reset();
        int current = rows.size() - 1;
        for (int n = Math.max(0, current - firsts[frame]); n <= current - lasts[frame]; n++) {
            aggregator.add(rows.get(n).arguments);
        }
        return aggregator.result();
    }

    private List<Kept> unpacked(byte[] kept) {
        List<Kept> rows = new ArrayList<>();
        if (kept != null) {
            ByteBuffer in = ByteBuffer.wrap(kept);
            while (in.hasRemaining()) {
                long time = longest >= 0 ? in.getLong() : 0;
                byte[] row = new byte[in.getInt()];
                in.get(row);
                rows.add(new Kept(time, row));
            }
        }
        return rows;
    }

    /** The last rows, and those of the time {@code from}, if there are frames of time. */
    private byte[] packed(List<Kept> rows, long from) {
        List<Kept> kept = new ArrayList<>();
        int size = 0;
        for (int n = 0; n < rows.size(); n++) {
            Kept row = rows.get(n);
            if (n >= rows.size() - most || (longest >= 0 && row.time >= from)) {
                kept.add(row);
                size += (longest >= 0 ? 12 : 4) + row.arguments.length;
            }
        }
        ByteBuffer out = ByteBuffer.allocate(size);
        for (Kept row : kept) {
            if (longest >= 0) {
                out.putLong(row.time);
            }
            out.putInt(row.arguments.length).put(row.arguments);
        }
        return out.array();
    }

    private List<Waiting> waiting(byte[] key) {
        List<Waiting> rows = new ArrayList<>();
        byte[] saved = waiting.getValue(key);
        if (saved != null) {
            ByteBuffer in = ByteBuffer.wrap(saved);
            while (in.hasRemaining()) {
                rows.add(new Waiting(in.getLong(), part(in), part(in), part(in), part(in)));
            }
        }
        return rows;
    }

    private static byte[] part(ByteBuffer in) {
        int length = in.getInt();
        if (length < 0) {
            return null;
        }
        byte[] bytes = new byte[length];
        in.get(bytes);
        return bytes;
    }

    private static byte[] packed(List<Waiting> rows) {
        int size = 0;
        for (Waiting row : rows) {
            size += 24 + row.row.length + row.results.length + row.arguments.length;
            size += row.headers == null ? 0 : row.headers.length;
        }
        ByteBuffer out = ByteBuffer.allocate(size);
        for (Waiting row : rows) {
            out.putLong(row.ts);
            for (byte[] part : Arrays.asList(row.headers, row.row, row.results, row.arguments)) {
                out.putInt(part == null ? -1 : part.length);
                if (part != null) {
                    out.put(part);
                }
            }
        }
        return out.array();
    }

    private record Kept(long time, byte[] arguments) {}

    /** A record that waits for those after it; no headers are null. */
    private record Waiting(long ts, byte[] headers, byte[] row, byte[] results, byte[] arguments) {}
}
