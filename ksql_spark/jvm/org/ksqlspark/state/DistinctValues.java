package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The values that the groups of calls with DISTINCT have, one entry each, so that a record reads
 * and writes no more of them than its own.
 *
 * <p>Call N with DISTINCT has a column {@code __distinct_N_M}, its FILTER (AggregateFilters). It is
 * true for records whose value, the column {@code __arg_N_0}, the call may take; here it becomes
 * false where the group has the value already. M is the first call with the same argument; its
 * entries have a bit for each call that has taken the value. Over a table, each call has entries of
 * its own, with the number of rows with a value: only the first one is added, and only the last one
 * is retracted.
 *
 * <p>Where groups can end, a numbered list of the entries of each group is kept, to remove them.
 */
final class DistinctValues {
    private static final Pattern COLUMN = Pattern.compile("__distinct_(\\d+)_(\\d+)");

    /** The column of a table's changes with a row's sign: negative, the row is retracted. */
    private static final String SIGN = "__SIGN";

    /** In the place of a call's number: how many entries the group's list has. */
    private static final int COUNT = -1;

    /** A call with DISTINCT: whose entries, which bit of them, and the indexes of its columns. */
    private record Call(
            int owner, long bit, int filter, int argument, DataType type, PackedRow.Pack pack) {}

    private final List<Call> calls;
    private final int width;

    /** The index of {@link #SIGN}; negative: no row is retracted. */
    private final int sign;

    /** For each value the bits of calls; where rows are retracted, how many rows have it. */
    private final StateCache.Cached<Long> rows;

    /** The entries of each group by number; null: groups do not end. */
    private final StateCache.Cached<byte[]> members;

    private DistinctValues(
            List<Call> calls, StructType columns, KeyedOperator operator, boolean groupsEnd) {
        this.calls = calls;
        this.width = columns.size();
        this.sign = index(columns, SIGN);
        this.rows = operator.longs("distinct");
        this.members = groupsEnd ? operator.bytes("distinct members") : null;
    }

    /**
     * Those of an operator that opens; null: no call has DISTINCT.
     *
     * @param columns those of packed records
     * @param groupsEnd whether {@link #remove} will be called
     */
    static DistinctValues of(StructType columns, KeyedOperator operator, boolean groupsEnd) {
        List<Call> calls = new ArrayList<>();
        boolean isTable = index(columns, SIGN) >= 0;
        for (int i = 0; i < columns.size(); i++) {
            Matcher column = COLUMN.matcher(columns.fields()[i].name());
            if (column.matches()) {
                int number = Integer.parseInt(column.group(1));
                boolean isShared = !isTable && number < Long.SIZE;
                int owner = isShared ? Integer.parseInt(column.group(2)) : number;
                int argument = index(columns, "__arg_" + number + "_0");
                DataType type = columns.fields()[argument].dataType();
                PackedRow.Pack pack = new PackedRow.PackKey(new StructType().add("v", type));
                calls.add(new Call(owner, isShared ? 1L << number : 1, i, argument, type, pack));
            }
        }
        return calls.isEmpty() ? null : new DistinctValues(calls, columns, operator, groupsEnd);
    }

    private static int index(StructType columns, String name) {
        return Arrays.asList(columns.fieldNames()).indexOf(name);
    }

    /** A packed record as the aggregates of a group take it. */
    byte[] taken(byte[] group, byte[] packed) {
        UnsafeRow record = PackedRow.view(packed, width);
        byte[] taken = packed;
        for (Call call : calls) {
            boolean isCandidate = !record.isNullAt(call.filter) && record.getBoolean(call.filter);
            if (isCandidate && !changes(group, call, record)) {
                if (taken == packed) {
                    taken = packed.clone();
                }
                PackedRow.view(taken, width).setBoolean(call.filter, false);
            }
        }
        return taken;
    }

    /** Whether the group gets or loses the record's value of a call. */
    private boolean changes(byte[] group, Call call, UnsafeRow record) {
        boolean isNull = record.isNullAt(call.argument);
        Object value = isNull ? null : record.get(call.argument, call.type);
        byte[] packed = call.pack.invoke(new GenericInternalRow(new Object[] {value}));
        byte[] entry = entry(group, call.owner, packed);
        Long there = rows.getValue(entry);
        if (there == null) {
            there = 0L;
            if (sign < 0 || record.getInt(sign) > 0) {
                list(group, entry);
            }
        }
        if (sign < 0) {
            if ((there & call.bit) != 0) {
                return false;
            }
            rows.updateValue(entry, there | call.bit);
            return true;
        }
        return record.getInt(sign) > 0 ? added(entry, there) : retracted(entry, there);
    }

    private boolean added(byte[] entry, long there) {
        rows.updateValue(entry, there + 1);
        return there == 0;
    }

    private boolean retracted(byte[] entry, long there) {
        if (there > 1) {
            rows.updateValue(entry, there - 1);
        } else if (there == 1) {
            rows.removeKey(entry);
        }
        return there == 1;
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

    /** Removes all values of a group; where groups do not end, it looks at all groups. */
    void remove(byte[] group) {
        if (members == null) {
            byte[] start =
                    ByteBuffer.allocate(4 + group.length).putInt(group.length).put(group).array();
            int end = 4 + start.length;
            rows.removeIf(
                    (entry, there) ->
                            entry.length >= end
                                    && Arrays.equals(entry, 4, end, start, 0, start.length));
            return;
        }
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
