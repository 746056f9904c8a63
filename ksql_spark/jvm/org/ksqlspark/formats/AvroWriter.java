package org.ksqlspark.formats;

import org.apache.avro.Schema;
import org.apache.avro.io.Encoder;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.ksqlspark.formats.ColumnValues.ToWhole;

import java.io.IOException;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.List;

/** Writes the value at a place of a row or array. */
interface AvroWriter {
    void write(Encoder out, SpecializedGetters from, int at) throws IOException;

    /** The writer of values of {@code type} by {@code schema}; null: they do not fit it. */
    static AvroWriter of(Schema schema, DataType type) {
        if (schema.getType() == Schema.Type.UNION) {
            return union(schema.getTypes(), type);
        }
        AvroWriter found =
                switch (schema.getType()) {
                    case RECORD ->
                            type instanceof StructType struct
                                    ? AvroRecordWriter.of(schema, struct)
                                    : null;
                    case ARRAY -> array(schema.getElementType(), type);
                    case MAP ->
                            type instanceof MapType map
                                    ? map(of(schema.getValueType(), map.valueType()))
                                    : null;
                    default -> plain(schema, type);
                };
        return found == null ? null : present(found);
    }

    private static AvroWriter present(AvroWriter writer) {
        return (out, from, at) -> {
            if (from.isNullAt(at)) {
                throw new IllegalArgumentException("The schema allows no NULL.");
            }
            writer.write(out, from, at);
        };
    }

    private static AvroWriter union(List<Schema> branches, DataType type) {
        int none = -1;
        int some = -1;
        AvroWriter chosen = null;
        for (int i = 0; i < branches.size(); i++) {
            if (branches.get(i).getType() == Schema.Type.NULL) {
                none = i;
            } else if (chosen == null) {
                chosen = of(branches.get(i), type);
                some = i;
            }
        }
        if (chosen == null) {
            return null;
        }
        int nullIndex = none;
        int index = some;
        AvroWriter writer = chosen;
        return (out, from, at) -> {
            if (nullIndex >= 0 && from.isNullAt(at)) {
                out.writeIndex(nullIndex);
                out.writeNull();
            } else {
                out.writeIndex(index);
                writer.write(out, from, at);
            }
        };
    }

    private static AvroWriter plain(Schema schema, DataType type) {
        String name = type.typeName();
        return switch (schema.getType()) {
            case BOOLEAN ->
                    name.equals("boolean")
                            ? (out, from, at) -> out.writeBoolean(from.getBoolean(at))
                            : null;
            case INT ->
                    name.equals("integer") || name.equals("date")
                            ? (out, from, at) -> out.writeInt(from.getInt(at))
                            : null;
            case LONG -> ofLong(schema, type);
            case FLOAT ->
                    name.equals("double")
                            ? (out, from, at) ->
                                    out.writeFloat(ColumnValues.single(from.getDouble(at)))
                            : null;
            case DOUBLE ->
                    name.equals("double")
                            ? (out, from, at) -> out.writeDouble(from.getDouble(at))
                            : null;
            case STRING ->
                    name.equals("string")
                            ? (out, from, at) -> out.writeBytes(from.getUTF8String(at).getBytes())
                            : null;
            case ENUM -> name.equals("string") ? ofEnum(schema) : null;
            case BYTES, FIXED ->
                    type instanceof DecimalType decimal
                            ? ofDecimal(schema, decimal)
                            : name.equals("binary") ? ofBytes(schema) : null;
            default -> null;
        };
    }

    private static AvroWriter ofLong(Schema schema, DataType type) {
        ToWhole whole = ColumnValues.toWhole(type);
        long units =
                switch (type.typeName()) {
                    case "long" -> 1;
                    case "integer" -> AvroSchema.timeUnits(schema, 1);
                    case "timestamp" -> AvroSchema.timestampUnits(schema);
                    default -> 0;
                };
        return units == 0
                ? null
                : (out, from, at) -> out.writeLong(Math.multiplyExact(whole.of(from, at), units));
    }

    private static AvroWriter ofEnum(Schema schema) {
        return (out, from, at) -> {
            String symbol = from.getUTF8String(at).toString();
            if (!schema.hasEnumSymbol(symbol)) {
                throw new IllegalArgumentException(
                        "The schema's enum " + schema.getName() + " has no " + symbol + ".");
            }
            out.writeEnum(schema.getEnumOrdinal(symbol));
        };
    }

    private static AvroWriter ofDecimal(Schema schema, DecimalType type) {
        if (!AvroSchema.isDecimal(schema)) {
            return null;
        }
        boolean isFixed = schema.getType() == Schema.Type.FIXED;
        int size = isFixed ? schema.getFixedSize() : 0;
        int scale = AvroSchema.scale(schema);
        return (out, from, at) -> {
            BigDecimal number =
                    from.getDecimal(at, type.precision(), type.scale()).toJavaBigDecimal();
            byte[] digits = number.setScale(scale).unscaledValue().toByteArray();
            if (isFixed) {
                out.writeFixed(extended(digits, size));
            } else {
                out.writeBytes(digits);
            }
        };
    }

    private static byte[] extended(byte[] digits, int size) {
        if (digits.length > size) {
            throw new IllegalArgumentException("A number does not fit " + size + " bytes.");
        }
        byte[] made = new byte[size];
        Arrays.fill(made, 0, size - digits.length, (byte) (digits[0] < 0 ? -1 : 0));
        System.arraycopy(digits, 0, made, size - digits.length, digits.length);
        return made;
    }

    private static AvroWriter ofBytes(Schema schema) {
        if (schema.getType() == Schema.Type.BYTES) {
            return (out, from, at) -> out.writeBytes(from.getBinary(at));
        }
        int size = schema.getFixedSize();
        return (out, from, at) -> {
            byte[] value = from.getBinary(at);
            if (value.length != size) {
                throw new IllegalArgumentException("The schema wants " + size + " bytes.");
            }
            out.writeFixed(value);
        };
    }

    private static AvroWriter array(Schema item, DataType type) {
        if (type instanceof MapType map && AvroSchema.isEntry(item)) {
            return entries(item, map);
        }
        AvroWriter writer = type instanceof ArrayType array ? of(item, array.elementType()) : null;
        if (writer == null) {
            return null;
        }
        return (out, from, at) -> {
            ArrayData items = from.getArray(at);
            out.writeArrayStart();
            out.setItemCount(items.numElements());
            for (int i = 0; i < items.numElements(); i++) {
                out.startItem();
                writer.write(out, items, i);
            }
            out.writeArrayEnd();
        };
    }

    private static AvroWriter map(AvroWriter value) {
        if (value == null) {
            return null;
        }
        return (out, from, at) -> {
            MapData entries = from.getMap(at);
            out.writeMapStart();
            out.setItemCount(entries.numElements());
            for (int i = 0; i < entries.numElements(); i++) {
                out.startItem();
                out.writeBytes(entries.keyArray().getUTF8String(i).getBytes());
                value.write(out, entries.valueArray(), i);
            }
            out.writeMapEnd();
        };
    }

    private static AvroWriter entries(Schema entry, MapType map) {
        AvroWriter key = of(entry.getField("key").schema(), map.keyType());
        AvroWriter value = of(entry.getField("value").schema(), map.valueType());
        if (key == null || value == null) {
            return null;
        }
        boolean isKeyFirst = entry.getField("key").pos() == 0;
        return (out, from, at) -> {
            MapData entries = from.getMap(at);
            out.writeArrayStart();
            out.setItemCount(entries.numElements());
            for (int i = 0; i < entries.numElements(); i++) {
                out.startItem();
                if (isKeyFirst) {
                    key.write(out, entries.keyArray(), i);
                }
                value.write(out, entries.valueArray(), i);
                if (!isKeyFirst) {
                    key.write(out, entries.keyArray(), i);
                }
            }
            out.writeArrayEnd();
        };
    }
}
