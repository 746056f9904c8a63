package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Descending$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.expressions.NullOrdering;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.NullsLast$;
import org.apache.spark.sql.catalyst.expressions.SortDirection;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.types.StructType;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * The best records of each key in an order (QUALIFY ROW_NUMBER() … &lt;= n, reference §6.15), of
 * equal ones those that came first.
 *
 * <p>In: rows of two columns, the record's row and the values that order it. Out: for each place
 * that changes, best first, the record's row with its own time, and the place, from 1, in {@code
 * ws}.
 *
 * <p>State per key: the best records, best first: time, length and bytes of the row, length and
 * bytes of the values.
 */
final class TopN extends KeyedOperator {
    private static final int ROW = 0;
    private static final int VALUES = 1;

    private final StructType types;
    private final boolean[] isDescending;
    private final boolean[] hasNullsFirst;

    /** How many records are kept. */
    private final int most;

    private transient InterpretedOrdering ordering;

    private transient StateCache.Cached<byte[]> best;

    private record Entry(long ts, byte[] row, byte[] values) {}

    TopN(String types, List<Boolean> isDescending, List<Boolean> hasNullsFirst, int most) {
        this.types = StructType.fromDDL(types);
        this.isDescending = new boolean[isDescending.size()];
        this.hasNullsFirst = new boolean[isDescending.size()];
        for (int i = 0; i < this.isDescending.length; i++) {
            this.isDescending[i] = isDescending.get(i);
            this.hasNullsFirst[i] = hasNullsFirst.get(i);
        }
        this.most = most;
    }

    @Override
    protected void open() {
        List<SortOrder> orders = new ArrayList<>();
        for (int i = 0; i < isDescending.length; i++) {
            SortDirection direction = isDescending[i] ? Descending$.MODULE$ : Ascending$.MODULE$;
            NullOrdering nulls = hasNullsFirst[i] ? NullsFirst$.MODULE$ : NullsLast$.MODULE$;
            Expression value = new BoundReference(i, types.apply(i).dataType(), true);
            orders.add(new SortOrder(value, direction, nulls, seq(List.<Expression>of())));
        }
        ordering = new InterpretedOrdering(seq(orders));
        best = bytes("best");
    }

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        var record = PackedRow.view(value, 2);
        Entry added = new Entry(ts, record.getBinary(ROW), record.getBinary(VALUES));
        List<Entry> kept = unpacked(best.getValue(key));
        int place = kept.size();
        while (place > 0 && compare(added, kept.get(place - 1)) < 0) {
            place--;
        }
        if (place >= most) {
            return;
        }
        kept.add(place, added);
        if (kept.size() > most) {
            kept.remove(most);
        }
        best.updateValue(key, packed(kept));
        for (int i = place; i < kept.size(); i++) {
            Entry entry = kept.get(i);
            emit(key, entry.ts, entry.row, null, i + 1);
        }
    }

    private int compare(Entry one, Entry other) {
        int width = isDescending.length;
        return ordering.compare(
                PackedRow.view(one.values, width), PackedRow.view(other.values, width));
    }

    private static List<Entry> unpacked(byte[] bytes) {
        List<Entry> entries = new ArrayList<>();
        if (bytes != null) {
            ByteBuffer in = ByteBuffer.wrap(bytes);
            while (in.hasRemaining()) {
                entries.add(new Entry(in.getLong(), part(in), part(in)));
            }
        }
        return entries;
    }

    private static byte[] part(ByteBuffer in) {
        byte[] bytes = new byte[in.getInt()];
        in.get(bytes);
        return bytes;
    }

    private static byte[] packed(List<Entry> entries) {
        int size = entries.stream().mapToInt(e -> 16 + e.row.length + e.values.length).sum();
        ByteBuffer out = ByteBuffer.allocate(size);
        for (Entry entry : entries) {
            out.putLong(entry.ts);
            out.putInt(entry.row.length).put(entry.row);
            out.putInt(entry.values.length).put(entry.values);
        }
        return out.array();
    }

    private static <T> scala.collection.immutable.Seq<T> seq(Iterable<T> items) {
        return scala.jdk.javaapi.CollectionConverters.asScala(items).toSeq();
    }
}
