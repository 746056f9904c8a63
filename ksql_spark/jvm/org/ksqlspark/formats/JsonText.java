package org.ksqlspark.formats;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.io.JsonStringEncoder;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Any value as ksqlDB shows it in a STRING column: objects as JSON, arrays as {@code [a, b]}. */
final class JsonText {
    private JsonText() {}

    static String of(JsonParser parser, JsonToken token) throws IOException {
        if (token == JsonToken.START_ARRAY) {
            List<String> parts = new ArrayList<>();
            while ((token = parser.nextToken()) != JsonToken.END_ARRAY) {
                parts.add(token == JsonToken.VALUE_NULL ? "null" : of(parser, token));
            }
            return parts.toString();
        }
        return token == JsonToken.START_OBJECT ? json(parser, token) : plain(parser, token);
    }

    /** A value as JSON; of members with one name, the last counts. */
    private static String json(JsonParser parser, JsonToken token) throws IOException {
        switch (token) {
            case START_ARRAY:
                List<String> items = new ArrayList<>();
                while ((token = parser.nextToken()) != JsonToken.END_ARRAY) {
                    items.add(json(parser, token));
                }
                return "[" + String.join(",", items) + "]";
            case START_OBJECT:
                Map<String, String> members = new LinkedHashMap<>();
                while (parser.nextToken() != JsonToken.END_OBJECT) {
                    String name = quoted(parser.currentName());
                    members.put(name, name + ":" + json(parser, parser.nextToken()));
                }
                return "{" + String.join(",", members.values()) + "}";
            case VALUE_STRING:
                return quoted(parser.getText());
            default:
                return plain(parser, token);
        }
    }

    private static String quoted(String text) {
        return '"' + new String(JsonStringEncoder.getInstance().quoteAsString(text)) + '"';
    }

    /** A number with all its digits, and an exponent in Java's form; zero has no sign. */
    private static String plain(JsonParser parser, JsonToken token) throws IOException {
        if (token == JsonToken.VALUE_NUMBER_FLOAT) {
            return parser.getDecimalValue().toString();
        }
        String text = parser.getText();
        return token == JsonToken.VALUE_NUMBER_INT && text.equals("-0") ? "0" : text;
    }
}
