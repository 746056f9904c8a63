package org.ksqlspark.formats;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonStreamContext;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.exc.InputCoercionException;

import java.io.IOException;

/** A member that does not fit its column; the message has its place: $.member.list[2]. */
final class JsonMisfit extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    private JsonMisfit(String message) {
        super(message);
    }

    /** The value of a member, or a JsonMisfit: another member of its name may follow. */
    static Object orValue(JsonReader reader, JsonParser parser, JsonToken start)
            throws IOException {
        JsonStreamContext object =
                start.isStructStart()
                        ? parser.getParsingContext().getParent()
                        : parser.getParsingContext();
        try {
            return reader.read(parser, start);
        } catch (InputCoercionException | RuntimeException bad) {
            JsonMisfit misfit = new JsonMisfit(reason(parser, bad));
            while (parser.getParsingContext() != object) {
                parser.nextToken();
            }
            return misfit;
        }
    }

    /** Why the current value does not fit. */
    static String reason(JsonParser parser, Exception bad) throws IOException {
        if (bad instanceof JsonMisfit) {
            return bad.getMessage();
        }
        String path = path(parser.getParsingContext());
        String reason =
                bad instanceof NumberFormatException
                        ? "There is \"" + parser.getText() + "\", which is not a number."
                        : bad.getMessage();
        return (path.equals("$") ? "" : path + ": ") + reason;
    }

    private static String path(JsonStreamContext at) {
        if (at.inRoot()) {
            return "$";
        }
        String outer = path(at.getParent());
        if (at.inArray()) {
            return at.hasCurrentIndex() ? outer + "[" + at.getCurrentIndex() + "]" : outer;
        }
        return at.hasCurrentName() ? outer + "." + at.getCurrentName() : outer;
    }
}
