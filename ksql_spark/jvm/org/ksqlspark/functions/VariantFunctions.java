package org.ksqlspark.functions;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

import java.io.IOException;

/** Functions on VARIANTs, which are STRINGs of JSON in rows, see VariantText. */
public final class VariantFunctions {
    private static final JsonFactory JSON = new JsonFactory();

    private VariantFunctions() {}

    /** The text of the VARIANT in JSON of any form; null if it is not exactly one value. */
    private static String parsed(UTF8String json) {
        try (JsonParser parser = JSON.createParser(json.getBytes())) {
            JsonToken start = parser.nextToken();
            String text = start == null ? null : VariantText.of(parser, start);
            return parser.nextToken() == null ? text : null;
        } catch (IOException bad) {
            return null;
        }
    }

    /** PARSE_JSON: a text with JSON to the VARIANT; NULL for null, and if it is not one value. */
    public static final class Parse extends InvokeFunction<UTF8String> {
        public Parse() {
            super(DataTypes.StringType, DataTypes.StringType);
        }

        public UTF8String invoke(UTF8String json) {
            String text = json == null ? null : parsed(json);
            return text == null || text.equals("null") ? null : UTF8String.fromString(text);
        }
    }

    /** Whether a text is exactly one JSON value; NULL is not. */
    public static final class IsValue extends InvokeFunction<Boolean> {
        public IsValue() {
            super(DataTypes.BooleanType, DataTypes.StringType);
        }

        public boolean invoke(UTF8String json) {
            return json != null && parsed(json) != null;
        }
    }

    /** The STRING of a VARIANT: a text without its quotes, any other value as JSON. */
    public static final class Text extends InvokeFunction<UTF8String> {
        public Text() {
            super(DataTypes.StringType, DataTypes.StringType);
        }

        public UTF8String invoke(UTF8String variant) {
            if (variant == null || variant.getByte(0) != '"') {
                return variant;
            }
            try (JsonParser parser = JSON.createParser(variant.getBytes())) {
                parser.nextToken();
                return UTF8String.fromString(parser.getText());
            } catch (IOException impossible) { // it is JSON
                return null;
            }
        }
    }

    /** The kind of a VARIANT's value, which its first character tells. */
    public static final class Kind extends InvokeFunction<UTF8String> {
        public Kind() {
            super(DataTypes.StringType, DataTypes.StringType);
        }

        public UTF8String invoke(UTF8String variant) {
            if (variant == null) {
                return null;
            }
            return UTF8String.fromString(
                    switch (variant.getByte(0)) {
                        case '{' -> "object";
                        case '[' -> "array";
                        case '"' -> "string";
                        case 't', 'f' -> "boolean";
                        default -> "number";
                    });
        }
    }
}
