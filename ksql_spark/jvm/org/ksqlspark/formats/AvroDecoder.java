package org.ksqlspark.formats;

import org.apache.avro.NameValidator;
import org.apache.avro.Schema;
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

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Avro in Confluent's frame (a zero, four bytes of a schema's id, the body) to a row: each record
 * is resolved from its own writer's schema to the columns, straight from its bytes. Fields match
 * exactly or whatever their case; one that the writer has not is NULL. A record that does not fit
 * is NULL as a whole. A schema that starts with "=" has one field, which is a bare (unwrapped)
 * value.
 */
public final class AvroDecoder extends BytesToRow {
    private static final long MICROS = 1000;

    /**
     * What longs count, as parts of a millisecond; all others that are times count milliseconds.
     */
    static final Map<String, Long> TIMESTAMPS =
            Map.of(
                    "timestamp-micros", 1_000L,
                    "timestamp-nanos", 1_000_000L,
                    "local-timestamp-micros", 1_000L,
                    "local-timestamp-nanos", 1_000_000L,
                    "io.debezium.time.MicroTimestamp", 1_000L,
                    "io.debezium.time.NanoTimestamp", 1_000_000L);

    static final Map<String, Long> TIMES =
            Map.of(
                    "time-micros", 1_000L,
                    "io.debezium.time.MicroTime", 1_000L,
                    "io.debezium.time.NanoTime", 1_000_000L);

    private static final int READERS_KEPT = 1000;
    private static final String WHOLE = "It";

    private final boolean wrapped;
    private final Map<String, String> registry;
    private transient Map<Object, Reader> readers;
    private transient Reader last;
    private transient int lastId;
    private transient AvroInput input;

    /**
     * @param registry the registry's settings, see RegistryClient
     */
    public AvroDecoder(String ddl, Map<String, String> registry) {
        super("decode_avro", StructType.fromDDL(ddl.startsWith("=") ? ddl.substring(1) : ddl));
        this.wrapped = !ddl.startsWith("=");
        this.registry = new HashMap<>(registry);
    }

    @Override
    public InternalRow invoke(byte[] data) {
        if (data == null) {
            return null;
        }
        try {
            return decode(data);
        } catch (RuntimeException | StackOverflowError bad) {
            return null;
        }
    }

    private InternalRow decode(byte[] data) {
        int frame = Frame.size(data);
        Reader reader = frame == Frame.BY_ID ? reader(Frame.id(data)) : reader(Frame.writer(data));
        if (input == null) {
            input = new AvroInput();
        }
        input.start(data, frame);
        Object value = reader.read(input);
        if (input.left() > 0) {
            throw new IllegalArgumentException("There are bytes after its end.");
        }
        return wrapped ? (InternalRow) value : new GenericInternalRow(new Object[] {value});
    }

    private Reader reader(int id) {
        if (last == null || id != lastId) {
            last = reader((Object) id);
            lastId = id;
        }
        return last;
    }

    private Reader reader(Object writtenBy) {
        if (readers == null || readers.size() > READERS_KEPT) {
            readers = new HashMap<>();
        }
        Reader found = readers.get(writtenBy);
        if (found == null) {
            Schema writer = parse(RegistryClient.of(registry).schema(writtenBy));
            found = reader(writer, wrapped ? schema : schema.fields()[0].dataType(), WHOLE);
            readers.put(writtenBy, found);
        }
        return found;
    }

    /** Registries have accepted names and defaults that Avro does not. */
    static Schema parse(RegistryClient.Registered schema) {
        Schema.Parser parser = new Schema.Parser(NameValidator.NO_VALIDATION);
        parser.setValidateDefaults(false);
        for (String reference : schema.references()) {
            parser.parse(reference);
        }
        return parser.parse(schema.text());
    }

    /** Why a record is NULL, for the processing log: by reading it once more. */
    public static final class Explain implements ScalarFunction<UTF8String> {
        private final AvroDecoder decoder;

        public Explain(String ddl, Map<String, String> registry) {
            this.decoder = new AvroDecoder(ddl, registry);
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
            return "explain_avro";
        }

        public UTF8String invoke(byte[] data) {
            return data == null ? null : UTF8String.fromString(decoder.reason(data));
        }
    }

    private String reason(byte[] data) {
        try {
            return decode(data) == null ? "It is null." : "Nothing is wrong with it.";
        } catch (RuntimeException bad) {
            return String.valueOf(bad.getMessage());
        } catch (StackOverflowError bad) {
            return "Its schema is nested too deeply.";
        }
    }

    /** Reads one value of the writer's schema. */
    private interface Reader {
        Object read(AvroInput in);
    }

    private static Reader reader(Schema writer, DataType type, String path) {
        switch (writer.getType()) {
            case UNION:
                return union(writer, type, path);
            case RECORD:
                if (type instanceof StructType struct) {
                    return record(writer, struct, path);
                }
                break;
            case ARRAY:
                if (type instanceof ArrayType array) {
                    return array(reader(writer.getElementType(), array.elementType(), path));
                }
                if (type instanceof MapType map && isEntry(writer.getElementType())) {
                    return entries(writer.getElementType(), map, path);
                }
                break;
            case MAP:
                if (type instanceof MapType map) {
                    return map(reader(writer.getValueType(), map.valueType(), path));
                }
                break;
            default:
                Reader plain = plain(writer, type);
                if (plain != null) {
                    return plain;
                }
        }
        return mismatch(writer, type, path);
    }

    /** Only a record that has the value is bad: it may be one of a union. */
    private static Reader mismatch(Schema writer, DataType type, String path) {
        String reason =
                path
                        + " is of the Avro type "
                        + writer.getType().getName()
                        + ", which does not fit "
                        + type.sql()
                        + ".";
        return in -> {
            throw new IllegalArgumentException(reason);
        };
    }

    private static Reader plain(Schema writer, DataType type) {
        String name = type.typeName();
        switch (writer.getType()) {
            case BOOLEAN:
                return switch (name) {
                    case "boolean" -> in -> in.truth();
                    case "string" -> in -> UTF8String.fromString(String.valueOf(in.truth()));
                    default -> null;
                };
            case INT:
                return switch (name) {
                    case "integer", "date" -> in -> in.integer();
                    case TimeField.TYPE -> in -> TimeField.fit(in.integer());
                    case "long" -> in -> (long) in.integer();
                    case "double" -> in -> (double) in.integer();
                    case "string" -> in -> UTF8String.fromString(String.valueOf(in.integer()));
                    default -> null;
                };
            case LONG:
                return ofLong(writer, name);
            case FLOAT:
                return name.equals("double") ? in -> (double) in.single() : null;
            case DOUBLE:
                return name.equals("double") ? in -> in.real() : null;
            case STRING:
                return switch (name) {
                    case "string" -> in -> text(in.bytes());
                    case "binary" -> in -> in.bytes();
                    default -> null;
                };
            case ENUM:
                if (name.equals("string")) {
                    UTF8String[] symbols =
                            writer.getEnumSymbols().stream()
                                    .map(UTF8String::fromString)
                                    .toArray(UTF8String[]::new);
                    return in -> symbols[in.index(symbols.length)];
                }
                return null;
            case BYTES:
            case FIXED:
                return ofBytes(writer, type);
            default:
                return null;
        }
    }

    private static Reader ofLong(Schema writer, String name) {
        long timestamp = perMillisecond(writer, TIMESTAMPS, 1);
        long time = perMillisecond(writer, TIMES, 0);
        return switch (name) {
            case "long" -> in -> in.number();
            case "double" -> in -> (double) in.number();
            case "string" -> in -> UTF8String.fromString(String.valueOf(in.number()));
            case "timestamp" ->
                    in -> Math.multiplyExact(Math.floorDiv(in.number(), timestamp), MICROS);
            case "integer" -> time == 0 ? null : in -> Math.toIntExact(in.number() / time);
            case TimeField.TYPE ->
                    time == 0 ? null : in -> TimeField.fit(Math.floorDiv(in.number(), time));
            default -> null;
        };
    }

    /** How many units of a long are a millisecond; other: the schema has none of the names. */
    static long perMillisecond(Schema schema, Map<String, Long> units, long other) {
        String name = String.valueOf(schema.getObjectProp("connect.name"));
        return units.getOrDefault(
                String.valueOf(schema.getProp("logicalType")), units.getOrDefault(name, other));
    }

    private static Reader ofBytes(Schema writer, DataType type) {
        boolean isFixed = writer.getType() == Schema.Type.FIXED;
        long size = isFixed ? writer.getFixedSize() : 0;
        if (type instanceof DecimalType decimal) {
            if (!isDecimal(writer)) {
                return null;
            }
            Object given = writer.getObjectProp("scale");
            int scale = given == null ? 0 : Integer.parseInt(given.toString());
            return in -> {
                byte[] digits = isFixed ? in.bytes(size) : in.bytes();
                return DecimalField.fit(new BigDecimal(new BigInteger(digits), scale), decimal);
            };
        }
        return switch (type.typeName()) {
            case "binary" -> in -> isFixed ? in.bytes(size) : in.bytes();
            case "string" -> isFixed || isDecimal(writer) ? null : in -> text(in.bytes());
            default -> null;
        };
    }

    /** As Java reads texts: bytes that are not UTF-8 become U+FFFD. */
    private static UTF8String text(byte[] data) {
        return UTF8String.fromBytes(data).makeValid();
    }

    static boolean isDecimal(Schema schema) {
        return "decimal".equals(schema.getProp("logicalType"))
                || "org.apache.kafka.connect.data.Decimal".equals(schema.getProp("connect.name"));
    }

    /** How Connect writes maps whose keys are not plain strings: an array of key and value. */
    static boolean isEntry(Schema schema) {
        return schema.getType() == Schema.Type.RECORD
                && schema.getFields().size() == 2
                && schema.getField("key") != null
                && schema.getField("value") != null
                && ("MapEntry".equals(schema.getProp("connect.internal.type"))
                        || schema.getName().equals("MapEntry"));
    }

    private static Reader array(Reader item) {
        return in -> {
            List<Object> items = new ArrayList<>();
            for (int count; (count = in.block()) > 0; ) {
                for (int i = 0; i < count; i++) {
                    items.add(item.read(in));
                }
            }
            return new GenericArrayData(items.toArray());
        };
    }

    private static Reader map(Reader value) {
        return in -> {
            Map<Object, Object> entries = new LinkedHashMap<>();
            for (int count; (count = in.block()) > 0; ) {
                for (int i = 0; i < count; i++) {
                    entries.put(text(in.bytes()), value.read(in));
                }
            }
            return mapOf(entries);
        };
    }

    private static Reader entries(Schema entry, MapType map, String path) {
        StructType struct =
                new StructType()
                        .add("key", map.keyType(), true)
                        .add("value", map.valueType(), true);
        Reader read = record(entry, struct, path);
        return in -> {
            Map<Object, Object> entries = new LinkedHashMap<>();
            for (int count; (count = in.block()) > 0; ) {
                for (int i = 0; i < count; i++) {
                    InternalRow pair = (InternalRow) read.read(in);
                    if (pair.isNullAt(0)) {
                        throw new IllegalArgumentException("The key of a map is null.");
                    }
                    entries.put(pair.get(0, map.keyType()), pair.get(1, map.valueType()));
                }
            }
            return mapOf(entries);
        };
    }

    private static ArrayBasedMapData mapOf(Map<Object, Object> entries) {
        return new ArrayBasedMapData(
                new GenericArrayData(entries.keySet().toArray()),
                new GenericArrayData(entries.values().toArray()));
    }

    private static Reader union(Schema writer, DataType type, String path) {
        List<Schema> branches = writer.getTypes();
        boolean isNullable =
                branches.size() == 2
                        && branches.stream().anyMatch(b -> b.getType() == Schema.Type.NULL);
        if (!isNullable && type instanceof StructType struct && isUnionOf(struct, branches)) {
            return alternatives(branches, struct, path);
        }
        Reader[] readers =
                branches.stream()
                        .map(
                                branch ->
                                        branch.getType() == Schema.Type.NULL
                                                ? (Reader) in -> null
                                                : reader(branch, type, path))
                        .toArray(Reader[]::new);
        return in -> readers[in.index(readers.length)].read(in);
    }

    /** A union is, as Connect has it, a STRUCT with a field for each of its types. */
    private static Reader alternatives(List<Schema> branches, StructType struct, String path) {
        int size = struct.size();
        Reader[] readers = new Reader[branches.size()];
        for (int i = 0; i < readers.length; i++) {
            Schema branch = branches.get(i);
            int at = ordinal(struct, branch.getName());
            if (branch.getType() == Schema.Type.NULL) {
                readers[i] = in -> null;
            } else if (at < 0) {
                readers[i] =
                        in -> {
                            in.skip(branch);
                            return new GenericInternalRow(size);
                        };
            } else {
                Reader read = reader(branch, struct.fields()[at].dataType(), path);
                readers[i] =
                        in -> {
                            Object[] values = new Object[size];
                            values[at] = read.read(in);
                            return new GenericInternalRow(values);
                        };
            }
        }
        return in -> readers[in.index(readers.length)].read(in);
    }

    private static boolean isUnionOf(StructType struct, List<Schema> branches) {
        for (StructField field : struct.fields()) {
            if (branches.stream().noneMatch(b -> field.name().equalsIgnoreCase(b.getName()))) {
                return false;
            }
        }
        return true;
    }

    private static int ordinal(StructType struct, String name) {
        StructField[] fields = struct.fields();
        for (int i = 0; i < fields.length; i++) {
            if (fields[i].name().equalsIgnoreCase(name)) {
                return i;
            }
        }
        return -1;
    }

    private static Reader record(Schema writer, StructType struct, String path) {
        List<Schema.Field> theirs = writer.getFields();
        int[] ordinals = new int[theirs.size()];
        Reader[] readers = new Reader[theirs.size()];
        java.util.Arrays.fill(ordinals, -1);
        StructField[] ours = struct.fields();
        for (int i = 0; i < ours.length; i++) {
            Schema.Field field = field(writer, ours[i].name());
            if (field != null
                    && (ordinals[field.pos()] < 0 || field.name().equals(ours[i].name()))) {
                ordinals[field.pos()] = i;
                readers[field.pos()] =
                        reader(
                                field.schema(),
                                ours[i].dataType(),
                                (path.equals(WHOLE) ? "The field " : path + ".") + field.name());
            }
        }
        Schema[] skipped = theirs.stream().map(Schema.Field::schema).toArray(Schema[]::new);
        int size = ours.length;
        return in -> {
            Object[] values = new Object[size];
            for (int i = 0; i < ordinals.length; i++) {
                if (ordinals[i] >= 0) {
                    values[ordinals[i]] = readers[i].read(in);
                } else {
                    in.skip(skipped[i]);
                }
            }
            return new GenericInternalRow(values);
        };
    }

    /** The field of a record with this name, or else with it in another case. */
    static Schema.Field field(Schema record, String name) {
        Schema.Field exact = record.getField(name);
        if (exact != null) {
            return exact;
        }
        for (Schema.Field field : record.getFields()) {
            if (field.name().toUpperCase(Locale.ROOT).equals(name.toUpperCase(Locale.ROOT))) {
                return field;
            }
        }
        return null;
    }
}
