package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Each record with aggregates of the last records of its key, in the order of arrival (OVER,
 * reference §6.14).
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
 */
final class Over extends KeyedOperator {
    private static final int ARGUMENTS = 1;

    private final Aggregator[] aggregators;

    /** How many records before the current one each frame begins; negative: with the first one. */
    private final int[] firsts;

    /** How many records before the current one each frame ends. */
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

    private transient StateCache.Cached<byte[]> recent;

    /** By (number of the frame, key). */
    private transient StateCache.Cached<byte[]> totals;

    Over(
            List<Aggregator> aggregators,
            List<Integer> firsts,
            List<Integer> lasts,
            List<? extends Number> ranges) {
        this.aggregators = aggregators.toArray(new Aggregator[0]);
        this.firsts = firsts.stream().mapToInt(Integer::intValue).toArray();
        this.lasts = lasts.stream().mapToInt(Integer::intValue).toArray();
        this.ranges = ranges.stream().mapToLong(Number::longValue).toArray();
        this.most = Math.max(0, firsts.stream().mapToInt(Integer::intValue).max().orElse(0));
        this.longest = Arrays.stream(this.ranges).max().orElse(-1);
    }

    @Override
    protected void open() {
        for (Aggregator aggregator : aggregators) {
            aggregator.open();
        }
        recent = bytes("recent");
        totals = bytes("totals");
    }

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        UnsafeRow row = PackedRow.view(value, 2);
        byte[] arguments = row.getBinary(ARGUMENTS);
        boolean isKept = most > 0 || longest >= 0;
        List<Kept> rows = isKept ? unpacked(recent.getValue(key)) : new ArrayList<>();
        rows.add(new Kept(ts, arguments));
        long latest = rows.stream().mapToLong(Kept::time).max().orElse(ts);
        UnsafeRowWriter results = new UnsafeRowWriter(aggregators.length);
        results.resetRowWriter();
        for (int i = 0; i < aggregators.length; i++) {
            if (ranges[i] >= 0) {
                results.write(i, ranged(i, rows, latest - ranges[i], ts));
            } else {
                results.write(i, firsts[i] < 0 ? total(i, key, arguments) : framed(i, rows));
            }
        }
        if (isKept) {
            recent.updateValue(key, packed(rows, latest - longest));
        }
        emit(key, ts, row.getBinary(0), results.getRow().getBytes());
    }

    private byte[] total(int frame, byte[] key, byte[] arguments) {
        byte[] place = ByteBuffer.allocate(4 + key.length).putInt(frame).put(key).array();
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

    private record Kept(long time, byte[] arguments) {}
}
