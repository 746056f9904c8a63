package org.ksqlspark.formats;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimeType;
import org.apache.spark.sql.types.VariantType;
import org.apache.spark.unsafe.types.UTF8String;

import java.io.Serializable;
import java.util.Collection;
import java.util.Map;

/**
 * The values of our SQL types in Spark's rows, for all formats: what a whole number is in a column
 * of each type, and back; lists and maps.
 */
final class ColumnValues {
    private static final long MICROS = 1000;

    private ColumnValues() {}

    /** A column's value of a whole number; throws if it does not fit. */
    interface FromWhole extends Serializable {
        Object of(long number);
    }

    /** The whole number of a column's value. */
    interface ToWhole extends Serializable {
        long of(SpecializedGetters from, int at);
    }

    /** Null: a column of this type has no whole numbers. */
    static FromWhole fromWhole(DataType type) {
        return switch (type.typeName()) {
            case "integer", "date" -> Math::toIntExact;
            case TimeField.TYPE -> TimeField::fit;
            case "long" -> number -> number;
            case "double" -> number -> (double) number;
            case "timestamp" -> millis -> Math.multiplyExact(millis, MICROS);
            case "string" -> number -> UTF8String.fromString(String.valueOf(number));
            default -> null;
        };
    }

    /**
     * The number with 32 bits, rounded.
     *
     * @throws ArithmeticException if it is finite, and too large for them
     */
    static float single(double number) {
        float single = (float) number;
        if (Float.isInfinite(single) && !Double.isInfinite(number)) {
            throw new ArithmeticException(number + " is too large for a float.");
        }
        return single;
    }

    /** Null: a column of this type has no whole numbers. A TIME is an INT here. */
    static ToWhole toWhole(DataType type) {
        return switch (type.typeName()) {
            case "integer", "date" -> SpecializedGetters::getInt;
            case "long" -> SpecializedGetters::getLong;
            case "timestamp" -> (from, at) -> Math.floorDiv(from.getLong(at), MICROS);
            default -> null;
        };
    }

    static GenericArrayData list(Collection<?> items) {
        return new GenericArrayData(items.toArray());
    }

    static ArrayBasedMapData map(Map<?, ?> entries) {
        return new ArrayBasedMapData(list(entries.keySet()), list(entries.values()));
    }

    /**
     * The type of a decoder's rows: Spark's TIME tells decoders of an INT of milliseconds, its
     * VARIANT of a STRING with JSON.
     */
    static DataType inRows(DataType type) {
        if (type instanceof TimeType) {
            return DataTypes.IntegerType;
        }
        if (type instanceof VariantType) {
            return DataTypes.StringType;
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
