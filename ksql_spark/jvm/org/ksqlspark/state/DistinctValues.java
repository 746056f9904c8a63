package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * The values that the groups of calls with DISTINCT have, one entry each, so that a record reads
 * and writes no more of them than its own.
 *
 * <p>A call with DISTINCT has a column {@code __distinct_N}, its FILTER (AggregateFilters). It is
 * true for records whose value, the column {@code __arg_N_0}, the call may take; here it becomes
 * false where the group has the value already. Over a table, an entry has the number of rows with
 * its value: only the first one is added, and only the last one is retracted.
 *
 * <p>Where groups can end, a numbered list of the entries of each group is kept, to remove them.
 */
final class DistinctValues {
    private static final String PREFIX = "__distinct_";

    /** The column of a table's changes with a row's sign: negative, the row is retracted. */
    private static final String SIGN = "__SIGN";

    /** In the place of a call's number: how many entries the group's list has. */
    private static final int COUNT = -1;

    /** What a call with DISTINCT reads: indexes of columns. */
    private record Call(int number, int filter, int argument, DataType type, PackedRow.Pack pack) {}

    private final List<Call> calls;
    private final int width;

    /** The index of {@link #SIGN}; negative: no row is retracted. */
    private final int sign;

    /** For each value how many rows have it; always 1 where no row is retracted. */
    private final StateCache.Cached<Long> rows;

    /** The entries of each group by number; null: groups do not end. */
    private final StateCache.Cached<byte[]> members;

    private DistinctValues(
            List<Call> calls, Attribute[] input, KeyedOperator operator, boolean groupsEnd) {
        this.calls = calls;
        this.width = input.length;
        this.sign = index(input, SIGN);
        this.rows = operator.longs("distinct");
        this.members = groupsEnd ? operator.bytes("distinct members") : null;
    }

    /**
     * Those of an operator that opens; null: no call has DISTINCT.
     *
     * @param input the columns of packed records
     * @param groupsEnd whether {@link #remove} will be called
     */
    static DistinctValues of(Attribute[] input, KeyedOperator operator, boolean groupsEnd) {
        List<Call> calls = new ArrayList<>();
        for (int i = 0; i < input.length; i++) {
            if (input[i].name().startsWith(PREFIX)) {
                int number = Integer.parseInt(input[i].name().substring(PREFIX.length()));
                int argument = index(input, "__arg_" + number + "_0");
                DataType type = input[argument].dataType();
                PackedRow.Pack pack = new PackedRow.PackKey(new StructType().add("v", type));
                calls.add(new Call(number, i, argument, type, pack));
            }
        }
        return calls.isEmpty() ? null : new DistinctValues(calls, input, operator, groupsEnd);
    }

    private static int index(Attribute[] input, String name) {
        for (int i = 0; i < input.length; i++) {
            if (input[i].name().equals(name)) {
                return i;
            }
        }
        return -1;
    }

    /** A packed record as the aggregates of a group take it. */
    byte[] taken(byte[] group, byte[] packed) {
        UnsafeRow record = PackedRow.view(packed, width);
        boolean isRetracted = sign >= 0 && record.getInt(sign) < 0;
        byte[] taken = packed;
        for (Call call : calls) {
            boolean isCandidate = !record.isNullAt(call.filter) && record.getBoolean(call.filter);
            if (isCandidate && !changes(entry(group, call, record), group, isRetracted)) {
                if (taken == packed) {
                    taken = packed.clone();
                }
                PackedRow.view(taken, width).setBoolean(call.filter, false);
            }
        }
        return taken;
    }

    /** Adds or retracts a row with a value; whether the group gets or loses the value by that. */
    private boolean changes(byte[] entry, byte[] group, boolean isRetracted) {
        Long there = rows.getValue(entry);
        if (isRetracted) {
            if (there == null || there > 1) {
                if (there != null) {
                    rows.updateValue(entry, there - 1);
                }
                return false;
            }
            rows.removeKey(entry);
            return true;
        }
        if (there == null) {
            rows.updateValue(entry, 1L);
            list(group, entry);
            return true;
        }
        if (sign >= 0) {
            rows.updateValue(entry, there + 1);
        }
        return false;
    }

    private static byte[] entry(byte[] group, Call call, UnsafeRow record) {
        boolean isNull = record.isNullAt(call.argument);
        Object value = isNull ? null : record.get(call.argument, call.type);
        return entry(
                group, call.number, call.pack.invoke(new GenericInternalRow(new Object[] {value})));
    }

    private static byte[] entry(byte[] group, int number, byte[] value) {
        return ByteBuffer.allocate(8 + group.length + value.length)
                .putInt(number)
                .putInt(group.length)
                .put(group)
                .put(value)
                .array();
    }

    private static byte[] member(byte[] group, long n) {
        return ByteBuffer.allocate(8 + group.length).putLong(n).put(group).array();
    }

    private void list(byte[] group, byte[] entry) {
        if (members != null) {
            byte[] count = entry(group, COUNT, new byte[0]);
            Long listed = rows.getValue(count);
            long n = listed == null ? 0 : listed;
            members.updateValue(member(group, n), entry);
            rows.updateValue(count, n + 1);
        }
    }

    /** Removes all values of a group. */
    void remove(byte[] group) {
        byte[] count = entry(group, COUNT, new byte[0]);
        Long listed = rows.getValue(count);
        if (listed == null) {
            return;
        }
        for (long n = 0; n < listed; n++) {
            byte[] member = member(group, n);
            rows.removeKey(members.getValue(member));
            members.removeKey(member);
        }
        rows.removeKey(count);
    }
}
