package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;

import java.nio.ByteBuffer;
import java.util.ArrayList;
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
 */
final class Over extends KeyedOperator {
    private static final int ARGUMENTS = 1;

    private final Aggregator[] aggregators;

    /** How many records before the current one each frame begins; negative: with the first one. */
    private final int[] firsts;

    /** How many records before the current one each frame ends. */
    private final int[] lasts;

    /** How many records are kept. */
    private final int most;

    private transient StateCache.Cached<byte[]> recent;

    /** By (number of the frame, key). */
    private transient StateCache.Cached<byte[]> totals;

    Over(List<Aggregator> aggregators, List<Integer> firsts, List<Integer> lasts) {
        this.aggregators = aggregators.toArray(new Aggregator[0]);
        this.firsts = firsts.stream().mapToInt(Integer::intValue).toArray();
        this.lasts = lasts.stream().mapToInt(Integer::intValue).toArray();
        this.most = Math.max(0, firsts.stream().mapToInt(Integer::intValue).max().orElse(0));
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
        List<byte[]> rows = most > 0 ? unpacked(recent.getValue(key)) : new ArrayList<>();
        rows.add(arguments);
        UnsafeRowWriter results = new UnsafeRowWriter(aggregators.length);
        results.resetRowWriter();
        for (int i = 0; i < aggregators.length; i++) {
            byte[] result = firsts[i] < 0 ? total(i, key, arguments) : framed(i, rows);
            results.write(i, result);
        }
        if (most > 0) {
            recent.updateValue(key, packed(rows));
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

    private byte[] framed(int frame, List<byte[]> rows) {
        Aggregator aggregator = aggregators[frame];
        aggregator.reset();
        int current = rows.size() - 1;
        for (int n = Math.max(0, current - firsts[frame]); n <= current - lasts[frame]; n++) {
            aggregator.add(rows.get(n));
        }
        return aggregator.result();
    }

    private static List<byte[]> unpacked(byte[] kept) {
        List<byte[]> rows = new ArrayList<>();
        if (kept != null) {
            ByteBuffer in = ByteBuffer.wrap(kept);
            while (in.hasRemaining()) {
                byte[] row = new byte[in.getInt()];
                in.get(row);
                rows.add(row);
            }
        }
        return rows;
    }

    /** The last rows that are kept. */
    private byte[] packed(List<byte[]> rows) {
        List<byte[]> last = rows.subList(Math.max(0, rows.size() - most), rows.size());
        int size = last.stream().mapToInt(row -> 4 + row.length).sum();
        ByteBuffer out = ByteBuffer.allocate(size);
        for (byte[] row : last) {
            out.putInt(row.length).put(row);
        }
        return out.array();
    }
}
