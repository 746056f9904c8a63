package org.ksqlspark.formats;

import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimeType;

/**
 * A TIME as it stands in a record. Decoders are told of a column that is one by Spark's type TIME;
 * rows have it as an INT.
 */
final class TimeField {
    /** The name of the type of these columns. */
    static final String TYPE = "time(3)";

    /** Included: Connect's times and ksqlDB allow the end of the day. */
    private static final int DAY_MS = 86_400_000;

    private TimeField() {}

    /** Milliseconds of the day; throws where the day has no such. */
    static Integer fit(long milliseconds) {
        if (milliseconds < 0 || milliseconds > DAY_MS) {
            throw new IllegalArgumentException(
                    "There are no " + milliseconds + " milliseconds in a day, as a TIME needs.");
        }
        return (int) milliseconds;
    }

    /** The type of a decoder's rows. */
    static DataType inRows(DataType type) {
        if (type instanceof TimeType) {
            return DataTypes.IntegerType;
        }
        if (type instanceof ArrayType array) {
            return new ArrayType(inRows(array.elementType()), array.containsNull());
        }
        if (type instanceof MapType map) {
            return new MapType(
                    inRows(map.keyType()), inRows(map.valueType()), map.valueContainsNull());
        }
        if (type instanceof StructType struct) {
            StructType rows = new StructType();
            for (StructField field : struct.fields()) {
                rows = rows.add(field.name(), inRows(field.dataType()), field.nullable());
            }
            return rows;
        }
        return type;
    }
}
