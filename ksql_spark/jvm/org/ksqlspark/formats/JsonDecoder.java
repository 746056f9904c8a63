package org.ksqlspark.formats;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonStreamContext;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.exc.InputCoercionException;
import com.fasterxml.jackson.core.io.ContentReference;
import com.fasterxml.jackson.core.io.JsonStringEncoder;
import com.fasterxml.jackson.core.io.SerializedString;

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
import org.ksqlspark.functions.InvokeFunction;

import java.io.IOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Base64;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Decodes JSON bytes to a row by ksqlDB's rules, which from_json of Spark lacks: field names match
 * exactly or in upper case, strings may contain numbers, a STRING accepts any value. A record that
 * breaks a rule is NULL as a whole; what follows its first value is not looked at. A schema that
 * starts with "=" has one field, for a bare (unwrapped) value.
 */
public final class JsonDecoder extends BytesToRow {
    /** Its locations include the record that is read. */
    private static final JsonFactory JSON =
            JsonFactory.builder().enable(StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION).build();

    private static final int NAMES_KEPT = 1024;
    private static final int EXPECTED_NAME_LENGTH = 256;
    private static final int LONG_DIGITS = 19;

    private final Reader reader;
    private final boolean wrapped;
    private final boolean framed;

    public JsonDecoder(String ddl) {
        this(ddl, false);
    }

    /**
     * @param framed whether a frame is before each record; the columns say what is read, not the
     *     schema that it names
     */
    public JsonDecoder(String ddl, boolean framed) {
        super("decode_json", StructType.fromDDL(ddl.startsWith("=") ? ddl.substring(1) : ddl));
        this.wrapped = !ddl.startsWith("=");
        this.reader = wrapped ? new StructReader(schema) : reader(schema.fields()[0].dataType());
        this.framed = framed;
    }

    @Override
    public InternalRow invoke(byte[] data) {
        if (data == null) {
            return null;
        }
        int from = framed ? Frame.sizeOrZero(data) : 0;
        if (framed && from == 0) {
            return null;
        }
        try (JsonParser parser = JSON.createParser(data, from, data.length - from)) {
            return decode(parser);
        } catch (IOException | RuntimeException bad) {
            return null;
        }
    }

    private InternalRow decode(JsonParser parser) throws IOException {
        JsonToken token = parser.nextToken();
        if (token == null) {
            return null;
        }
        Object value = reader.read(parser, token);
        return wrapped ? (InternalRow) value : new GenericInternalRow(new Object[] {value});
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

    /** Why a record is NULL, for the processing log; reads it once more. */
    public static final class Explain implements ScalarFunction<UTF8String> {
        private final JsonDecoder decoder;

        public Explain(String ddl) {
            this.decoder = new JsonDecoder(ddl);
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
            return "explain_json";
        }

        public UTF8String invoke(byte[] data) {
            return data == null ? null : UTF8String.fromString(decoder.reason(data));
        }
    }

    private String reason(byte[] data) {
        try (JsonParser parser = JSON.createParser(data, 0, data.length)) {
            try {
                return decode(parser) == null
                        ? "It is not one JSON object."
                        : "Nothing is wrong with it.";
            } catch (JsonProcessingException bad) {
                return bad.getOriginalMessage().replaceFirst(" \\(start marker at .*", "");
            } catch (IOException | RuntimeException bad) {
                return reason(parser, bad);
            }
        } catch (IOException bad) {
            return bad.getMessage();
        }
    }

    /** Why the current value does not fit. */
    private static String reason(JsonParser parser, Exception bad) throws IOException {
        if (bad instanceof Misfit) {
            return bad.getMessage();
        }
        String path = path(parser.getParsingContext());
        String reason =
                bad instanceof NumberFormatException
                        ? "There is \"" + parser.getText() + "\", which is not a number."
                        : bad.getMessage();
        return (path.equals("$") ? "" : path + ": ") + reason;
    }

    /** A member that does not fit its column; the message has its place. */
    private static final class Misfit extends IllegalArgumentException {
        private static final long serialVersionUID = 1;

        Misfit(String message) {
            super(message);
        }
    }

    /** The place of the current value: $.member.list[2]. */
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

    /** Reads the value that starts at the current token and leaves the parser at its last token. */
    private interface Reader extends java.io.Serializable {
        Object value(JsonParser parser, JsonToken token) throws IOException;

        default Object read(JsonParser parser, JsonToken token) throws IOException {
            return token == JsonToken.VALUE_NULL ? null : value(parser, token);
        }
    }

    private static Reader reader(DataType type) {
        if (type instanceof StructType struct) {
            return new StructReader(struct);
        }
        if (type instanceof ArrayType array) {
            Reader element = reader(array.elementType());
            return (parser, token) -> {
                expect(token, JsonToken.START_ARRAY);
                List<Object> values = new ArrayList<>();
                while ((token = parser.nextToken()) != JsonToken.END_ARRAY) {
                    values.add(element.read(parser, token));
                }
                return new GenericArrayData(values.toArray());
            };
        }
        if (type instanceof MapType map) {
            Reader value = reader(map.valueType());
            return (parser, token) -> {
                expect(token, JsonToken.START_OBJECT);
                Map<UTF8String, Object> entries = new LinkedHashMap<>();
                boolean fits = true;
                while (parser.nextToken() != JsonToken.END_OBJECT) {
                    UTF8String key = UTF8String.fromString(parser.currentName());
                    Object found = attempt(value, parser, parser.nextToken());
                    fits &= !(found instanceof Misfit);
                    entries.put(key, found);
                }
                for (Object found : fits ? List.of() : entries.values()) {
                    if (found instanceof Misfit misfit) {
                        throw misfit;
                    }
                }
                return new ArrayBasedMapData(
                        new GenericArrayData(entries.keySet().toArray()),
                        new GenericArrayData(entries.values().toArray()));
            };
        }
        if (type instanceof DecimalType decimal) {
            return (parser, token) -> {
                BigDecimal number =
                        token == JsonToken.VALUE_STRING
                                ? new BigDecimal(parser.getText().trim())
                                : numeric(token) ? parser.getDecimalValue() : null;
                if (number == null) {
                    throw bad(token);
                }
                return DecimalField.fit(number, decimal);
            };
        }
        switch (type.typeName()) {
            case "integer":
                return (parser, token) -> Integer.valueOf(Math.toIntExact(integral(parser, token)));
            case "long":
                return (parser, token) -> Long.valueOf(integral(parser, token));
            case "double":
                return (parser, token) -> {
                    if (token == JsonToken.VALUE_STRING) {
                        return Double.valueOf(parser.getText().trim());
                    }
                    if (!numeric(token)) {
                        throw bad(token);
                    }
                    double number = parser.getDoubleValue();
                    if (Double.isInfinite(number)) {
                        throw outOfRange("DOUBLE");
                    }
                    return Double.valueOf(number);
                };
            case "boolean":
                return (parser, token) -> {
                    if (token != JsonToken.VALUE_TRUE && token != JsonToken.VALUE_FALSE) {
                        throw bad(token);
                    }
                    return Boolean.valueOf(token == JsonToken.VALUE_TRUE);
                };
            case "date":
                return (parser, token) -> Integer.valueOf(Math.toIntExact(integral(parser, token)));
            case TimeField.TYPE:
                return (parser, token) -> TimeField.fit(integral(parser, token));
            case "timestamp":
                return (parser, token) ->
                        Long.valueOf(Math.multiplyExact(integral(parser, token), 1000L));
            case "binary":
                return (parser, token) -> {
                    expect(token, JsonToken.VALUE_STRING);
                    return Base64.getDecoder().decode(parser.getText());
                };
            case "string":
                return (parser, token) ->
                        token == JsonToken.VALUE_STRING
                                ? string(parser)
                                : UTF8String.fromString(text(parser, token));
            default:
                throw new IllegalArgumentException("JSON cannot carry " + type.catalogString());
        }
    }

    private static boolean numeric(JsonToken token) {
        return token == JsonToken.VALUE_NUMBER_INT || token == JsonToken.VALUE_NUMBER_FLOAT;
    }

    private static long number(JsonParser parser, JsonToken token) throws IOException {
        if (token == JsonToken.VALUE_NUMBER_INT) {
            return parser.getLongValue();
        }
        if (token == JsonToken.VALUE_NUMBER_FLOAT) {
            BigDecimal number = parser.getDecimalValue();
            // looked at before anything else: the digits of 1e999999999 do not fit in memory
            if (DecimalField.wholeDigits(number) > LONG_DIGITS) {
                throw outOfRange("BIGINT");
            }
            try {
                return DecimalField.isFraction(number) ? 0 : number.toBigInteger().longValueExact();
            } catch (ArithmeticException tooLarge) {
                throw outOfRange("BIGINT");
            }
        }
        throw bad(token);
    }

    private static long integral(JsonParser parser, JsonToken token) throws IOException {
        return token == JsonToken.VALUE_STRING
                ? Long.parseLong(parser.getText().trim())
                : number(parser, token);
    }

    /**
     * The text that is the current token. One of ASCII without escapes, as most are, is a part of
     * the record's bytes; the parser decodes all others.
     */
    private static UTF8String string(JsonParser parser) throws IOException {
        JsonLocation token = parser.currentTokenLocation();
        if (token.getByteOffset() < 0) { // UTF-16 or UTF-32
            return UTF8String.fromString(parser.getText());
        }
        ContentReference record = token.contentReference();
        byte[] json = (byte[]) record.getRawContent();
        int start = record.contentOffset() + (int) token.getByteOffset() + 1;
        int end = start;
        while (end < json.length && json[end] >= ' ' && json[end] != '"' && json[end] != '\\') {
            end++;
        }
        return end < json.length && json[end] == '"'
                ? UTF8String.fromBytes(json, start, end - start)
                : UTF8String.fromString(parser.getText());
    }

    /**
     * Any value as ksqlDB shows it in a STRING column: objects as JSON, arrays as {@code [a, b]}.
     */
    private static String text(JsonParser parser, JsonToken token) throws IOException {
        if (token == JsonToken.START_ARRAY) {
            List<String> parts = new ArrayList<>();
            while ((token = parser.nextToken()) != JsonToken.END_ARRAY) {
                parts.add(token == JsonToken.VALUE_NULL ? "null" : text(parser, token));
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

    private static void expect(JsonToken token, JsonToken wanted) {
        if (token != wanted) {
            throw bad(token);
        }
    }

    private static IllegalArgumentException outOfRange(String type) {
        return new IllegalArgumentException("A number does not fit " + type + ".");
    }

    private static IllegalArgumentException bad(JsonToken token) {
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

    private static final class StructReader implements Reader {
        private static final int NONE = Integer.MIN_VALUE;

        private final String[] names;
        private final Reader[] readers;
        private transient HashMap<String, Member> members;

        /** What comes before an object's first member. */
        private transient Member beforeFirst;

        /** The name of members, and the column that they belong to. */
        private static final class Member {
            /** Null: the parser cannot expect it. */
            final SerializedString name;

            /**
             * n if it has the column's name, -n - 1 if it has only in upper case, NONE if there is
             * no such column.
             */
            final int ordinal;

            /**
             * The member that came after it last time: objects of a topic have their members mostly
             * in the same order, and the parser compares a name that is expected sooner than it
             * reads one. Null: none did, or the parser cannot expect it.
             */
            Member next;

            Member(SerializedString name, int ordinal) {
                this.name = name;
                this.ordinal = ordinal;
            }

            /** A member that the parser can expect, if its name allows. */
            static Member kept(String name, int ordinal) {
                return new Member(
                        name.length() > EXPECTED_NAME_LENGTH ? null : utf8(name), ordinal);
            }

            /** Null for a name of bytes that are not UTF-8: its characters have no bytes. */
            private static SerializedString utf8(String name) {
                SerializedString utf8 = new SerializedString(name);
                try {
                    utf8.asQuotedUTF8();
                    return utf8;
                } catch (IllegalArgumentException loneSurrogate) {
                    return null;
                }
            }
        }

        StructReader(StructType struct) {
            StructField[] fields = struct.fields();
            names = new String[fields.length];
            readers = new Reader[fields.length];
            for (int i = 0; i < fields.length; i++) {
                names[i] = fields[i].name();
                readers[i] = reader(fields[i].dataType());
            }
        }

        private Member member(String name) {
            if (members == null) {
                members = new HashMap<>();
                for (int i = 0; i < names.length; i++) {
                    members.put(names[i], Member.kept(names[i], i));
                }
            }
            Member known = members.get(name);
            if (known != null) {
                return known;
            }
            Member folded = members.get(name.toUpperCase(Locale.ROOT));
            int column = folded == null || folded.ordinal < 0 ? NONE : -folded.ordinal - 1;
            if (members.size() >= NAMES_KEPT) {
                return new Member(null, column);
            }
            Member kept = Member.kept(name, column);
            members.put(name, kept);
            return kept;
        }

        /** Goes on to the next member's name; null at the end of the object. */
        private Member next(JsonParser parser, Member last) throws IOException {
            Member expected = last.next;
            if (expected == null) {
                parser.nextToken();
            } else if (parser.nextFieldName(expected.name)) {
                return expected;
            }
            if (parser.currentToken() == JsonToken.END_OBJECT) {
                return null;
            }
            Member found = member(parser.currentName());
            last.next = found.name == null ? null : found;
            return found;
        }

        private static boolean isExact(long exact, BitSet others, int ordinal) {
            return ordinal < Long.SIZE ? (exact >> ordinal & 1) == 1 : others.get(ordinal);
        }

        @Override
        public Object value(JsonParser parser, JsonToken token) throws IOException {
            expect(token, JsonToken.START_OBJECT);
            Object[] values = new Object[names.length];
            long exact = 0; // of the first 64 columns: a bit for each that had a member of its name
            BitSet others = names.length > Long.SIZE ? new BitSet() : null;
            Misfit[] misfits = null; // by column, of members that have its name in another case
            if (beforeFirst == null) {
                beforeFirst = new Member(null, NONE);
            }
            Member member = beforeFirst;
            while ((member = next(parser, member)) != null) {
                int ordinal = member.ordinal;
                JsonToken start = parser.nextToken();
                if (ordinal >= 0) {
                    if (ordinal < Long.SIZE) {
                        exact |= 1L << ordinal;
                    } else {
                        others.set(ordinal);
                    }
                } else if (ordinal == NONE || isExact(exact, others, -ordinal - 1)) {
                    parser.skipChildren();
                    continue;
                } else {
                    ordinal = -ordinal - 1;
                }
                // one that does not fit counts only if no other member of the column follows
                values[ordinal] = attempt(readers[ordinal], parser, start);
                Misfit misfit = values[ordinal] instanceof Misfit found ? found : null;
                if (misfit != null && misfits == null) {
                    misfits = new Misfit[names.length];
                }
                if (misfits != null) {
                    misfits[ordinal] = misfit;
                }
            }
            for (int i = 0; misfits != null && i < misfits.length; i++) {
                if (misfits[i] != null) {
                    throw misfits[i];
                }
            }
            return new GenericInternalRow(values);
        }
    }

    /** The value of a member, or a Misfit: another member of its name may follow. */
    private static Object attempt(Reader reader, JsonParser parser, JsonToken start)
            throws IOException {
        JsonStreamContext object =
                start.isStructStart()
                        ? parser.getParsingContext().getParent()
                        : parser.getParsingContext();
        try {
            return reader.read(parser, start);
        } catch (InputCoercionException | RuntimeException bad) {
            Misfit misfit = new Misfit(reason(parser, bad));
            while (parser.getParsingContext() != object) {
                parser.nextToken();
            }
            return misfit;
        }
    }
}
