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
 * back, as in {@link RecentRows}; the buffer of each frame without one.
 *
 * <p>A frame of time has the records that are at most so much older than the record, and not newer.
 * With such a frame the state has all records that are at most so much older than the latest one of
 * their key; what is older counts no more, even for a late record.
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

    /** Whether each frame can be made of its parts. */
    private final boolean[] merges;

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

    /** Null: no frame needs any. */
    private transient RecentRows recent;

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
            List<Boolean> merges,
            long within) {
        this.aggregators = aggregators.toArray(new Aggregator[0]);
        this.firsts = firsts.stream().mapToInt(Integer::intValue).toArray();
        this.lasts = lasts.stream().mapToInt(Integer::intValue).toArray();
        this.ranges = ranges.stream().mapToLong(Number::longValue).toArray();
        this.merges = new boolean[merges.size()];
        for (int i = 0; i < this.merges.length; i++) {
            this.merges[i] = merges.get(i) && this.lasts[i] >= 0 && !isTotal(i);
        }
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
        if (most > 0 || longest >= 0) {
            recent = new RecentRows(this, aggregators, merges, most, longest);
        }
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
        if (recent != null) {
            recent.remove(key);
        }
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
        RecentRows.Rows rows = recent == null ? null : recent.of(key);
        if (rows != null) {
            rows.add(new RecentRows.Row(longest >= 0 ? ts : 0, arguments));
        }
        UnsafeRowWriter results = new UnsafeRowWriter(aggregators.length);
        results.resetRowWriter();
        for (int i = 0; i < aggregators.length; i++) {
            if (lasts[i] < 0) {
                results.setNullAt(i);
            } else if (isTotal(i)) {
                results.write(i, total(i, key, arguments));
            } else {
                results.write(i, framed(i, rows, ts, arguments));
            }
        }
        if (rows != null) {
            rows.save();
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

    private byte[] framed(int frame, RecentRows.Rows rows, long ts, byte[] arguments) {
        Aggregator aggregator = aggregators[frame];
        aggregator.reset();
        if (rows == null) {
            aggregator.add(arguments);
        } else if (ranges[frame] < 0) {
            rows.addTo(frame, firsts[frame], lasts[frame], Long.MIN_VALUE, Long.MAX_VALUE);
        } else {
            rows.addTo(frame, Long.MAX_VALUE, 1, rows.latest() - ranges[frame], ts);
            aggregator.add(arguments);
        }
        return aggregator.result();
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

    /** A record that waits for those after it; no headers are null. */
    private record Waiting(long ts, byte[] headers, byte[] row, byte[] results, byte[] arguments) {}
}
