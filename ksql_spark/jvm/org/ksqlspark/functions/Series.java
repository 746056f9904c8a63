package org.ksqlspark.functions;

import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** (first, last[, step]), INTs or BIGINTs: GENERATE_SERIES. */
public final class Series extends LimitedFunction<ArrayData> {
    public Series(Limits limits, StructType arguments) {
        super(
                limits,
                DataTypes.createArrayType(arguments.fields()[0].dataType(), false),
                types(arguments));
    }

    private static DataType[] types(StructType arguments) {
        DataType number = arguments.fields()[0].dataType();
        return arguments.size() == 2
                ? new DataType[] {number, number}
                : new DataType[] {number, number, DataTypes.IntegerType};
    }

    public ArrayData invoke(int first, int last) {
        return invoke(first, last, last > first ? 1 : -1);
    }

    public ArrayData invoke(long first, long last) {
        return invoke(first, last, last > first ? 1 : -1);
    }

    public ArrayData invoke(int first, int last, int step) {
        int size = size(first, last, step);
        if (size == 0) {
            return null;
        }
        int[] numbers = new int[size];
        for (int i = 0; i < size; i++) {
            numbers[i] = first + i * step;
        }
        return UnsafeArrayData.fromPrimitiveArray(numbers);
    }

    public ArrayData invoke(long first, long last, int step) {
        int size = size(first, last, step);
        if (size == 0) {
            return null;
        }
        long[] numbers = new long[size];
        for (int i = 0; i < size; i++) {
            numbers[i] = first + (long) i * step;
        }
        return UnsafeArrayData.fromPrimitiveArray(numbers);
    }

    /** How many numbers there are; 0 for none, or too many. */
    private int size(long first, long last, int step) {
        long way = last - first;
        boolean isTooLong = ((last ^ first) & (last ^ way)) < 0; // for 64 bits
        if (step == 0 || isTooLong || way != 0 && way < 0 != step < 0) {
            return 0;
        }
        long steps = way / step;
        return steps < limits.maxElements() ? (int) steps + 1 : 0;
    }
}
