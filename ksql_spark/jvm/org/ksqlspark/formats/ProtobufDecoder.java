package org.ksqlspark.formats;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.ksqlspark.registry.RegistryClient;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Protobuf to a row, straight from its bytes: each record by its own writer's message. Fields match
 * columns exactly or whatever their case; a column that the writer has not is NULL, a field that a
 * record has not is its type's default where the writer's schema cannot tell the two apart. A
 * record that does not fit is NULL as a whole.
 *
 * <p>In Confluent's frame: a zero, four bytes of a schema's id, the place of the message in it, the
 * message. Or the message alone, by a schema that is given.
 */
public final class ProtobufDecoder extends BytesToRow {
    private static final int READERS_KEPT = 1000;
    private static final long MICROS = 1000;
    private static final long SECOND_MICROS = 1_000_000;
    private static final int NANOS_PER_MILLI = 1_000_000;
    private static final int SMALL_NUMBERS = 256;

    private final Map<String, String> registry;
    private final String given;
    private transient Map<Place, MessageReader> readers;
    private transient MessageReader last;
    private transient int lastId;

    private record Place(Object writer, List<Integer> path) {}

    /**
     * @param argument a JSON object: "ddl" is the columns; "schema" is a .proto file, by whose
     *     first message all records are written, without a frame
     * @param registry the registry's settings, see RegistryClient
     */
    public ProtobufDecoder(String argument, Map<String, String> registry) {
        super("decode_protobuf", StructType.fromDDL(json(argument).path("ddl").asText()));
        this.given = json(argument).path("schema").asText(null);
        this.registry = new HashMap<>(registry);
    }

    static JsonNode json(String argument) {
        try {
            return new ObjectMapper().readTree(argument);
        } catch (JsonProcessingException bad) {
            throw new IllegalArgumentException("The argument is not JSON: " + argument, bad);
        }
    }

    @Override
    public InternalRow invoke(byte[] data) {
        if (data == null) {
            return null;
        }
        try {
            return decode(data);
        } catch (IOException | RuntimeException | StackOverflowError bad) {
            return null;
        }
    }

    private InternalRow decode(byte[] data) throws IOException {
        if (given != null) {
            if (last == null) {
                ProtobufSchema writer = new ProtobufSchema(given, List.of());
                last = new MessageReader(writer.message(List.of(0)), schema);
            }
            return last.readAll(CodedInputStream.newInstance(data));
        }
        int frame = Frame.size(data);
        boolean byId = frame == Frame.BY_ID;
        int id = byId ? Frame.id(data) : 0;
        CodedInputStream in = CodedInputStream.newInstance(data, frame, data.length - frame);
        long count = ProtobufWire.zigZag(in);
        if (byId && count == 0 && last != null && id == lastId) {
            return last.readAll(in);
        }
        if (count < 0 || count > in.getBytesUntilLimit() && count > data.length) {
            throw new IllegalArgumentException("The place of its message cannot be read.");
        }
        List<Integer> path = new ArrayList<>();
        for (long i = 0; i < count; i++) {
            path.add(Math.toIntExact(ProtobufWire.zigZag(in)));
        }
        Object writer = byId ? (Object) id : Frame.writer(data);
        MessageReader reader = reader(new Place(writer, count == 0 ? List.of(0) : path));
        if (byId && count == 0) {
            last = reader;
            lastId = id;
        }
        return reader.readAll(in);
    }

    private MessageReader reader(Place place) {
        if (readers == null || readers.size() > READERS_KEPT) {
            readers = new HashMap<>();
        }
        MessageReader found = readers.get(place);
        if (found == null) {
            RegistryClient.Registered registered = RegistryClient.of(registry).schema(place.writer);
            ProtobufSchema writer = new ProtobufSchema(registered.text(), registered.references());
            found = new MessageReader(writer.message(place.path), schema);
            readers.put(place, found);
        }
        return found;
    }

    /** Why a record is NULL, for the processing log: by reading it once more. */
    public static final class Explain implements ScalarFunction<UTF8String> {
        private final ProtobufDecoder decoder;

        public Explain(ProtobufDecoder decoder) {
            this.decoder = decoder;
        }

        @Override
        public DataType[] inputTypes() {
            return decoder.inputTypes();
        }

        @Override
        public DataType resultType() {
            return DataTypes.StringType;
        }

        @Override
        public String name() {
            return "explain_protobuf";
        }

        public UTF8String invoke(byte[] data) {
            return data == null ? null : UTF8String.fromString(decoder.reason(data));
        }
    }

    private String reason(byte[] data) {
        try {
            return decode(data) == null ? "It is null." : "Nothing is wrong with it.";
        } catch (IOException bad) {
            return "It is not a Protobuf message: " + bad.getMessage();
        } catch (RuntimeException bad) {
            return String.valueOf(bad.getMessage());
        } catch (StackOverflowError bad) {
            return "Its schema is nested too deeply.";
        }
    }

    /** Reads one value of a field's type, which is next in the bytes. */
    private interface Reader {
        Object read(CodedInputStream in) throws IOException;
    }

    /** Reads a field, whose tag was read, into the values of its row. */
    private interface FieldReader {
        void read(CodedInputStream in, int tag, Object[] values) throws IOException;
    }

    /** Turns what was gathered of a repeated field into Spark's value. */
    private interface Gathered {
        Object made(Object gathered);
    }

    /** Reads messages of one type as STRUCTs of one type. */
    private static final class MessageReader {
        private final int size;
        private final FieldReader[] small;
        private final Map<Integer, FieldReader> large = new HashMap<>();
        private final Object[] defaults;
        private final Gathered[] gathered;
        private boolean gathers;

        MessageReader(ProtobufSchema.Message writer, StructType struct) {
            size = struct.size();
            defaults = new Object[size];
            gathered = new Gathered[size];
            FieldReader[] byNumber = new FieldReader[SMALL_NUMBERS];
            List<String> names = new ArrayList<>();
            List<ProtobufSchema.Field> fields = new ArrayList<>();
            List<ProtobufSchema.OneOf> oneOfs = writer.oneOfs();
            for (ProtobufSchema.Field field : writer.fields()) {
                names.add(field.name());
                fields.add(field);
            }
            for (int i = 0; i < oneOfs.size(); i++) {
                names.add(oneOfs.get(i).name() + "_" + i);
                fields.add(null);
            }
            // a column may also be one of the alternatives itself
            for (ProtobufSchema.OneOf oneOf : oneOfs) {
                for (ProtobufSchema.Field field : oneOf.fields()) {
                    names.add(field.name());
                    fields.add(field);
                }
            }
            Map<Integer, ProtobufSchema.OneOf> groups = new LinkedHashMap<>();
            for (int at = 0; at < size; at++) {
                StructField column = struct.fields()[at];
                int found = ordinal(names, column.name());
                if (found < 0) {
                    continue;
                }
                if (fields.get(found) == null) {
                    int number = found - writer.fields().size();
                    groups.put(at, oneOfs.get(number));
                    addAlternatives(byNumber, oneOfs.get(number), column, at);
                } else {
                    ProtobufSchema.Field field = fields.get(found);
                    add(
                            byNumber,
                            field.number(),
                            field(field, column.dataType(), column.name(), at));
                }
            }
            small = byNumber;
            groups.forEach((at, oneOf) -> addUndeclared(oneOf, struct.fields()[at], at));
        }

        /** Alternatives that the STRUCT has no field for: all its fields are NULL then. */
        private void addUndeclared(ProtobufSchema.OneOf oneOf, StructField column, int at) {
            StructType declared = (StructType) column.dataType();
            for (ProtobufSchema.Field field : oneOf.fields()) {
                if (ordinal(List.of(declared.fieldNames()), field.name()) >= 0) {
                    continue;
                }
                int wire = wireType(field.type());
                int number = field.number();
                // a column may be this alternative itself
                FieldReader own = number < SMALL_NUMBERS ? small[number] : large.get(number);
                add(
                        small,
                        number,
                        (in, tag, values) -> {
                            if (WireFormat.getTagWireType(tag) == wire) {
                                values[at] = new GenericInternalRow(declared.size());
                            }
                            if (own == null) {
                                ProtobufWire.skip(in, tag);
                            } else {
                                own.read(in, tag, values);
                            }
                        });
            }
        }

        private void add(FieldReader[] byNumber, int number, FieldReader reader) {
            if (number < SMALL_NUMBERS) {
                byNumber[number] = reader;
            } else {
                large.put(number, reader);
            }
        }

        /**
         * A group of alternatives is, as Connect has it, a STRUCT with a field for each of them.
         */
        private void addAlternatives(
                FieldReader[] byNumber, ProtobufSchema.OneOf oneOf, StructField column, int at) {
            if (!(column.dataType() instanceof StructType struct)) {
                throw mismatch(column.name(), "oneof " + oneOf.name(), column.dataType());
            }
            List<String> names = oneOf.fields().stream().map(ProtobufSchema.Field::name).toList();
            for (int i = 0; i < struct.size(); i++) {
                StructField inner = struct.fields()[i];
                int found = ordinal(names, inner.name());
                if (found < 0) {
                    continue;
                }
                Reader read =
                        value(
                                oneOf.fields().get(found).type(),
                                inner.dataType(),
                                column.name() + "." + inner.name());
                int wire = wireType(oneOf.fields().get(found).type());
                int place = i;
                add(
                        byNumber,
                        oneOf.fields().get(found).number(),
                        (in, tag, values) -> {
                            if (WireFormat.getTagWireType(tag) != wire) {
                                ProtobufWire.skip(in, tag);
                                return;
                            }
                            Object[] own = new Object[struct.size()];
                            own[place] = read.read(in);
                            values[at] = new GenericInternalRow(own);
                        });
            }
        }

        private FieldReader field(ProtobufSchema.Field field, DataType type, String path, int at) {
            if (field.mapKey() != null) {
                if (!(type instanceof MapType map)) {
                    throw mismatch(path, "map", type);
                }
                EntryReader entry = EntryReader.of(field.mapKey(), field.type(), map, path);
                return entries(entry, at);
            }
            if (!field.repeated()) {
                Reader read = value(field.type(), type, path);
                int wire = wireType(field.type());
                if (!field.hasPresence()) {
                    defaults[at] = standard(field.type(), type);
                } else if (field.standard() != null) {
                    defaults[at] = ownStandard(field, read);
                }
                return (in, tag, values) -> {
                    if (WireFormat.getTagWireType(tag) == wire) {
                        values[at] = read.read(in);
                    } else {
                        ProtobufWire.skip(in, tag);
                    }
                };
            }
            ProtobufSchema.Message message = field.type().message();
            if (type instanceof MapType map && message != null && message.isEntry()) {
                ProtobufSchema.Type key = message.fields().get(0).type();
                ProtobufSchema.Type value = message.fields().get(1).type();
                return entries(EntryReader.of(key, value, map, path), at);
            }
            if (!(type instanceof ArrayType array)) {
                throw mismatch(path, "repeated " + field.type().name(), type);
            }
            return items(field, value(field.type(), array.elementType(), path), at);
        }

        private FieldReader items(ProtobufSchema.Field field, Reader read, int at) {
            int wire = wireType(field.type());
            gathers = true;
            gathered[at] =
                    list ->
                            list == null
                                    ? new GenericArrayData(new Object[0])
                                    : new GenericArrayData(((List<?>) list).toArray());
            return (in, tag, values) -> {
                @SuppressWarnings("unchecked")
                List<Object> list = (List<Object>) values[at];
                if (list == null) {
                    list = new ArrayList<>();
                    values[at] = list;
                }
                int found = WireFormat.getTagWireType(tag);
                if (found == wire) {
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
        }

        private FieldReader entries(EntryReader entry, int at) {
            gathers = true;
            gathered[at] =
                    map -> {
                        Map<?, ?> entries = map == null ? Map.of() : (Map<?, ?>) map;
                        return new ArrayBasedMapData(
                                new GenericArrayData(entries.keySet().toArray()),
                                new GenericArrayData(entries.values().toArray()));
                    };
            return (in, tag, values) -> {
                if (WireFormat.getTagWireType(tag) != WireFormat.WIRETYPE_LENGTH_DELIMITED) {
                    ProtobufWire.skip(in, tag);
                    return;
                }
                @SuppressWarnings("unchecked")
                Map<Object, Object> map = (Map<Object, Object>) values[at];
                if (map == null) {
                    map = new LinkedHashMap<>();
                    values[at] = map;
                }
                entry.read(in, map);
            };
        }

        /** A record's message. */
        InternalRow readAll(CodedInputStream in) throws IOException {
            InternalRow row = read(in);
            if (!in.isAtEnd()) {
                throw new IllegalArgumentException("There are bytes after its end.");
            }
            return row;
        }

        private InternalRow read(CodedInputStream in) throws IOException {
            Object[] values = defaults.clone();
            for (int tag = ProtobufWire.tag(in); tag != 0; tag = ProtobufWire.tag(in)) {
                int number = WireFormat.getTagFieldNumber(tag);
                FieldReader reader = number < SMALL_NUMBERS ? small[number] : large.get(number);
                if (reader != null) {
                    reader.read(in, tag, values);
                } else {
                    ProtobufWire.skip(in, tag);
                }
            }
            if (gathers) {
                for (int i = 0; i < size; i++) {
                    if (gathered[i] != null) {
                        values[i] = gathered[i].made(values[i]);
                    }
                }
            }
            return new GenericInternalRow(values);
        }
    }

    /** Reads an entry of a map, in which key and value may be left out. */
    private record EntryReader(
            Reader key, int keyTag, Object noKey, Reader value, int valueTag, Object noValue) {
        static EntryReader of(
                ProtobufSchema.Type keys, ProtobufSchema.Type values, MapType map, String path) {
            return new EntryReader(
                    ProtobufDecoder.value(keys, map.keyType(), path),
                    1 << 3 | wireType(keys),
                    standard(keys, map.keyType()),
                    ProtobufDecoder.value(values, map.valueType(), path),
                    2 << 3 | wireType(values),
                    standard(values, map.valueType()));
        }

        void read(CodedInputStream in, Map<Object, Object> into) throws IOException {
            int limit = in.pushLimit(ProtobufWire.length(in));
            Object foundKey = noKey;
            Object foundValue = noValue;
            for (int tag = ProtobufWire.tag(in); tag != 0; tag = ProtobufWire.tag(in)) {
                if (tag == keyTag) {
                    foundKey = key.read(in);
                } else if (tag == valueTag) {
                    foundValue = value.read(in);
                } else {
                    ProtobufWire.skip(in, tag);
                }
            }
            in.popLimit(limit);
            into.put(foundKey, foundValue);
        }
    }

    private static IllegalArgumentException mismatch(String path, String found, DataType type) {
        return new IllegalArgumentException(
                path
                        + " is of the Protobuf type "
                        + found
                        + ", which does not fit "
                        + type.sql()
                        + ".");
    }

    static int wireType(ProtobufSchema.Type type) {
        if (type.symbols() != null) {
            return WireFormat.WIRETYPE_VARINT;
        }
        return switch (type.name()) {
            case "int32", "int64", "uint32", "uint64", "sint32", "sint64", "bool" ->
                    WireFormat.WIRETYPE_VARINT;
            case "fixed64", "sfixed64", "double" -> WireFormat.WIRETYPE_FIXED64;
            case "fixed32", "sfixed32", "float" -> WireFormat.WIRETYPE_FIXED32;
            default -> WireFormat.WIRETYPE_LENGTH_DELIMITED;
        };
    }

    /** What a field of this type has that is not in the bytes: NULL for messages. */
    private static Object standard(ProtobufSchema.Type type, DataType to) {
        if (type.symbols() != null) {
            String symbol = type.symbols().get(0);
            return symbol == null ? null : UTF8String.fromString(symbol);
        }
        if (!type.isScalar()) {
            return null;
        }
        return switch (to.typeName()) {
            case "integer", "date", TimeField.TYPE -> 0;
            case "long", "timestamp" -> 0L;
            case "double" -> 0.0;
            case "boolean" -> false;
            case "binary" -> new byte[0];
            case "string" ->
                    switch (type.name()) {
                        case "string", "bytes" -> UTF8String.EMPTY_UTF8;
                        case "bool" -> UTF8String.fromString("false");
                        default -> UTF8String.fromString("0");
                    };
            default -> null;
        };
    }

    /** The default that a schema gives a field; null if it is not a value of the field's type. */
    private static Object ownStandard(ProtobufSchema.Field field, Reader read) {
        String text = field.standard();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        CodedOutputStream out = CodedOutputStream.newInstance(bytes);
        try {
            if (field.type().symbols() != null) {
                for (Map.Entry<Integer, String> one : field.type().symbols().entrySet()) {
                    if (one.getValue().equals(text)) {
                        out.writeInt32NoTag(one.getKey());
                    }
                }
            } else {
                switch (field.type().name()) {
                    case "string" -> out.writeStringNoTag(text);
                    case "bytes" ->
                            out.writeByteArrayNoTag(text.getBytes(StandardCharsets.ISO_8859_1));
                    case "bool" -> out.writeBoolNoTag(Boolean.parseBoolean(text));
                    case "double" -> out.writeDoubleNoTag(real(text));
                    case "float" -> out.writeFloatNoTag((float) real(text));
                    case "sint32", "sint64" -> out.writeSInt64NoTag(Long.decode(text));
                    case "fixed32", "sfixed32" ->
                            out.writeFixed32NoTag(Long.decode(text).intValue());
                    case "fixed64", "sfixed64" -> out.writeFixed64NoTag(Long.decode(text));
                    default -> out.writeUInt64NoTag(Long.decode(text));
                }
            }
            out.flush();
            return read.read(CodedInputStream.newInstance(bytes.toByteArray()));
        } catch (IOException | IllegalArgumentException | ArithmeticException bad) {
            return null;
        }
    }

    private static double real(String text) {
        String plain = text.startsWith("-") ? text.substring(1) : text;
        double size =
                switch (plain) {
                    case "inf" -> Double.POSITIVE_INFINITY;
                    case "nan" -> Double.NaN;
                    default -> Double.parseDouble(plain);
                };
        return text.startsWith("-") ? -size : size;
    }

    /** The reader of single values. */
    private static Reader value(ProtobufSchema.Type type, DataType to, String path) {
        if (type.message() != null) {
            if (!(to instanceof StructType struct)) {
                throw mismatch(path, type.name(), to);
            }
            MessageReader reader = new MessageReader(type.message(), struct);
            return in -> inside(in, reader::read);
        }
        if (ProtobufSchema.WRAPPERS.containsKey(type.name())) {
            return wrapped(ProtobufSchema.WRAPPERS.get(type.name()), to, path);
        }
        String name = to.typeName();
        Reader found = null;
        if (type.symbols() != null) {
            Map<Integer, UTF8String> symbols = new HashMap<>();
            type.symbols().forEach((number, s) -> symbols.put(number, UTF8String.fromString(s)));
            if (name.equals("string")) {
                found =
                        in -> {
                            int number = (int) ProtobufWire.varint(in);
                            UTF8String symbol = symbols.get(number);
                            return symbol == null
                                    ? UTF8String.fromString(String.valueOf(number))
                                    : symbol;
                        };
            }
        } else {
            found =
                    switch (type.name()) {
                        case ProtobufSchema.TIMESTAMP ->
                                name.equals("timestamp")
                                        ? in -> inside(in, ProtobufDecoder::timestamp)
                                        : null;
                        case ProtobufSchema.DATE ->
                                name.equals("date")
                                        ? in -> inside(in, ProtobufDecoder::date)
                                        : null;
                        case ProtobufSchema.TIME ->
                                name.equals(TimeField.TYPE)
                                        ? in -> inside(in, ProtobufDecoder::time)
                                        : null;
                        case ProtobufSchema.DECIMAL ->
                                to instanceof DecimalType decimal
                                        ? in -> inside(in, part -> decimal(part, decimal))
                                        : null;
                        default -> scalar(type.name(), name);
                    };
        }
        if (found == null) {
            throw mismatch(path, type.name(), to);
        }
        return found;
    }

    /** Reads a message inside another one: its length, then itself. */
    private static Object inside(CodedInputStream in, Reader reader) throws IOException {
        int limit = in.pushLimit(ProtobufWire.length(in));
        Object value = reader.read(in);
        if (!in.isAtEnd()) {
            throw new IllegalArgumentException("A group ends that has not begun.");
        }
        in.popLimit(limit);
        return value;
    }

    private static Reader wrapped(String scalar, DataType to, String path) {
        ProtobufSchema.Type type = new ProtobufSchema.Type(scalar, null, null);
        Reader read = value(type, to, path);
        Object none = standard(type, to);
        int valueTag = 1 << 3 | wireType(type);
        return in ->
                inside(
                        in,
                        part -> {
                            Object value = none;
                            for (int tag = ProtobufWire.tag(part);
                                    tag != 0;
                                    tag = ProtobufWire.tag(part)) {
                                if (tag == valueTag) {
                                    value = read.read(part);
                                } else {
                                    ProtobufWire.skip(part, tag);
                                }
                            }
                            return value;
                        });
    }

    private static Reader scalar(String from, String to) {
        switch (from) {
            case "bool":
                return switch (to) {
                    case "boolean" -> in -> ProtobufWire.varint(in) != 0;
                    case "string" ->
                            in ->
                                    UTF8String.fromString(
                                            String.valueOf(ProtobufWire.varint(in) != 0));
                    default -> null;
                };
            case "double":
                return to.equals("double") ? in -> in.readDouble() : null;
            case "float":
                return to.equals("double") ? in -> (double) in.readFloat() : null;
            case "string":
                return to.equals("string") ? ProtobufDecoder::text : null;
            case "bytes":
                return switch (to) {
                    case "binary" -> in -> ProtobufWire.bytes(in);
                    case "string" -> ProtobufDecoder::text;
                    default -> null;
                };
            default:
                return number(number(from), to);
        }
    }

    private static UTF8String text(CodedInputStream in) throws IOException {
        byte[] bytes = ProtobufWire.bytes(in);
        for (byte one : bytes) {
            if (one < 0) {
                try {
                    StandardCharsets.UTF_8.newDecoder().decode(java.nio.ByteBuffer.wrap(bytes));
                } catch (CharacterCodingException bad) {
                    throw new IllegalArgumentException("A text is not valid UTF-8.");
                }
                break;
            }
        }
        return UTF8String.fromBytes(bytes);
    }

    /** A whole number, as it stands in the bytes. */
    private interface Number {
        long read(CodedInputStream in) throws IOException;
    }

    private static Number number(String from) {
        return switch (from) {
            case "int32" -> in -> (int) ProtobufWire.varint(in);
            case "sint32" -> in -> CodedInputStream.decodeZigZag32((int) ProtobufWire.varint(in));
            case "sfixed32" -> in -> in.readSFixed32();
            case "uint32" -> in -> Integer.toUnsignedLong((int) ProtobufWire.varint(in));
            case "fixed32" -> in -> Integer.toUnsignedLong(in.readFixed32());
            case "int64", "uint64" -> ProtobufWire::varint;
            case "sint64" -> ProtobufWire::zigZag;
            case "sfixed64" -> in -> in.readSFixed64();
            case "fixed64" -> in -> in.readFixed64();
            default -> null;
        };
    }

    private static Reader number(Number read, String to) {
        if (read == null) {
            return null;
        }
        return switch (to) {
            case "integer", "date" -> in -> Math.toIntExact(read.read(in));
            case TimeField.TYPE -> in -> TimeField.fit(read.read(in));
            case "long" -> in -> read.read(in);
            case "double" -> in -> (double) read.read(in);
            case "timestamp" -> in -> Math.multiplyExact(read.read(in), MICROS);
            case "string" -> in -> UTF8String.fromString(String.valueOf(read.read(in)));
            default -> null;
        };
    }

    /** The numbers in the fields 1 to 4 of a message. */
    private static long[] numbers(CodedInputStream in) throws IOException {
        long[] found = new long[5];
        for (int tag = ProtobufWire.tag(in); tag != 0; tag = ProtobufWire.tag(in)) {
            int number = WireFormat.getTagFieldNumber(tag);
            if (number < found.length
                    && WireFormat.getTagWireType(tag) == WireFormat.WIRETYPE_VARINT) {
                found[number] = ProtobufWire.varint(in);
            } else {
                ProtobufWire.skip(in, tag);
            }
        }
        return found;
    }

    private static Object timestamp(CodedInputStream in) throws IOException {
        long[] n = numbers(in);
        long millis = Math.floorDiv(n[2], NANOS_PER_MILLI);
        return Math.addExact(Math.multiplyExact(n[1], SECOND_MICROS), millis * MICROS);
    }

    /** NULL for an empty date, which is what a NULL in a list is written as. */
    private static Object date(CodedInputStream in) throws IOException {
        long[] n = numbers(in);
        if (n[1] == 0 && n[2] == 0 && n[3] == 0) {
            return null;
        }
        try {
            return Math.toIntExact(
                    LocalDate.of(
                                    Math.toIntExact(n[1]),
                                    Math.toIntExact(n[2]),
                                    Math.toIntExact(n[3]))
                            .toEpochDay());
        } catch (DateTimeException bad) {
            throw new IllegalArgumentException(
                    "There is no date of year " + n[1] + ", month " + n[2] + ", day " + n[3] + ".");
        }
    }

    private static Object time(CodedInputStream in) throws IOException {
        long[] n = numbers(in);
        for (long part : n) { // so that nothing below is too large for a long
            Math.toIntExact(part);
        }
        return TimeField.fit(
                ((n[1] * 60 + n[2]) * 60 + n[3]) * 1000
                        + Math.floorDiv(n[4], (long) NANOS_PER_MILLI));
    }

    private static Object decimal(CodedInputStream in, DecimalType type) throws IOException {
        byte[] digits = {};
        int scale = 0;
        for (int tag = ProtobufWire.tag(in); tag != 0; tag = ProtobufWire.tag(in)) {
            switch (tag) {
                case 1 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED ->
                        digits = ProtobufWire.bytes(in);
                case 3 << 3 | WireFormat.WIRETYPE_VARINT -> scale = (int) ProtobufWire.varint(in);
                default -> ProtobufWire.skip(in, tag);
            }
        }
        BigInteger unscaled = digits.length == 0 ? BigInteger.ZERO : new BigInteger(digits);
        return DecimalField.fit(new BigDecimal(unscaled, scale), type);
    }

    private static int ordinal(List<String> names, String name) {
        int exact = names.indexOf(name);
        for (int i = 0; exact < 0 && i < names.size(); i++) {
            if (names.get(i).equalsIgnoreCase(name)) {
                exact = i;
            }
        }
        return exact;
    }
}
