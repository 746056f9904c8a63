package org.ksqlspark.formats;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.io.ContentReference;

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.ksqlspark.formats.ColumnValues.FromWhole;
import org.ksqlspark.functions.VariantText;

import java.io.IOException;
import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads the value that starts at the current token and leaves the parser at its last token. */
interface JsonReader extends Serializable {
    /** No long has more digits. */
    int LONG_DIGITS = 19;

    /** A value that is not null. */
    Object value(JsonParser parser, JsonToken token) throws IOException;

    default Object read(JsonParser parser, JsonToken token) throws IOException {
        return token == JsonToken.VALUE_NULL ? null : value(parser, token);
    }

    /** Reads plain JSON. */
    static JsonReader of(DataType type) {
        return of(type, false);
    }

    /**
     * @param isConnects whether Kafka Connect's converter for JSON Schemas has written it: a union
     *     is a value of one branch, a map may be an array of entries, a decimal base64
     */
    static JsonReader of(DataType type, boolean isConnects) {
        if (type instanceof StructType struct) {
            return isConnects && JsonUnion.is(struct)
                    ? new JsonUnionReader(struct)
                    : new JsonObjectReader(struct, isConnects);
        }
        if (type instanceof ArrayType array) {
            return array(of(array.elementType(), isConnects));
        }
        if (type instanceof MapType map) {
            JsonReader object = map(of(map.valueType(), isConnects));
            return isConnects ? mapOrEntries(object, map) : object;
        }
        if (type instanceof DecimalType decimal) {
            return isConnects
                    ? (parser, token) -> DecimalField.fit(connects(parser, token, decimal), decimal)
                    : (parser, token) -> DecimalField.fit(decimal(parser, token), decimal);
        }
        return switch (type.typeName()) {
            case "double" -> JsonReader::real;
            case "boolean" -> JsonReader::truth;
            case "binary" -> JsonReader::bytes;
            case "string" -> JsonReader::text;
            case "variant" ->
                    (parser, token) -> UTF8String.fromString(VariantText.of(parser, token));
            default -> {
                FromWhole value = ColumnValues.fromWhole(type);
                if (value == null) {
                    throw new IllegalArgumentException("JSON cannot carry " + type.catalogString());
                }
                yield (parser, token) -> value.of(whole(parser, token));
            }
        };
    }

    private static JsonReader array(JsonReader element) {
        return (parser, start) -> {
            expect(start, JsonToken.START_ARRAY);
            List<Object> values = new ArrayList<>();
            for (JsonToken token; (token = parser.nextToken()) != JsonToken.END_ARRAY; ) {
                values.add(element.read(parser, token));
            }
            return ColumnValues.list(values);
        };
    }

    private static JsonReader map(JsonReader value) {
        return (parser, start) -> {
            expect(start, JsonToken.START_OBJECT);
            Map<UTF8String, Object> entries = new LinkedHashMap<>();
            boolean fits = true;
            while (parser.nextToken() != JsonToken.END_OBJECT) {
                UTF8String key = UTF8String.fromString(parser.currentName());
                Object found = JsonMisfit.orValue(value, parser, parser.nextToken());
                fits &= !(found instanceof JsonMisfit);
                entries.put(key, found);
            }
            for (Object found : fits ? List.of() : entries.values()) {
                if (found instanceof JsonMisfit misfit) {
                    throw misfit;
                }
            }
            return ColumnValues.map(entries);
        };
    }

    private static JsonReader mapOrEntries(JsonReader object, MapType map) {
        StructType pair =
                new StructType().add("key", DataTypes.StringType).add("value", map.valueType());
        JsonReader entry = new JsonObjectReader(pair, true);
        return (parser, start) -> {
            if (start != JsonToken.START_ARRAY) {
                return object.value(parser, start);
            }
            Map<Object, Object> entries = new LinkedHashMap<>();
            for (JsonToken token; (token = parser.nextToken()) != JsonToken.END_ARRAY; ) {
                GenericInternalRow read = (GenericInternalRow) entry.read(parser, token);
                if (read == null || read.isNullAt(0)) {
                    throw new IllegalArgumentException("The key of a map is null.");
                }
                entries.put(read.genericGet(0), read.genericGet(1));
            }
            return ColumnValues.map(entries);
        };
    }

    private static Object truth(JsonParser parser, JsonToken token) {
        if (token != JsonToken.VALUE_TRUE && token != JsonToken.VALUE_FALSE) {
            throw bad(token);
        }
        return token == JsonToken.VALUE_TRUE;
    }

    private static Object bytes(JsonParser parser, JsonToken token) throws IOException {
        expect(token, JsonToken.VALUE_STRING);
        return Base64.getDecoder().decode(parser.getText());
    }

    private static Object real(JsonParser parser, JsonToken token) throws IOException {
        if (token == JsonToken.VALUE_STRING) {
            return Double.valueOf(parser.getText().trim());
        }
        if (!token.isNumeric()) {
            throw bad(token);
        }
        double number = parser.getDoubleValue();
        if (Double.isInfinite(number)) {
            throw outOfRange("DOUBLE");
        }
        return number;
    }

    private static BigDecimal decimal(JsonParser parser, JsonToken token) throws IOException {
        if (token == JsonToken.VALUE_STRING) {
            return DecimalField.of(parser.getText());
        }
        if (!token.isNumeric()) {
            throw bad(token);
        }
        return parser.getDecimalValue();
    }

    /** A text that is no number is the base64 of the unscaled number. */
    private static BigDecimal connects(JsonParser parser, JsonToken token, DecimalType type)
            throws IOException {
        try {
            return decimal(parser, token);
        } catch (NumberFormatException noNumber) {
            byte[] unscaled = Base64.getDecoder().decode(parser.getText());
            return new BigDecimal(new BigInteger(unscaled), type.scale());
        }
    }

    private static long whole(JsonParser parser, JsonToken token) throws IOException {
        switch (token) {
            case VALUE_NUMBER_INT:
                return parser.getLongValue();
            case VALUE_STRING:
                return Long.parseLong(parser.getText().trim());
            case VALUE_NUMBER_FLOAT:
                BigDecimal number = parser.getDecimalValue();
                // looked at before anything else: the digits of 1e999999999 do not fit in memory
                if (DecimalField.wholeDigits(number) > LONG_DIGITS) {
                    throw outOfRange("BIGINT");
                }
                try {
                    return DecimalField.isFraction(number)
                            ? 0
                            : number.toBigInteger().longValueExact();
                } catch (ArithmeticException tooLarge) {
                    throw outOfRange("BIGINT");
                }
            default:
                throw bad(token);
        }
    }

    /**
     * One of ASCII without escapes, as most are, is a part of the record's bytes; the parser
     * decodes all others.
     */
    private static Object text(JsonParser parser, JsonToken start) throws IOException {
        if (start != JsonToken.VALUE_STRING) {
            return UTF8String.fromString(JsonText.of(parser, start));
        }
        JsonLocation token = parser.currentTokenLocation();
        if (token.getByteOffset() < 0) { // UTF-16 or UTF-32
            return UTF8String.fromString(parser.getText());
        }
        ContentReference record = token.contentReference();
        byte[] json = (byte[]) record.getRawContent();
        int first = record.contentOffset() + (int) token.getByteOffset() + 1;
        int end = first;
        while (end < json.length && json[end] >= ' ' && json[end] != '"' && json[end] != '\\') {
            end++;
        }
        return end < json.length && json[end] == '"'
                ? UTF8String.fromBytes(json, first, end - first)
                : UTF8String.fromString(parser.getText());
    }

    static void expect(JsonToken token, JsonToken wanted) {
        if (token != wanted) {
            throw bad(token);
        }
    }

    private static IllegalArgumentException outOfRange(String type) {
        return new IllegalArgumentException("A number does not fit " + type + ".");
    }

    static IllegalArgumentException bad(JsonToken token) {
        String found =
                switch (token) {
                    case START_ARRAY -> "an array";
                    case START_OBJECT -> "an object";
                    case VALUE_STRING -> "a text";
                    case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> "a number";
                    case VALUE_TRUE, VALUE_FALSE -> "true or false";
                    default -> token.toString();
                };
        return new IllegalArgumentException(
                "There is " + found + ", which does not fit the column.");
    }
}
