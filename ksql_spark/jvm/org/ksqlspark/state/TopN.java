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
import org.ksqlspark.state.SortedRows.Sorted;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;

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
 * empty is a deletion, with the time of the record that caused it. Or how the row of each such
 * place changes.
 *
 * <p>State per key: the best records, best first, as in {@link SortedRows}; of a table all, as
 * there.
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

    /** Of the values that order records. */
    private transient Comparator<byte[]> order;

    /** Of a stream, the records within the limit. */
    private transient StateCache.Cached<byte[]> best;

    /** Of a table; null: they are a stream's. */
    private transient SortedRows rows;

    /** One of the best records, with its numbers from 1. */
    private record Place(Sorted record, long rank, long denseRank) {}

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
        var ordering = new InterpretedOrdering(seq(orders));
        int width = isDescending.length;
        order =
                (one, other) ->
                        ordering.compare(PackedRow.view(one, width), PackedRow.view(other, width));
        if (isTable) {
            rows = new SortedRows(this, order);
        } else {
            best = bytes("best");
        }
    }

    @Override
    protected void process(byte[] key, int side, long ts, byte[] value) {
        var record = PackedRow.view(value, 4);
        int sign = record.getInt(SIGN);
        if (sign < -1) {
            return;
        }
        byte[] id = record.getBinary(ID);
        byte[] values = record.getBinary(VALUES);
        List<Place> before;
        List<Place> after;
        if (rows != null) {
            before = places(rows.of(key));
            rows.remove(key, id);
            if (sign > 0) {
                rows.add(key, new Sorted(ts, id, record.getBinary(ROW), values));
            }
            after = places(rows.of(key));
        } else {
            List<Sorted> kept = SortedRows.unpacked(best.getValue(key));
            before = places(kept);
            SortedRows.insert(new Sorted(ts, id, record.getBinary(ROW), values), kept, order);
            after = places(kept);
            if (!after.equals(before)) {
                best.updateValue(key, SortedRows.packed(kept.subList(0, after.size())));
            }
        }
        for (int i = 0; i < Math.max(before.size(), after.size()); i++) {
            Place old = i < before.size() ? before.get(i) : null;
            Place place = i < after.size() ? after.get(i) : null;
            if (Objects.equals(old, place)) {
                continue;
            }
            long time = place == null ? ts : place.record.ts();
            Version row = version(place);
            if (emitsChanges()) {
                replace(key, time, version(old), row, i + 1L, null, headers());
            } else if (row == null) {
                emit(key, time, null, null, i + 1);
            } else {
                emit(key, time, row.left(), row.right(), i + 1);
            }
        }
    }

    private static Version version(Place place) {
        return place == null ? null : new Version(place.record.row(), ranks(place));
    }

    /** The records within the limit. */
    private List<Place> places(Iterable<Sorted> records) {
        List<Place> places = new ArrayList<>();
        long rank = 0;
        long denseRank = 0;
        for (Sorted record : records) {
            int number = places.size();
            if (number == 0
                    || order.compare(record.values(), places.get(number - 1).record.values())
                            != 0) {
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
            places.add(new Place(record, rank, denseRank));
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

    private static <T> scala.collection.immutable.Seq<T> seq(Iterable<T> items) {
        return scala.jdk.javaapi.CollectionConverters.asScala(items).toSeq();
    }
}
