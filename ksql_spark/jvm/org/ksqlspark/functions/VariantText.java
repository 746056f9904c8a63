package org.ksqlspark.functions;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.io.JsonStringEncoder;

import java.io.IOException;

/**
 * The text of a VARIANT: one JSON value without white space. Numbers keep their digits, objects the
 * order of their members and those of one name; texts are escaped only where they must be.
 */
public final class VariantText {
    private VariantText() {}

    /** Moves to the end of the value that starts at the current token. */
    public static String of(JsonParser parser, JsonToken start) throws IOException {
        StringBuilder text = new StringBuilder();
        JsonToken token = start;
        for (int depth = 0; ; token = parser.nextToken()) {
            if (token.isStructEnd()) {
                depth--;
            } else if (!text.isEmpty() && "{[:".indexOf(text.charAt(text.length() - 1)) < 0) {
                text.append(','); // no string and no number ends with one of these
            }
            if (token.isStructStart()) {
                depth++;
            }
            append(text, parser, token);
            if (depth == 0) {
                return text.toString();
            }
        }
    }

    private static void append(StringBuilder text, JsonParser parser, JsonToken token)
            throws IOException {
        switch (token) {
            case FIELD_NAME -> {
                quote(text, parser.currentName());
                text.append(':');
            }
            case VALUE_STRING -> quote(text, parser.getText());
            default -> text.append(parser.getText());
        }
    }

    private static void quote(StringBuilder text, String part) {
        text.append('"');
        JsonStringEncoder.getInstance().quoteAsString(part, text);
        text.append('"');
    }
}
