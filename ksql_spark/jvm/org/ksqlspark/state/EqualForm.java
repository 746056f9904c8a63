package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.StructType;

import java.util.Arrays;
import java.util.function.IntFunction;

/** The form of a value that all values equal to it have: 0.0 for -0.0, and one NaN. */
final class EqualForm {
    private EqualForm() {}

    /** Whether a value of the type may have another form. */
    static boolean differs(DataType type) {
        if (type instanceof StructType struct) {
            return Arrays.stream(struct.fields()).anyMatch(field -> differs(field.dataType()));
        }
        return type instanceof DoubleType
                || type instanceof ArrayType array && differs(array.elementType());
    }

    /**
     * @param value not NULL; a MAP stays as it is, since Spark cannot compare MAPs
     */
    static Object of(Object value, DataType type) {
        if (type instanceof DoubleType) {
            double number = (Double) value;
            return Double.isNaN(number) ? Double.NaN : number + 0.0;
        }
        if (type instanceof StructType struct) {
            InternalRow row = (InternalRow) value;
            return new GenericInternalRow(
                    ofAll(
                            struct.size(),
                            i -> row.isNullAt(i) ? null : row.get(i, struct.apply(i).dataType()),
                            i -> struct.apply(i).dataType()));
        }
        if (type instanceof ArrayType array) {
            ArrayData elements = (ArrayData) value;
            return new GenericArrayData(
                    ofAll(
                            elements.numElements(),
                            i -> elements.isNullAt(i) ? null : elements.get(i, array.elementType()),
                            i -> array.elementType()));
        }
        return value;
    }

    private static Object[] ofAll(
            int size, IntFunction<Object> values, IntFunction<DataType> types) {
        Object[] found = new Object[size];
        for (int i = 0; i < size; i++) {
            Object value = values.apply(i);
            found[i] = value == null ? null : of(value, types.apply(i));
        }
        return found;
    }
}
