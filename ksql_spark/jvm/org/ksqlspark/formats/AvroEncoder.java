package org.ksqlspark.formats;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.avro.JsonProperties;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.Encoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
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
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * A row as Avro in Confluent's frame, by a registered schema: fields that are not columns have
 * their defaults. Bare: the row's single value alone, NULL as a null record. A row that does not
 * fit the schema is {@link Unwritable}.
 */
public final class AvroEncoder implements ScalarFunction<byte[]> {
    private static final long MICROS = 1000;

    private final StructType row;
    private final boolean bare;
    private final int id;
    private final String text;
    private final List<String> references = new ArrayList<>();
    private transient Writer writer;
    private transient ByteArrayOutputStream bytes;
    private transient BinaryEncoder out;

    /**
     * @param argument a JSON object: "id" and "schema" are the schema's id and text, "references"
     *     those that it refers to, each after those that it refers to itself
     */
    public AvroEncoder(StructType row, boolean bare, String argument) {
        JsonNode given = ProtobufDecoder.json(argument);
        this.row = row;
        this.bare = bare;
        this.id = given.path("id").asInt();
        this.text = given.path("schema").asText();
        given.path("references").forEach(reference -> references.add(reference.asText()));
        writer(); // says now what does not fit
    }

    private Writer writer() {
        if (writer == null) {
            Schema schema = AvroDecoder.parse(new RegistryClient.Registered(text, references));
            DataType type = bare ? row.fields()[0].dataType() : row;
            writer = writer(schema, type);
            if (writer == null) {
                throw new IllegalArgumentException(
                        "Values of type " + type.sql() + " do not fit the schema " + id + ".");
            }
        }
        return writer;
    }

    @Override
    public DataType[] inputTypes() {
        return new DataType[] {row};
    }

    @Override
    public DataType resultType() {
        return DataTypes.BinaryType;
    }

    @Override
    public String name() {
        return "encode_avro";
    }

    @Override
    public byte[] produceResult(InternalRow input) {
        return input.isNullAt(0) ? null : invoke(input.getStruct(0, row.size()));
    }

    /** Spark calls this one from generated code. */
    public byte[] invoke(InternalRow values) {
        if (values == null || bare && values.isNullAt(0)) {
            return null;
        }
        if (bytes == null) {
            bytes = new ByteArrayOutputStream(256);
        }
        bytes.reset();
        bytes.write(0);
        bytes.writeBytes(ByteBuffer.allocate(Integer.BYTES).putInt(id).array());
        out = EncoderFactory.get().directBinaryEncoder(bytes, out);
        try {
            if (bare) {
                writer().write(out, values, 0);
            } else {
                writer().write(out, new Single(values), 0);
            }
            out.flush();
        } catch (IllegalArgumentException | ArithmeticException unfit) {
            return Unwritable.because(unfit);
        } catch (IOException impossible) { // nothing is written but memory
            throw new UncheckedIOException(impossible);
        }
        return bytes.toByteArray();
    }

    /** A row as the only value of a row. */
    private static final class Single
            extends org.apache.spark.sql.catalyst.expressions.GenericInternalRow {
        Single(InternalRow row) {
            super(new Object[] {row});
        }
    }

    /** Writes the value at a place of a row or array. */
    private interface Writer {
        void write(Encoder out, SpecializedGetters from, int at) throws IOException;
    }

    /** The writer of values of {@code type} by {@code schema}; null: they do not fit it. */
    private static Writer writer(Schema schema, DataType type) {
        switch (schema.getType()) {
            case UNION:
                return union(schema, type);
            case RECORD:
                if (type instanceof StructType struct) {
                    RecordWriter record = RecordWriter.of(schema, struct);
                    return record == null ? null : present(record);
                }
                return null;
            case ARRAY:
                return array(schema.getElementType(), type);
            case MAP:
                return type instanceof MapType map ? map(schema.getValueType(), map) : null;
            default:
                Writer plain = plain(schema, type);
                return plain == null ? null : present(plain);
        }
    }

    private static Writer present(Writer writer) {
        return (out, from, at) -> {
            if (from.isNullAt(at)) {
                throw new IllegalArgumentException("The schema allows no NULL.");
            }
            writer.write(out, from, at);
        };
    }

    private static Writer union(Schema schema, DataType type) {
        List<Schema> branches = schema.getTypes();
        int none = -1;
        int some = -1;
        Writer chosen = null;
        for (int i = 0; i < branches.size(); i++) {
            if (branches.get(i).getType() == Schema.Type.NULL) {
                none = i;
            } else if (chosen == null) {
                chosen = writer(branches.get(i), type);
                some = i;
            }
        }
        if (chosen == null) {
            return null;
        }
        int nullIndex = none;
        int index = some;
        Writer writer = chosen;
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

    private static Writer plain(Schema schema, DataType type) {
        String name = type.typeName();
        switch (schema.getType()) {
            case BOOLEAN:
                return name.equals("boolean")
                        ? (out, from, at) -> out.writeBoolean(from.getBoolean(at))
                        : null;
            case INT:
                return name.equals("integer") || name.equals("date")
                        ? (out, from, at) -> out.writeInt(from.getInt(at))
                        : null;
            case LONG:
                return ofLong(schema, name);
            case FLOAT:
                return name.equals("double")
                        ? (out, from, at) -> out.writeFloat((float) from.getDouble(at))
                        : null;
            case DOUBLE:
                return name.equals("double")
                        ? (out, from, at) -> out.writeDouble(from.getDouble(at))
                        : null;
            case STRING:
                return name.equals("string")
                        ? (out, from, at) -> out.writeBytes(from.getUTF8String(at).getBytes())
                        : null;
            case ENUM:
                return name.equals("string") ? ofEnum(schema) : null;
            case BYTES:
            case FIXED:
                return ofBytes(schema, type);
            default:
                return null;
        }
    }

    private static Writer ofLong(Schema schema, String name) {
        long time = AvroDecoder.perMillisecond(schema, AvroDecoder.TIMES, 1);
        long timestamp = AvroDecoder.perMillisecond(schema, AvroDecoder.TIMESTAMPS, 1);
        return switch (name) {
            case "long" -> (out, from, at) -> out.writeLong(from.getLong(at));
            case "integer" -> (out, from, at) -> out.writeLong(from.getInt(at) * time);
            case "timestamp" ->
                    (out, from, at) ->
                            out.writeLong(
                                    Math.multiplyExact(
                                            Math.floorDiv(from.getLong(at), MICROS), timestamp));
            default -> null;
        };
    }

    private static Writer ofEnum(Schema schema) {
        return (out, from, at) -> {
            String symbol = from.getUTF8String(at).toString();
            if (!schema.hasEnumSymbol(symbol)) {
                throw new IllegalArgumentException(
                        "The schema's enum " + schema.getName() + " has no " + symbol + ".");
            }
            out.writeEnum(schema.getEnumOrdinal(symbol));
        };
    }

    private static Writer ofBytes(Schema schema, DataType type) {
        boolean isFixed = schema.getType() == Schema.Type.FIXED;
        int size = isFixed ? schema.getFixedSize() : 0;
        if (type instanceof DecimalType decimal && AvroDecoder.isDecimal(schema)) {
            Object given = schema.getObjectProp("scale");
            int scale = given == null ? 0 : Integer.parseInt(given.toString());
            return (out, from, at) -> {
                BigDecimal number =
                        from.getDecimal(at, decimal.precision(), decimal.scale())
                                .toJavaBigDecimal();
                byte[] digits = number.setScale(scale).unscaledValue().toByteArray();
                if (isFixed) {
                    out.writeFixed(extended(digits, size));
                } else {
                    out.writeBytes(digits);
                }
            };
        }
        if (!type.typeName().equals("binary")) {
            return null;
        }
        return (out, from, at) -> {
            byte[] value = from.getBinary(at);
            if (!isFixed) {
                out.writeBytes(value);
            } else if (value.length == size) {
                out.writeFixed(value);
            } else {
                throw new IllegalArgumentException("The schema wants " + size + " bytes.");
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

    private static Writer array(Schema item, DataType type) {
        if (type instanceof MapType map && AvroDecoder.isEntry(item)) {
            return entries(item, map);
        }
        if (!(type instanceof ArrayType array)) {
            return null;
        }
        Writer writer = writer(item, array.elementType());
        if (writer == null) {
            return null;
        }
        return present(
                (out, from, at) -> {
                    ArrayData items = from.getArray(at);
                    out.writeArrayStart();
                    out.setItemCount(items.numElements());
                    for (int i = 0; i < items.numElements(); i++) {
                        out.startItem();
                        writer.write(out, items, i);
                    }
                    out.writeArrayEnd();
                });
    }

    private static Writer map(Schema value, MapType map) {
        Writer writer = writer(value, map.valueType());
        if (writer == null) {
            return null;
        }
        return present(
                (out, from, at) -> {
                    MapData entries = from.getMap(at);
                    out.writeMapStart();
                    out.setItemCount(entries.numElements());
                    for (int i = 0; i < entries.numElements(); i++) {
                        out.startItem();
                        UTF8String key = entries.keyArray().getUTF8String(i);
                        out.writeBytes(key.getBytes());
                        writer.write(out, entries.valueArray(), i);
                    }
                    out.writeMapEnd();
                });
    }

    private static Writer entries(Schema entry, MapType map) {
        Writer key = writer(entry.getField("key").schema(), map.keyType());
        Writer value = writer(entry.getField("value").schema(), map.valueType());
        if (key == null || value == null) {
            return null;
        }
        boolean isKeyFirst = entry.getField("key").pos() == 0;
        return present(
                (out, from, at) -> {
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
                });
    }

    /** A record: each field from its column, or else its default. */
    private static final class RecordWriter implements Writer {
        private final int size;
        private final int[] ordinals;
        private final Writer[] writers;
        private final byte[][] defaults;
        private final String[] names;

        private RecordWriter(int size, int fields) {
            this.size = size;
            this.ordinals = new int[fields];
            this.writers = new Writer[fields];
            this.defaults = new byte[fields][];
            this.names = new String[fields];
        }

        static RecordWriter of(Schema schema, StructType struct) {
            List<Schema.Field> fields = schema.getFields();
            RecordWriter made = new RecordWriter(struct.size(), fields.size());
            for (Schema.Field field : fields) {
                int at = ordinal(struct, field.name());
                made.ordinals[field.pos()] = at;
                made.names[field.pos()] = field.name();
                if (at < 0) {
                    made.defaults[field.pos()] = standard(field);
                    continue;
                }
                if (field.hasDefaultValue() && !field.schema().isNullable()) {
                    made.defaults[field.pos()] = standard(field);
                }
                made.writers[field.pos()] =
                        AvroEncoder.writer(field.schema(), struct.fields()[at].dataType());
                if (made.writers[field.pos()] == null) {
                    return null;
                }
            }
            return made;
        }

        private static int ordinal(StructType struct, String name) {
            StructField[] ours = struct.fields();
            int found = -1;
            for (int i = 0; i < ours.length; i++) {
                if (ours[i].name().equals(name)) {
                    return i;
                }
                if (ours[i].name().toUpperCase(Locale.ROOT).equals(name.toUpperCase(Locale.ROOT))) {
                    found = i;
                }
            }
            return found;
        }

        /** The bytes of a field's default; of a null where it has none. */
        private static byte[] standard(Schema.Field field) {
            Object value = null;
            if (field.hasDefaultValue() && field.defaultVal() != JsonProperties.NULL_VALUE) {
                value = GenericData.get().getDefaultValue(field);
            }
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            BinaryEncoder out = EncoderFactory.get().directBinaryEncoder(bytes, null);
            try {
                new GenericDatumWriter<>(field.schema()).write(value, out);
                out.flush();
            } catch (IOException | RuntimeException none) {
                throw new IllegalArgumentException(
                        "The field " + field.name() + " is not a column and has no default.", none);
            }
            return bytes.toByteArray();
        }

        @Override
        public void write(Encoder out, SpecializedGetters from, int at) throws IOException {
            InternalRow row = from.getStruct(at, size);
            for (int i = 0; i < ordinals.length; i++) {
                // what cannot be NULL has its default then, as Connect does it
                if (ordinals[i] < 0 || defaults[i] != null && row.isNullAt(ordinals[i])) {
                    out.writeFixed(defaults[i]);
                } else {
                    write(out, row, i);
                }
            }
        }

        private void write(Encoder out, InternalRow row, int field) throws IOException {
            try {
                writers[field].write(out, row, ordinals[field]);
            } catch (IllegalArgumentException | ArithmeticException unfit) {
                throw Unwritable.at(names[field], unfit);
            }
        }
    }
}
