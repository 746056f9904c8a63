package org.ksqlspark.formats;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.ksqlspark.functions.InvokeFunction;

import java.io.CharConversionException;
import java.io.IOException;

/**
 * Decodes JSON bytes to a row by ksqlDB's rules, which from_json of Spark lacks: field names match
 * exactly or in upper case, strings may contain numbers, a STRING accepts any value. What follows a
 * record's first value is not looked at.
 */
public final class JsonDecoder extends BytesToRow {
    /** Its locations include the record that is read. */
    private static final JsonFactory JSON =
            JsonFactory.builder().enable(StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION).build();

    private final JsonReader reader;
    private final boolean framed;

    public JsonDecoder(String ddl) {
        this(ddl, false);
    }

    /**
     * @param framed whether a frame is before each record, and Connect writes them; the columns say
     *     what is read, not the schema that a frame names
     */
    public JsonDecoder(String ddl, boolean framed) {
        super("decode_json", ddl);
        this.reader = JsonReader.of(type(), framed);
        this.framed = framed;
    }

    @Override
    public InternalRow invoke(byte[] data) {
        return orNull(data);
    }

    @Override
    protected InternalRow decode(byte[] data) throws IOException {
        int from = framed ? Frame.size(data) : 0;
        try (JsonParser parser = JSON.createParser(data, from, data.length - from)) {
            return decode(parser, data, from);
        }
    }

    private InternalRow decode(JsonParser parser, byte[] data, int from) throws IOException {
        JsonToken token = parser.nextToken();
        if (token == null) {
            return null;
        }
        InternalRow row = row(reader.read(parser, token));
        // Jackson takes some bytes that are not UTF-8, and most in what it skips
        int size = (int) parser.currentLocation().getByteOffset(); // negative: UTF-16 or UTF-32
        if (size > 0 && !Utf8.isValid(UTF8String.fromBytes(data, from, size))) {
            throw new CharConversionException("Its bytes are not UTF-8.");
        }
        return row;
    }

    @Override
    String reason(byte[] data) {
        int from = framed ? Frame.size(data) : 0;
        try (JsonParser parser = JSON.createParser(data, from, data.length - from)) {
            try {
                return decode(parser, data, from) == null
                        ? "It is not one JSON object."
                        : "Nothing is wrong with it.";
            } catch (JsonProcessingException bad) {
                return bad.getOriginalMessage().replaceFirst(" \\(start marker at .*", "");
            } catch (IOException | RuntimeException bad) {
                return JsonMisfit.reason(parser, bad);
            }
        } catch (IOException bad) {
            return bad.getMessage();
        }
    }

    /** A VARIANT, as the only column of a row, as a column of that type is read. */
    public static final class FromText extends FormatFunction<InternalRow> {
        private final JsonReader reader;

        /**
         * @param ddl the column
         */
        public FromText(String ddl) {
            this(StructType.fromDDL(ddl));
        }

        private FromText(StructType row) {
            super("variant_as", ColumnValues.inRows(row), DataTypes.StringType);
            this.reader = JsonReader.of(row.fields()[0].dataType());
        }

        /** NULL if it does not fit. */
        public InternalRow invoke(UTF8String variant) {
            if (variant == null) {
                return null;
            }
            byte[] json = variant.getBytes();
            // with bounds: locations have the wrong offset without
            try (JsonParser parser = JSON.createParser(json, 0, json.length)) {
                return new GenericInternalRow(
                        new Object[] {reader.read(parser, parser.nextToken())});
            } catch (IOException | RuntimeException bad) {
                return null;
            }
        }
    }

    /** Whether the first value is the literal null. */
    public static final class IsNull extends InvokeFunction<Boolean> {
        public IsNull() {
            super(DataTypes.BooleanType, DataTypes.BinaryType);
        }

        public boolean invoke(byte[] data) {
            if (data == null) {
                return false;
            }
            int at = 0;
            while (at < data.length && data[at] > 0 && data[at] <= ' ') {
                at++;
            }
            // only UTF-16, UTF-32 and byte order marks have bytes of 0 and less here
            if (at == data.length || data[at] > 0 && data[at] != 'n') {
                return false;
            }
            try (JsonParser parser = JSON.createParser(data)) {
                return parser.nextToken() == JsonToken.VALUE_NULL;
            } catch (IOException bad) {
                return false;
            }
        }
    }
}
