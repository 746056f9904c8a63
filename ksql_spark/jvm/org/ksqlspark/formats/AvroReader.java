package org.ksqlspark.formats;

import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.ksqlspark.formats.ColumnValues.FromWhole;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads one value of a writer's schema as one of a column's type. */
interface AvroReader {
    Object read(AvroInput in);

    static AvroReader of(Schema writer, DataType type) {
        return of(writer, type, AvroRecordReader.WHOLE);
    }

    /**
     * @param path where the value is in its record, for messages
     */
    static AvroReader of(Schema writer, DataType type, String path) {
        AvroReader found =
                switch (writer.getType()) {
                    case UNION -> AvroUnionReader.of(writer.getTypes(), type, path);
                    case RECORD ->
                            type instanceof StructType struct
                                    ? new AvroRecordReader(writer, struct, path)
                                    : null;
                    case ARRAY -> array(writer.getElementType(), type, path);
                    case MAP ->
                            type instanceof MapType map
                                    ? map(of(writer.getValueType(), map.valueType(), path))
                                    : null;
                    default -> plain(writer, type);
                };
        return found != null ? found : mismatch(writer, type, path);
    }

    /** Only a record that has the value is bad: it may be one of a union. */
    private static AvroReader mismatch(Schema writer, DataType type, String path) {
        String reason =
                "%s is of the Avro type %s, which does not fit %s."
                        .formatted(path, writer.getType().getName(), type.sql());
        return in -> {
            throw new IllegalArgumentException(reason);
        };
    }

    private static AvroReader array(Schema item, DataType type, String path) {
        if (type instanceof MapType map && AvroSchema.isEntry(item)) {
            return entries(item, map, path);
        }
        if (!(type instanceof ArrayType array)) {
            return null;
        }
        AvroReader read = of(item, array.elementType(), path);
        return in -> {
            List<Object> items = new ArrayList<>();
            for (int count; (count = in.block()) > 0; ) {
                for (int i = 0; i < count; i++) {
                    items.add(read.read(in));
                }
            }
            return ColumnValues.list(items);
        };
    }

    private static AvroReader map(AvroReader value) {
        return in -> {
            Map<Object, Object> entries = new LinkedHashMap<>();
            for (int count; (count = in.block()) > 0; ) {
                for (int i = 0; i < count; i++) {
                    entries.put(text(in.bytes()), value.read(in));
                }
            }
            return ColumnValues.map(entries);
        };
    }

    private static AvroReader entries(Schema entry, MapType map, String path) {
        StructType pair = new StructType().add("key", map.keyType()).add("value", map.valueType());
        AvroRecordReader read = new AvroRecordReader(entry, pair, path);
        return in -> {
            Map<Object, Object> entries = new LinkedHashMap<>();
            for (int count; (count = in.block()) > 0; ) {
                for (int i = 0; i < count; i++) {
                    InternalRow one = read.read(in);
                    if (one.isNullAt(0)) {
                        throw new IllegalArgumentException("The key of a map is null.");
                    }
                    entries.put(one.get(0, map.keyType()), one.get(1, map.valueType()));
                }
            }
            return ColumnValues.map(entries);
        };
    }

    private static AvroReader plain(Schema writer, DataType type) {
        String name = type.typeName();
        return switch (writer.getType()) {
            case BOOLEAN ->
                    switch (name) {
                        case "boolean" -> in -> in.truth();
                        case "string" -> in -> UTF8String.fromString(String.valueOf(in.truth()));
                        default -> null;
                    };
            case INT -> ofInt(type);
            case LONG -> ofLong(writer, type);
            case FLOAT -> name.equals("double") ? in -> (double) in.single() : null;
            case DOUBLE -> name.equals("double") ? in -> in.real() : null;
            case STRING, BYTES, FIXED -> ofBytes(writer, type);
            case ENUM -> name.equals("string") ? ofEnum(writer) : null;
            default -> null;
        };
    }

    private static AvroReader ofInt(DataType type) {
        FromWhole value = ColumnValues.fromWhole(type);
        return value == null || type.typeName().equals("timestamp")
                ? null
                : in -> value.of(in.integer());
    }

    private static AvroReader ofLong(Schema writer, DataType type) {
        FromWhole value = ColumnValues.fromWhole(type);
        long time = AvroSchema.timeUnits(writer, 0);
        long timestamp = AvroSchema.timestampUnits(writer);
        return switch (type.typeName()) {
            case "long", "double", "string" -> in -> value.of(in.number());
            case "timestamp" -> in -> value.of(Math.floorDiv(in.number(), timestamp));
            case "integer" -> time == 0 ? null : in -> value.of(in.number() / time);
            case TimeField.TYPE ->
                    time == 0 ? null : in -> value.of(Math.floorDiv(in.number(), time));
            default -> null;
        };
    }

    private static AvroReader ofEnum(Schema writer) {
        UTF8String[] symbols =
                writer.getEnumSymbols().stream()
                        .map(UTF8String::fromString)
                        .toArray(UTF8String[]::new);
        return in -> symbols[in.index(symbols.length)];
    }

    private static AvroReader ofBytes(Schema writer, DataType type) {
        boolean isFixed = writer.getType() == Schema.Type.FIXED;
        boolean isText = writer.getType() == Schema.Type.STRING;
        long size = isFixed ? writer.getFixedSize() : 0;
        if (type instanceof DecimalType decimal) {
            if (isText || !AvroSchema.isDecimal(writer)) {
                return null;
            }
            int scale = AvroSchema.scale(writer);
            return in -> {
                byte[] digits = isFixed ? in.bytes(size) : in.bytes();
                return DecimalField.fit(new BigDecimal(new BigInteger(digits), scale), decimal);
            };
        }
        return switch (type.typeName()) {
            case "binary" -> isFixed ? in -> in.bytes(size) : in -> in.bytes();
            case "string" ->
                    isText || !isFixed && !AvroSchema.isDecimal(writer)
                            ? in -> text(in.bytes())
                            : null;
            default -> null;
        };
    }

    private static UTF8String text(byte[] data) {
        return Utf8.replaced(data, 0, data.length);
    }
}
