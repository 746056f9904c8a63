package org.ksqlspark.formats;

import com.google.protobuf.WireFormat;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

import java.util.ArrayList;
import java.util.List;

/**
 * Writes STRUCTs of one type as messages of one type. NULL is left out; where the schema cannot
 * tell that from a default, readers see the default. Fields that are not columns are left out.
 */
final class ProtobufMessageWriter {
    private final Field[] fields;

    /** What writes a column, which is not NULL, with its tag. */
    private record Field(int ordinal, String name, ProtobufWriter writer) {}

    /**
     * @param path where the message is in its row, for messages
     */
    ProtobufMessageWriter(ProtobufSchema.Message message, StructType struct, String path) {
        List<Field> found = new ArrayList<>();
        add(found, message.fields(), struct, null);
        for (int i = 0; i < message.oneOfs().size(); i++) {
            ProtobufSchema.OneOf oneOf = message.oneOfs().get(i);
            int at = ColumnNames.last(List.of(struct.fieldNames()), oneOf.column(i));
            if (at >= 0 && struct.fields()[at].dataType() instanceof StructType inner) {
                found.add(new Field(at, struct.fieldNames()[at], alternatives(oneOf, inner, path)));
            } else {
                add(found, oneOf.fields(), struct, null);
            }
        }
        fields = found.toArray(Field[]::new);
    }

    /**
     * @param path where they are, for messages; null: each has the path that is its column
     */
    private static void add(
            List<Field> to, List<ProtobufSchema.Field> fields, StructType struct, String path) {
        for (ProtobufSchema.Field field : fields) {
            int at = ColumnNames.last(List.of(struct.fieldNames()), field.name());
            if (at >= 0) {
                StructField column = struct.fields()[at];
                ProtobufWriter writer =
                        field(field, column.dataType(), path == null ? column.name() : path);
                to.add(new Field(at, column.name(), writer));
            }
        }
    }

    void write(ProtobufOutput out, InternalRow row) {
        for (Field field : fields) {
            if (row.isNullAt(field.ordinal)) {
                continue;
            }
            try {
                field.writer.write(out, row, field.ordinal);
            } catch (IllegalArgumentException | ArithmeticException unfit) {
                throw Unwritable.at(field.name, unfit);
            }
        }
    }

    /** The first of the alternatives that is not NULL. */
    private static ProtobufWriter alternatives(
            ProtobufSchema.OneOf oneOf, StructType struct, String path) {
        List<Field> found = new ArrayList<>();
        add(found, oneOf.fields(), struct, path);
        return (out, from, at) -> {
            InternalRow own = from.getStruct(at, struct.size());
            for (Field field : found) {
                if (!own.isNullAt(field.ordinal)) {
                    field.writer.write(out, own, field.ordinal);
                    return;
                }
            }
        };
    }

    private static ProtobufWriter field(ProtobufSchema.Field field, DataType type, String path) {
        ProtobufSchema.Message message = field.type().message();
        if (field.mapKey() != null) {
            if (!(type instanceof MapType map)) {
                throw ProtobufWriter.mismatch(path, "map", type);
            }
            ProtobufWriter key = member(field.mapKey(), 1, map.keyType(), path);
            return entries(field, key, member(field.type(), 2, map.valueType(), path));
        }
        if (!field.repeated()) {
            ProtobufWriter writer = member(field.type(), field.number(), type, path);
            return field.hasPresence() || !field.type().isScalar()
                    ? writer
                    : writer.unlessDefault(type);
        }
        if (type instanceof MapType map && message != null && message.isEntry()) {
            ProtobufSchema.Field key = message.fields().get(0);
            ProtobufSchema.Field value = message.fields().get(1);
            return entries(
                    field,
                    member(key.type(), key.number(), map.keyType(), path),
                    member(value.type(), value.number(), map.valueType(), path));
        }
        if (!(type instanceof ArrayType array)) {
            throw ProtobufWriter.mismatch(path, "repeated " + field.type().name(), type);
        }
        return items(field, ProtobufWriter.of(field.type(), array.elementType(), path));
    }

    private static ProtobufWriter member(
            ProtobufSchema.Type type, int number, DataType from, String path) {
        return ProtobufWriter.of(type, from, path).tagged(type.tag(number));
    }

    /** NULL as the type's default, which has no bits that are set: elements cannot be left out. */
    private static ProtobufWriter items(ProtobufSchema.Field field, ProtobufWriter writer) {
        int wireType = field.type().wireType();
        int nullSize =
                switch (wireType) {
                    case WireFormat.WIRETYPE_FIXED64 -> Long.BYTES;
                    case WireFormat.WIRETYPE_FIXED32 -> Integer.BYTES;
                    default -> 1;
                };
        boolean isPacked = wireType != WireFormat.WIRETYPE_LENGTH_DELIMITED;
        int tag = field.number() << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED;
        ProtobufWriter all =
                (out, from, at) -> {
                    ArrayData items = from.getArray(at);
                    for (int i = 0; i < items.numElements(); i++) {
                        if (!isPacked) {
                            out.varint(tag);
                        }
                        if (items.isNullAt(i)) {
                            out.zeros(nullSize);
                        } else {
                            writer.write(out, items, i);
                        }
                    }
                };
        ProtobufWriter packed = ProtobufWriter.inside(all).tagged(tag);
        return !isPacked
                ? all
                : (out, from, at) -> {
                    if (from.getArray(at).numElements() > 0) {
                        packed.write(out, from, at);
                    }
                };
    }

    private static ProtobufWriter entries(
            ProtobufSchema.Field field, ProtobufWriter key, ProtobufWriter value) {
        int tag = field.number() << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED;
        return (out, from, at) -> {
            MapData entries = from.getMap(at);
            for (int i = 0; i < entries.numElements(); i++) {
                out.varint(tag);
                int start = out.begin();
                key.write(out, entries.keyArray(), i);
                if (!entries.valueArray().isNullAt(i)) {
                    value.write(out, entries.valueArray(), i);
                }
                out.end(start);
            }
        };
    }
}
