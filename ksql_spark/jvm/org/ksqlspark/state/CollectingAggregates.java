package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.TypeUtils;
import org.apache.spark.sql.connector.catalog.functions.AggregateFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.ksqlspark.functions.TextOrder;

import java.io.DataOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

/**
 * Aggregates that keep values of their group, no more than necessary (reference §4.8).
 *
 * <p>The first argument is a STRUCT whose first field is the value. It is kept as the bytes of its
 * row, which are equal for equal values. The second argument, if any, is a sign: -1 retracts a row
 * that was added. Constants are in the function's name. For the storage of states see their {@link
 * StateLayout}.
 */
public abstract class CollectingAggregates<S extends Serializable>
        implements AggregateFunction<S, Object>, StateLayout<S> {
    private final StructType arguments;
    private final String fullName;
    private final DataType resultType;
    final DataType valueType;
    final int width;

    /**
     * @param resultType derives the type of the result from the type of the value
     */
    CollectingAggregates(
            String fullName, StructType arguments, Function<DataType, DataType> resultType) {
        this.fullName = fullName;
        this.arguments = arguments;
        StructType row = (StructType) arguments.fields()[0].dataType();
        this.width = row.size();
        this.valueType = row.fields()[0].dataType();
        this.resultType = resultType.apply(width == 1 ? valueType : row);
    }

    @Override
    public DataType[] inputTypes() {
        DataType[] types = new DataType[arguments.size()];
        for (int i = 0; i < types.length; i++) {
            types[i] = arguments.fields()[i].dataType();
        }
        return types;
    }

    @Override
    public DataType resultType() {
        return resultType;
    }

    @Override
    public String name() {
        return fullName;
    }

    /** Tells Spark which calls are equal. */
    @Override
    public boolean equals(Object other) {
        return other instanceof CollectingAggregates<?> function
                && fullName.equals(function.fullName)
                && arguments.equals(function.arguments);
    }

    @Override
    public int hashCode() {
        return fullName.hashCode();
    }

    @Override
    public String canonicalName() {
        return "ksql." + fullName + arguments.catalogString();
    }

    @Override
    public S update(S state, InternalRow input) {
        UnsafeRow row = (UnsafeRow) input.getStruct(0, width);
        if (arguments.size() > 1 && input.getInt(1) < 0) {
            undo(state, row);
        } else {
            add(state, row);
        }
        return state;
    }

    /** Adds a row; {@code row} is valid only during the call. */
    abstract void add(S state, UnsafeRow row);

    /** Retracts a row that was added. */
    void undo(S state, UnsafeRow row) {
        throw new UnsupportedOperationException(fullName + " cannot undo");
    }

    /** The rows of the state as an ARRAY. */
    final Object array(Collection<UnsafeRow> rows) {
        Object[] values = new Object[rows.size()];
        int i = 0;
        for (UnsafeRow row : rows) {
            values[i++] = width == 1 ? value(row) : row;
        }
        return new GenericArrayData(values);
    }

    final Object value(UnsafeRow row) {
        return row.isNullAt(0) ? null : row.get(0, valueType);
    }

    /** A state of rows. Stored: their number, then the rows in order. */
    abstract static class OfRows<S extends Collection<UnsafeRow> & Serializable>
            extends CollectingAggregates<S> {
        OfRows(String fullName, StructType arguments) {
            super(fullName, arguments, DataTypes::createArrayType);
        }

        @Override
        public void write(S state, DataOutputStream out) throws IOException {
            out.writeInt(state.size());
            for (UnsafeRow row : state) {
                StateLayout.writeRow(row, out);
            }
        }

        @Override
        public S read(ByteBuffer in) {
            S state = newAggregationState();
            for (int left = in.getInt(); left > 0; left--) {
                state.add(StateLayout.readRow(in, width));
            }
            return state;
        }

        @Override
        public Object produceResult(S state) {
            return array(state);
        }
    }

    /** The first {@code limit} values in the order of arrival. */
    public static final class CollectList extends OfRows<ArrayList<UnsafeRow>> {
        private final int limit;

        public CollectList(String name, StructType arguments, int limit) {
            super(name, arguments);
            this.limit = limit;
        }

        @Override
        public ArrayList<UnsafeRow> newAggregationState() {
            return new ArrayList<>();
        }

        @Override
        void add(ArrayList<UnsafeRow> state, UnsafeRow row) {
            if (state.size() < limit) {
                state.add(row.copy());
            }
        }

        @Override
        void undo(ArrayList<UnsafeRow> state, UnsafeRow row) {
            int last = state.lastIndexOf(row);
            if (last >= 0) {
                state.remove(last);
            }
        }

        @Override
        public ArrayList<UnsafeRow> merge(ArrayList<UnsafeRow> state, ArrayList<UnsafeRow> other) {
            state.addAll(other.subList(0, Math.min(limit - state.size(), other.size())));
            return state;
        }
    }

    /** The first {@code limit} different values in the order of their first arrival. */
    public static final class CollectSet extends OfRows<LinkedHashSet<UnsafeRow>> {
        private final int limit;

        public CollectSet(String name, StructType arguments, int limit) {
            super(name, arguments);
            this.limit = limit;
        }

        @Override
        public LinkedHashSet<UnsafeRow> newAggregationState() {
            return new LinkedHashSet<>();
        }

        @Override
        void add(LinkedHashSet<UnsafeRow> state, UnsafeRow row) {
            if (state.size() < limit && !state.contains(row)) {
                state.add(row.copy());
            }
        }

        @Override
        public LinkedHashSet<UnsafeRow> merge(
                LinkedHashSet<UnsafeRow> state, LinkedHashSet<UnsafeRow> other) {
            for (UnsafeRow row : other) {
                add(state, row);
            }
            return state;
        }
    }

    /**
     * The count of each value. Stored: the number of values, then each value with its count (8
     * bytes).
     */
    abstract static class Counted extends CollectingAggregates<LinkedHashMap<UnsafeRow, Long>> {
        private final int limit;

        Counted(
                String name,
                StructType arguments,
                int limit,
                Function<DataType, DataType> resultType) {
            super(name, arguments, resultType);
            this.limit = limit;
        }

        @Override
        public LinkedHashMap<UnsafeRow, Long> newAggregationState() {
            return new LinkedHashMap<>();
        }

        @Override
        void add(LinkedHashMap<UnsafeRow, Long> state, UnsafeRow row) {
            count(state, row, 1);
        }

        @Override
        public void write(LinkedHashMap<UnsafeRow, Long> state, DataOutputStream out)
                throws IOException {
            out.writeInt(state.size());
            for (Map.Entry<UnsafeRow, Long> entry : state.entrySet()) {
                StateLayout.writeRow(entry.getKey(), out);
                out.writeLong(entry.getValue());
            }
        }

        @Override
        public LinkedHashMap<UnsafeRow, Long> read(ByteBuffer in) {
            LinkedHashMap<UnsafeRow, Long> state = newAggregationState();
            for (int left = in.getInt(); left > 0; left--) {
                UnsafeRow row = StateLayout.readRow(in, width);
                state.put(row, in.getLong());
            }
            return state;
        }

        final void count(Map<UnsafeRow, Long> state, UnsafeRow row, long times) {
            Long before = state.get(row);
            if (before != null) {
                state.put(row, before + times);
            } else if (state.size() < limit) {
                state.put(row.copy(), times);
            }
        }

        @Override
        void undo(LinkedHashMap<UnsafeRow, Long> state, UnsafeRow row) {
            state.computeIfPresent(row, (value, times) -> times > 1 ? times - 1 : null);
        }

        @Override
        public LinkedHashMap<UnsafeRow, Long> merge(
                LinkedHashMap<UnsafeRow, Long> state, LinkedHashMap<UnsafeRow, Long> other) {
            other.forEach((row, times) -> count(state, row, times));
            return state;
        }
    }

    /** The counts of the first {@code limit} values as a MAP; NULLs are ignored. */
    public static final class Histogram extends Counted {
        public Histogram(String name, StructType arguments, int limit) {
            super(
                    name,
                    arguments,
                    limit,
                    type -> DataTypes.createMapType(type, DataTypes.LongType));
        }

        @Override
        void add(LinkedHashMap<UnsafeRow, Long> state, UnsafeRow row) {
            if (!row.isNullAt(0)) {
                super.add(state, row);
            }
        }

        @Override
        public Object produceResult(LinkedHashMap<UnsafeRow, Long> state) {
            return new ArrayBasedMapData(
                    (GenericArrayData) array(state.keySet()),
                    new GenericArrayData(state.values().toArray()));
        }
    }

    /** The value, perhaps NULL, that all rows have; NULL if they differ. */
    public static final class Attr extends Counted {
        public Attr(String name, StructType arguments) {
            // two are as good as many where no row is taken back
            super(name, arguments, arguments.size() > 1 ? Integer.MAX_VALUE : 2, type -> type);
        }

        @Override
        public Object produceResult(LinkedHashMap<UnsafeRow, Long> state) {
            return state.size() == 1 ? value(state.keySet().iterator().next()) : null;
        }
    }

    /**
     * The rows with the {@code k} greatest values, greatest first; of equal values, the first to
     * arrive.
     */
    public static final class Top extends OfRows<ArrayList<UnsafeRow>> {
        private final int k;
        private final boolean isDistinct;
        private transient Comparator<Object> order;

        public Top(String name, StructType arguments, int k, boolean isDistinct) {
            super(name, arguments);
            this.k = k;
            this.isDistinct = isDistinct;
        }

        @Override
        public ArrayList<UnsafeRow> newAggregationState() {
            return new ArrayList<>();
        }

        @Override
        void add(ArrayList<UnsafeRow> state, UnsafeRow row) {
            if (row.isNullAt(0)) {
                return;
            }
            if (order == null) {
                Comparator<Object> ours = TextOrder.of(valueType);
                order = ours != null ? ours : TypeUtils.getInterpretedOrdering(valueType);
            }
            Object value = value(row);
            int at = 0; // behind all that are not less
            for (int end = state.size(); at < end; ) {
                int middle = (at + end) >>> 1;
                if (order.compare(value(state.get(middle)), value) >= 0) {
                    at = middle + 1;
                } else {
                    end = middle;
                }
            }
            boolean isKnown =
                    isDistinct && at > 0 && order.compare(value(state.get(at - 1)), value) == 0;
            if (at < k && !isKnown) {
                if (state.size() == k) {
                    state.remove(k - 1);
                }
                state.add(at, row.copy());
            }
        }

        @Override
        public ArrayList<UnsafeRow> merge(ArrayList<UnsafeRow> state, ArrayList<UnsafeRow> other) {
            for (UnsafeRow row : other) {
                add(state, row);
            }
            return state;
        }
    }

    /**
     * The first or last {@code count} values in order of arrival, oldest first. Each has a sequence
     * number, so that groups with interleaved arrivals can be merged. ksqlDB merges the last N in
     * its own way: the oldest of both groups stay. Stored: the number of rows, then the sequence
     * number (8 bytes) and the row of each.
     */
    public static final class ByOffset extends CollectingAggregates<TreeMap<Long, UnsafeRow>> {
        /** Increases across restarts, as long as there are fewer than 2^20 rows per millisecond. */
        private static final AtomicLong NEXT = new AtomicLong(System.currentTimeMillis() << 20);

        private final int count;
        private final boolean isLatest;
        private final boolean ignoresNulls;
        private final boolean mergesOldest;

        /**
         * @param constants the number of values; whether NULLs are ignored; whether merging keeps
         *     the oldest
         */
        public ByOffset(
                String name, StructType arguments, boolean isLatest, List<String> constants) {
            super(name, arguments, DataTypes::createArrayType);
            this.isLatest = isLatest;
            this.count = Integer.parseInt(constants.get(0));
            this.ignoresNulls = Boolean.parseBoolean(constants.get(1));
            this.mergesOldest = Boolean.parseBoolean(constants.get(2));
        }

        @Override
        public TreeMap<Long, UnsafeRow> newAggregationState() {
            return new TreeMap<>();
        }

        @Override
        void add(TreeMap<Long, UnsafeRow> state, UnsafeRow row) {
            if (ignoresNulls && row.isNullAt(0) || !isLatest && state.size() == count) {
                return;
            }
            state.put(NEXT.getAndIncrement(), row.copy());
            if (state.size() > count) {
                state.pollFirstEntry();
            }
        }

        @Override
        public void write(TreeMap<Long, UnsafeRow> state, DataOutputStream out) throws IOException {
            out.writeInt(state.size());
            for (Map.Entry<Long, UnsafeRow> entry : state.entrySet()) {
                out.writeLong(entry.getKey());
                StateLayout.writeRow(entry.getValue(), out);
            }
        }

        @Override
        public TreeMap<Long, UnsafeRow> read(ByteBuffer in) {
            TreeMap<Long, UnsafeRow> state = newAggregationState();
            for (int left = in.getInt(); left > 0; left--) {
                long number = in.getLong();
                state.put(number, StateLayout.readRow(in, width));
            }
            return state;
        }

        @Override
        public TreeMap<Long, UnsafeRow> merge(
                TreeMap<Long, UnsafeRow> state, TreeMap<Long, UnsafeRow> other) {
            state.putAll(other);
            while (state.size() > count) {
                if (mergesOldest) {
                    state.pollLastEntry();
                } else {
                    state.pollFirstEntry();
                }
            }
            return state;
        }

        @Override
        public Object produceResult(TreeMap<Long, UnsafeRow> state) {
            return array(state.values());
        }
    }
}
