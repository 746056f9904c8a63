package org.ksqlspark.formats;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.StreamWriteFeature;
import com.fasterxml.jackson.core.io.SerializedString;
import com.fasterxml.jackson.core.util.ByteArrayBuilder;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.ksqlspark.formats.ColumnValues.ToWhole;
import org.ksqlspark.functions.InvokeFunction;
import org.ksqlspark.functions.LimitedOutput;
import org.ksqlspark.functions.Limits;
import org.ksqlspark.functions.TemporalFunctions;
import org.ksqlspark.functions.TextOrder;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;

/**
 * Encodes a row as JSON bytes by ksqlDB's rules: every field, NULL as null, DATE as days, TIMESTAMP
 * as milliseconds, DECIMAL in plain notation, BYTES in base64. A bare value is the row's only
 * field; NULL is a null record.
 */
public final class JsonEncoder extends RowToBytes {
    /** One generator writes record after record, with nothing between them. */
    private static final JsonFactory JSON =
            new JsonFactoryBuilder()
                    .enable(StreamWriteFeature.WRITE_BIGDECIMAL_AS_PLAIN)
                    .rootValueSeparator((String) null)
                    .build();

    /** What values look like. */
    enum Form {
        PLAIN,
        /** As Kafka Connect's converter for JSON Schemas writes them: unions are their values. */
        CONNECTS,
        /** DATE and TIMESTAMP are text instead of numbers, and names are sorted. */
        TEXT
    }

    private final boolean bare;
    private final Writer writer;
    private final byte[] frame;
    private final String further;
    private transient ByteArrayBuilder bytes;
    private transient JsonGenerator json;

    public JsonEncoder(StructType schema, boolean bare, String around) {
        this(schema, bare, Form.PLAIN, around);
    }

    /**
     * @param around what is before each record, as hexadecimal digits; after a colon, if there are
     *     VARIANTs, the columns as DDL, as hexadecimal digits; then members that each object has
     *     after those of the row, as JSON, each after a comma
     */
    JsonEncoder(StructType schema, boolean bare, Form form, String around) {
        super("encode_json", schema);
        this.bare = bare;
        int end = around.indexOf(',');
        String[] head = (end < 0 ? around : around.substring(0, end)).split(":");
        this.frame = HexFormat.of().parseHex(head[0]);
        this.further = end < 0 ? "" : around.substring(end);
        StructType columns = head.length < 2 ? schema : columns(head[1]);
        this.writer = writer(bare ? columns.fields()[0].dataType() : columns, form);
    }

    private static StructType columns(String ddl) {
        byte[] text = HexFormat.of().parseHex(ddl);
        return StructType.fromDDL(new String(text, StandardCharsets.UTF_8));
    }

    @Override
    public byte[] invoke(InternalRow row) {
        if (row == null || bare && row.isNullAt(0)) {
            return null;
        }
        JsonGenerator generator = json;
        json = null; // what fails in the middle of a record is not used again
        try {
            if (generator == null) {
                bytes = new ByteArrayBuilder();
                generator = JSON.createGenerator(bytes);
            }
            bytes.reset();
            bytes.write(frame);
            if (bare) {
                writer.write(generator, row, 0);
            } else {
                ((RowWriter) writer).write(generator, row, further);
            }
            generator.flush();
        } catch (IOException impossible) { // nothing is written but memory
            throw new UncheckedIOException(impossible);
        }
        json = generator;
        return bytes.toByteArray();
    }

    /**
     * TO_JSON_STRING: any value as JSON text, NULL as null; names sorted, DATE and TIMESTAMP as
     * text. NULL where it would be larger than the limit.
     */
    public static final class Text extends InvokeFunction<UTF8String> {
        private final Limits limits;
        private final Writer writer;

        /**
         * @param row a row with the value as its only field
         * @param ddl the row as DDL, if there are VARIANTs in it
         */
        public Text(Limits limits, StructType row, String ddl) {
            super(DataTypes.StringType, row);
            this.limits = limits;
            StructType columns = ddl.isEmpty() ? row : StructType.fromDDL(ddl);
            this.writer = writer(columns.fields()[0].dataType(), Form.TEXT);
        }

        public UTF8String invoke(InternalRow row) {
            LimitedOutput out = new LimitedOutput(limits);
            try (JsonGenerator json = JSON.createGenerator(out)) {
                value(json, writer, row, 0);
            } catch (IOException tooLarge) { // nothing is written but memory
                return null;
            }
            return UTF8String.fromBytes(out.toByteArray());
        }
    }

    /** Writes one value that is not NULL. */
    private interface Writer extends Serializable {
        void write(JsonGenerator json, SpecializedGetters from, int at) throws IOException;
    }

    /** Writes STRUCTs; rows are those without a place in another. */
    private abstract static class RowWriter implements Writer {
        final Writer[] writers;

        RowWriter(StructType type, Form form) {
            writers = new Writer[type.length()];
            for (int i = 0; i < writers.length; i++) {
                writers[i] = writer(type.fields()[i].dataType(), form);
            }
        }

        @Override
        public final void write(JsonGenerator json, SpecializedGetters from, int at)
                throws IOException {
            write(json, from.getStruct(at, writers.length), "");
        }

        /**
         * @param further members that an object has after those of the row
         */
        abstract void write(JsonGenerator json, InternalRow row, String further) throws IOException;
    }

    /** A union is the value of its first branch that is not NULL. */
    private static final class UnionWriter extends RowWriter {
        UnionWriter(StructType type) {
            super(type, Form.CONNECTS);
        }

        @Override
        void write(JsonGenerator json, InternalRow row, String further) throws IOException {
            int at = 0;
            while (at < writers.length - 1 && row.isNullAt(at)) {
                at++;
            }
            value(json, writers[at], row, at);
        }
    }

    private static final class StructWriter extends RowWriter {
        /** Encoded once. */
        private final SerializedString[] names;

        /** The fields in the order in which they are written. */
        private final Integer[] order;

        StructWriter(StructType type, Form form) {
            super(type, form);
            names = new SerializedString[writers.length];
            order = new Integer[names.length];
            for (int i = 0; i < names.length; i++) {
                names[i] = new SerializedString(type.fields()[i].name());
                order[i] = i;
            }
            if (form == Form.TEXT) {
                Arrays.sort(order, Comparator.comparing(i -> names[i].getValue()));
            }
        }

        @Override
        void write(JsonGenerator json, InternalRow row, String further) throws IOException {
            json.writeStartObject();
            for (int i : order) {
                json.writeFieldName(names[i]);
                value(json, writers[i], row, i);
            }
            if (!further.isEmpty()) {
                json.writeRaw(further);
            }
            json.writeEndObject();
        }
    }

    private static void value(JsonGenerator json, Writer writer, SpecializedGetters from, int at)
            throws IOException {
        if (from.isNullAt(at)) {
            json.writeNull();
        } else {
            writer.write(json, from, at);
        }
    }

    private static Writer writer(DataType type, Form form) {
        boolean isText = form == Form.TEXT;
        if (type instanceof StructType struct) {
            return form == Form.CONNECTS && JsonUnion.is(struct)
                    ? new UnionWriter(struct)
                    : new StructWriter(struct, form);
        }
        if (type instanceof ArrayType array) {
            Writer element = writer(array.elementType(), form);
            return (json, from, at) -> {
                ArrayData values = from.getArray(at);
                json.writeStartArray();
                for (int i = 0; i < values.numElements(); i++) {
                    value(json, element, values, i);
                }
                json.writeEndArray();
            };
        }
        if (type instanceof MapType map) {
            return map(writer(map.valueType(), form), isText);
        }
        if (type instanceof DecimalType decimal) {
            int precision = decimal.precision();
            int scale = decimal.scale();
            return (json, from, at) ->
                    json.writeNumber(from.getDecimal(at, precision, scale).toJavaBigDecimal());
        }
        if (isText && type.typeName().equals("date")) {
            return (json, from, at) ->
                    json.writeString(LocalDate.ofEpochDay(from.getInt(at)).toString());
        }
        if (isText && type.typeName().equals("timestamp")) {
            return (json, from, at) -> json.writeString(TemporalFunctions.text(from.getLong(at)));
        }
        return plain(type);
    }

    private static Writer map(Writer item, boolean isText) {
        return (json, from, at) -> {
            MapData map = from.getMap(at);
            ArrayData keys = map.keyArray();
            ArrayData values = map.valueArray();
            Integer[] order = isText ? inOrder(keys) : null;
            json.writeStartObject();
            for (int n = 0; n < map.numElements(); n++) {
                int i = isText ? order[n] : n;
                json.writeFieldName(keys.getUTF8String(i).toString());
                value(json, item, values, i);
            }
            json.writeEndObject();
        };
    }

    private static Writer plain(DataType type) {
        return switch (type.typeName()) {
            case "double" -> (json, from, at) -> json.writeNumber(from.getDouble(at));
            case "boolean" -> (json, from, at) -> json.writeBoolean(from.getBoolean(at));
            case "binary" -> (json, from, at) -> json.writeBinary(from.getBinary(at));
            case "string" ->
                    (json, from, at) -> {
                        byte[] bytes = from.getUTF8String(at).getBytes();
                        json.writeUTF8String(bytes, 0, bytes.length);
                    };
            case "variant" ->
                    (json, from, at) -> json.writeRawValue(from.getUTF8String(at).toString());
            case "void" -> (json, from, at) -> json.writeNull();
            default -> {
                ToWhole whole = ColumnValues.toWhole(type);
                if (whole == null) {
                    throw new IllegalArgumentException("JSON cannot carry " + type.catalogString());
                }
                yield (json, from, at) -> json.writeNumber(whole.of(from, at));
            }
        };
    }

    private static Integer[] inOrder(ArrayData keys) {
        Integer[] order = new Integer[keys.numElements()];
        Arrays.setAll(order, i -> i);
        Arrays.sort(
                order, (a, b) -> TextOrder.compare(keys.getUTF8String(a), keys.getUTF8String(b)));
        return order;
    }
}
