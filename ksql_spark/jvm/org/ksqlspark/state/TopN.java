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
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.StructType;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The best records of each key in an order (QUALIFY ROW_NUMBER() … &lt;= n, reference §6.15), of
 * equal ones those that came first.
 *
 * <p>In: rows of four columns: the record's row, the values that order it, and, of a table's
 * change, the key of its row and the sign as in {@link TableChanges}. A new version of a table's
 * row replaces the one before, so one that is retracted for it (-2) is left in place.
 *
 * <p>Out: for each place that changes, best first, the record's row with its own time, the place,
 * from 1, in {@code ws}, and RANK and DENSE_RANK as a packed row in {@code r}. A place that becomes
 * empty is a deletion, with the time of the record that caused it.
 *
 * <p>State per key: the best records (of a table all), best first: time, then length and bytes of
 * the table's key, of the row and of the values.
 */
final class TopN extends KeyedOperator {
    private static final int ROW = 0;
    private static final int VALUES = 1;
    private static final int ID = 2;
    private static final int SIGN = 3;

    /** Which of a record's numbers must not be greater than {@code most}. */
    enum Limit {
        ROW_NUMBER,
        RANK,
        DENSE_RANK
    }

    private final StructType types;
    private final boolean[] isDescending;
    private final boolean[] hasNullsFirst;
    private final Limit limit;
    private final int most;

    /**
     * The records are changes of a table: one that is not among the best may become one of them.
     */
    private final boolean isTable;

    private transient InterpretedOrdering ordering;

    private transient StateCache.Cached<byte[]> best;

    private record Entry(long ts, byte[] id, byte[] row, byte[] values) {}

    /** One of the best records, with its numbers from 1. */
    private record Place(Entry entry, long rank, long denseRank) {}

    TopN(
            String types,
            List<Boolean> isDescending,
            List<Boolean> hasNullsFirst,
            Limit limit,
            int most,
            boolean isTable) {
        this.types = StructType.fromDDL(types);
        this.isDescending = new boolean[isDescending.size()];
        this.hasNullsFirst = new boolean[isDescending.size()];
        for (int i = 0; i < this.isDescending.length; i++) {
            this.isDescending[i] = isDescending.get(i);
            this.hasNullsFirst[i] = hasNullsFirst.get(i);
        }
        this.limit = limit;
        this.most = most;
        this.isTable = isTable;
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
        var record = PackedRow.view(value, 4);
        int sign = record.getInt(SIGN);
        if (sign < -1) {
            return;
        }
        List<Entry> kept = unpacked(best.getValue(key));
        List<Place> before = places(kept);
        byte[] id = record.getBinary(ID);
        if (isTable) {
            kept.removeIf(entry -> Arrays.equals(entry.id, id));
        }
        if (sign > 0) {
            add(new Entry(ts, id, record.getBinary(ROW), record.getBinary(VALUES)), kept);
        }
        List<Place> after = places(kept);
        if (isTable || !after.equals(before)) {
            write(key, isTable ? kept : kept.subList(0, after.size()));
        }
        for (int i = 0; i < Math.max(before.size(), after.size()); i++) {
            Place place = i < after.size() ? after.get(i) : null;
            if (place == null) {
                emit(key, ts, null, null, i + 1);
            } else if (i >= before.size() || !place.equals(before.get(i))) {
                emit(key, place.entry.ts, place.entry.row, ranks(place), i + 1);
            }
        }
    }

    private void add(Entry added, List<Entry> entries) {
        int place = entries.size();
        while (place > 0 && compare(added, entries.get(place - 1)) < 0) {
            place--;
        }
        entries.add(place, added);
    }

    /** The records within the limit. */
    private List<Place> places(List<Entry> entries) {
        List<Place> places = new ArrayList<>();
        long rank = 0;
        long denseRank = 0;
        for (Entry entry : entries) {
            int number = places.size();
            if (number == 0 || compare(entry, places.get(number - 1).entry) != 0) {
                rank = number + 1;
                denseRank++;
            }
            long limited =
                    switch (limit) {
                        case ROW_NUMBER -> number + 1;
                        case RANK -> rank;
                        case DENSE_RANK -> denseRank;
                    };
            if (limited > most) {
                break;
            }
            places.add(new Place(entry, rank, denseRank));
        }
        return places;
    }

    private static byte[] ranks(Place place) {
        UnsafeRowWriter writer = new UnsafeRowWriter(2);
        writer.resetRowWriter();
        writer.write(0, place.rank);
        writer.write(1, place.denseRank);
        return writer.getRow().getBytes();
    }

    private void write(byte[] key, List<Entry> entries) {
        if (entries.isEmpty()) {
            best.removeKey(key);
        } else {
            best.updateValue(key, packed(entries));
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
                entries.add(new Entry(in.getLong(), part(in), part(in), part(in)));
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
        int size = 0;
        for (Entry entry : entries) {
            size += 20 + entry.id.length + entry.row.length + entry.values.length;
        }
        ByteBuffer out = ByteBuffer.allocate(size);
        for (Entry entry : entries) {
            out.putLong(entry.ts);
            for (byte[] part : List.of(entry.id, entry.row, entry.values)) {
                out.putInt(part.length).put(part);
            }
        }
        return out.array();
    }

    private static <T> scala.collection.immutable.Seq<T> seq(Iterable<T> items) {
        return scala.jdk.javaapi.CollectionConverters.asScala(items).toSeq();
    }
}
