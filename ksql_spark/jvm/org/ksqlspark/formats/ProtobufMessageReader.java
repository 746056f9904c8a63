package org.ksqlspark.formats;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads messages of one type as STRUCTs of one type. Fields match columns exactly or whatever their
 * case; a column that the writer has not is NULL, a field that a record has not is its type's
 * default where the writer's schema cannot tell the two apart.
 */
final class ProtobufMessageReader implements ProtobufReader {
    private static final int SMALL_NUMBERS = 256;

    /** Lists have two: that of their elements, and that of all of them in one field. */
    private static final int ANY_WIRE_TYPE = -1;

    private final int size;
    private final Slot[] small = new Slot[SMALL_NUMBERS];
    private final Map<Integer, Slot> large = new HashMap<>();
    private final Object[] defaults;
    private final Finish[] finishes;
    private boolean gathers;

    /** What reads a field; a field of another wire type is passed over. */
    private record Slot(int wireType, FieldReader reader) {}

    /** Reads a field, whose tag was read, into the values of its row. */
    private interface FieldReader {
        void read(CodedInputStream in, int tag, Object[] values) throws IOException;
    }

    /** Turns what was gathered of a repeated field, which may be null, into Spark's value. */
    private interface Finish {
        Object of(Object gathered);
    }

    ProtobufMessageReader(ProtobufSchema.Message writer, StructType struct) {
        this(writer.fields(), writer.oneOfs(), struct, null);
    }

    /**
     * @param path where the message is in its record, for messages; null: each field has the path
     *     that is its column
     */
    ProtobufMessageReader(
            List<ProtobufSchema.Field> plain,
            List<ProtobufSchema.OneOf> oneOfs,
            StructType struct,
            String path) {
        size = struct.size();
        defaults = new Object[size];
        finishes = new Finish[size];
        List<ProtobufSchema.Field> fields = new ArrayList<>(plain);
        oneOfs.forEach(oneOf -> fields.add(null));
        // a column may also be one of the alternatives itself
        oneOfs.forEach(oneOf -> fields.addAll(oneOf.fields()));
        List<String> names = new ArrayList<>();
        int groups = plain.size();
        for (int i = 0; i < fields.size(); i++) {
            ProtobufSchema.Field field = fields.get(i);
            names.add(field == null ? oneOfs.get(i - groups).column(i - groups) : field.name());
        }
        Map<Integer, ProtobufSchema.OneOf> alternatives = new LinkedHashMap<>();
        for (int at = 0; at < size; at++) {
            StructField column = struct.fields()[at];
            int found = ColumnNames.first(names, column.name());
            if (found >= 0 && fields.get(found) == null) {
                alternatives.put(at, oneOfs.get(found - groups));
                addDeclared(oneOfs.get(found - groups), column, at);
            } else if (found >= 0) {
                String place = path == null ? column.name() : path;
                add(fields.get(found), column.dataType(), place, at);
            }
        }
        alternatives.forEach((at, oneOf) -> addUndeclared(oneOf, struct.fields()[at], at));
    }

    private Slot slot(int number) {
        return number < SMALL_NUMBERS ? small[number] : large.get(number);
    }

    private void put(ProtobufSchema.Field field, FieldReader reader) {
        put(field, new Slot(field.type().wireType(), reader));
    }

    private void put(ProtobufSchema.Field field, Slot slot) {
        if (field.number() < SMALL_NUMBERS) {
            small[field.number()] = slot;
        } else {
            large.put(field.number(), slot);
        }
    }

    /** Alternatives are, as Connect has them, a STRUCT with a field for each of them. */
    private void addDeclared(ProtobufSchema.OneOf oneOf, StructField column, int at) {
        if (!(column.dataType() instanceof StructType struct)) {
            throw ProtobufReader.mismatch(
                    column.name(), "oneof " + oneOf.name(), column.dataType());
        }
        List<String> names = oneOf.fields().stream().map(ProtobufSchema.Field::name).toList();
        for (int i = 0; i < struct.size(); i++) {
            StructField inner = struct.fields()[i];
            int found = ColumnNames.first(names, inner.name());
            if (found < 0) {
                continue;
            }
            ProtobufSchema.Field field = oneOf.fields().get(found);
            String path = column.name() + "." + inner.name();
            ProtobufReader read = ProtobufReader.of(field.type(), inner.dataType(), path);
            int place = i;
            put(
                    field,
                    (in, tag, values) -> {
                        Object[] own = new Object[struct.size()];
                        own[place] = read.read(in);
                        values[at] = new GenericInternalRow(own);
                    });
        }
    }

    /** Alternatives that the STRUCT has no field for: all its fields are NULL then. */
    private void addUndeclared(ProtobufSchema.OneOf oneOf, StructField column, int at) {
        StructType struct = (StructType) column.dataType();
        for (ProtobufSchema.Field field : oneOf.fields()) {
            if (ColumnNames.first(List.of(struct.fieldNames()), field.name()) >= 0) {
                continue;
            }
            Slot own = slot(field.number()); // a column may be this alternative itself
            FieldReader read =
                    own == null ? (in, tag, v) -> ProtobufWire.skip(in, tag) : own.reader;
            put(
                    field,
                    (in, tag, values) -> {
                        values[at] = new GenericInternalRow(struct.size());
                        read.read(in, tag, values);
                    });
        }
    }

    private void add(ProtobufSchema.Field field, DataType type, String path, int at) {
        ProtobufSchema.Message message = field.type().message();
        if (field.mapKey() != null) {
            if (!(type instanceof MapType map)) {
                throw ProtobufReader.mismatch(path, "map", type);
            }
            addEntries(field, field.mapKey(), field.type(), map, path, at);
        } else if (!field.repeated()) {
            ProtobufReader read = ProtobufReader.of(field.type(), type, path);
            if (!field.hasPresence()) {
                defaults[at] = ProtobufDefault.of(field.type(), type);
            } else if (field.standard() != null) {
                defaults[at] = ProtobufDefault.declared(field, read);
            }
            put(field, (in, tag, values) -> values[at] = read.read(in));
        } else if (type instanceof MapType map && message != null && message.isEntry()) {
            List<ProtobufSchema.Field> pair = message.fields();
            addEntries(field, pair.get(0).type(), pair.get(1).type(), map, path, at);
        } else if (type instanceof ArrayType array) {
            addItems(field, ProtobufReader.of(field.type(), array.elementType(), path), at);
        } else {
            throw ProtobufReader.mismatch(path, "repeated " + field.type().name(), type);
        }
    }

    private void addItems(ProtobufSchema.Field field, ProtobufReader read, int at) {
        int wireType = field.type().wireType();
        gathers = true;
        finishes[at] = list -> ColumnValues.list(list == null ? List.of() : (List<?>) list);
        FieldReader reader =
                (in, tag, values) -> {
                    @SuppressWarnings("unchecked")
                    List<Object> list = (List<Object>) values[at];
                    if (list == null) {
                        list = new ArrayList<>();
                        values[at] = list;
                    }
                    int found = WireFormat.getTagWireType(tag);
                    if (found == wireType) {
                        list.add(read.read(in));
                    } else if (found == WireFormat.WIRETYPE_LENGTH_DELIMITED) {
                        // packed: all of them in one field
                        int limit = in.pushLimit(ProtobufWire.length(in));
                        while (in.getBytesUntilLimit() > 0) {
                            list.add(read.read(in));
                        }
                        in.popLimit(limit);
                    } else {
                        ProtobufWire.skip(in, tag);
                    }
                };
        put(field, new Slot(ANY_WIRE_TYPE, reader));
    }

    /** Entries are messages, in which key and value may be left out. */
    private void addEntries(
            ProtobufSchema.Field field,
            ProtobufSchema.Type key,
            ProtobufSchema.Type value,
            MapType map,
            String path,
            int at) {
        StructType pair = new StructType().add("key", map.keyType()).add("value", map.valueType());
        ProtobufReader read =
                ProtobufReader.inside(
                        new ProtobufMessageReader(
                                List.of(key.field("key", 1), value.field("value", 2)),
                                List.of(),
                                pair,
                                path));
        gathers = true;
        finishes[at] = found -> ColumnValues.map(found == null ? Map.of() : (Map<?, ?>) found);
        FieldReader reader =
                (in, tag, values) -> {
                    @SuppressWarnings("unchecked")
                    Map<Object, Object> entries = (Map<Object, Object>) values[at];
                    if (entries == null) {
                        entries = new LinkedHashMap<>();
                        values[at] = entries;
                    }
                    InternalRow entry = (InternalRow) read.read(in);
                    entries.put(entry.get(0, map.keyType()), entry.get(1, map.valueType()));
                };
        put(field, new Slot(WireFormat.WIRETYPE_LENGTH_DELIMITED, reader));
    }

    @Override
    public InternalRow read(CodedInputStream in) throws IOException {
        Object[] values = defaults.clone();
        for (int tag = ProtobufWire.tag(in); tag != 0; tag = ProtobufWire.tag(in)) {
            Slot slot = slot(WireFormat.getTagFieldNumber(tag));
            if (slot != null
                    && (slot.wireType == WireFormat.getTagWireType(tag)
                            || slot.wireType == ANY_WIRE_TYPE)) {
                slot.reader.read(in, tag, values);
            } else {
                ProtobufWire.skip(in, tag);
            }
        }
        if (gathers) {
            for (int i = 0; i < size; i++) {
                if (finishes[i] != null) {
                    values[i] = finishes[i].of(values[i]);
                }
            }
        }
        return new GenericInternalRow(values);
    }
}
