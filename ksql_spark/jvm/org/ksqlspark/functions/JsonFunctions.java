package org.ksqlspark.functions;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Functions on JSON in text (reference §4.3), read and written as in ksqlDB: numbers keep all their
 * digits, text after the value is ignored. Text that is not JSON gives NULL.
 */
public final class JsonFunctions {
    private static final ObjectMapper MAPPER =
            new ObjectMapper()
                    .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
                    .enable(JsonGenerator.Feature.WRITE_BIGDECIMAL_AS_PLAIN)
                    .configure(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES, false);
    private static final ArrayType STRINGS = DataTypes.createArrayType(DataTypes.StringType);
    private static final Map<UTF8String, Optional<String[]>> PATHS = new ConcurrentHashMap<>();

    /** A step of a path: .name, [0], ['name'] or ["name"]. */
    private static final Pattern STEP =
            Pattern.compile("\\.([^.\\[\\]]+)|\\[(?:(\\d+)|'([^']*)'|\"([^\"]*)\")\\]");

    /**
     * How many times longer JSON may become: 1e9999, which has the most digits, has six characters.
     */
    private static final int GROWTH = 2_000;

    private JsonFunctions() {}

    /** The tree of a text; null if it is not JSON. */
    private static JsonNode tree(UTF8String text) {
        if (text == null) {
            return null;
        }
        try {
            JsonNode node = MAPPER.readTree(text.getBytes());
            return node.isMissingNode() ? null : node;
        } catch (IOException bad) {
            return null;
        }
    }

    /**
     * A value as JSON, which may be far longer than it was: 1e9999 has all its digits.
     *
     * @throws LimitedOutput.TooLarge it is longer than the limit
     */
    private static UTF8String written(JsonNode node, Limits limits) throws IOException {
        LimitedOutput out = new LimitedOutput(limits);
        MAPPER.writeValue(out, node);
        return UTF8String.fromBytes(out.toByteArray());
    }

    /** A text as it is, any other value as JSON. */
    private static UTF8String shown(JsonNode node, Limits limits) throws IOException {
        return node.isTextual() ? UTF8String.fromString(node.textValue()) : written(node, limits);
    }

    private static String[] steps(String path) {
        List<String> steps = new ArrayList<>();
        Matcher step = STEP.matcher(path);
        int at = 1;
        while (at < path.length() && step.find(at) && step.start() == at) {
            for (int group = 1; group <= step.groupCount(); group++) {
                if (step.group(group) != null) {
                    steps.add(step.group(group));
                }
            }
            at = step.end();
        }
        if (!path.startsWith("$") || at < path.length()) {
            throw new IllegalArgumentException(path);
        }
        return steps.toArray(new String[0]);
    }

    /** (JSON, path) to the STRING at the path. Reads the whole value, to check that it is JSON. */
    public static final class Extract extends LimitedFunction<UTF8String> {
        /** What the function makes of the value at the path. */
        public enum Form {
            /** A STRING; the literal null is a text, as in ksqlDB. */
            TEXT,
            /** A STRING; the literal null is NULL. */
            TEXT_OR_NULL,
            /** A VARIANT. */
            VARIANT
        }

        private final Form form;

        public Extract(Limits limits, Form form) {
            super(limits, DataTypes.StringType, DataTypes.StringType, DataTypes.StringType);
            this.form = form;
        }

        public UTF8String invoke(UTF8String json, UTF8String path) {
            String[] steps = remembered(PATHS, path, JsonFunctions::steps);
            if (json == null || steps == null) {
                return null;
            }
            try (JsonParser parser = MAPPER.createParser(json.getBytes())) {
                return parser.nextToken() == null ? null : find(parser, steps, 0);
            } catch (IOException bad) {
                return null;
            }
        }

        /** Whether the current value is a number that would be written exactly as it is. */
        private static boolean isPlainNumber(JsonParser parser) throws IOException {
            return parser.currentToken() == JsonToken.VALUE_NUMBER_INT
                    && parser.getText().charAt(0) != '-';
        }

        @Override
        public boolean equals(Object other) {
            return super.equals(other) && ((Extract) other).form == form;
        }

        @Override
        public int hashCode() {
            return super.hashCode() + form.ordinal();
        }

        /** Moves to the end of the current value; null if the path does not exist. */
        private UTF8String find(JsonParser parser, String[] steps, int depth) throws IOException {
            if (depth == steps.length) {
                if (parser.currentToken() == JsonToken.VALUE_NULL && form != Form.TEXT) {
                    return null;
                }
                if (form == Form.VARIANT) {
                    return UTF8String.fromString(VariantText.of(parser, parser.currentToken()));
                }
                if (parser.currentToken() == JsonToken.VALUE_STRING || isPlainNumber(parser)) {
                    return UTF8String.fromString(parser.getText());
                }
                return written(MAPPER.readTree(parser), limits);
            }
            UTF8String found = null;
            if (parser.currentToken() == JsonToken.START_OBJECT) {
                while (parser.nextToken() != JsonToken.END_OBJECT) {
                    boolean isNext = parser.currentName().equals(steps[depth]);
                    parser.nextToken();
                    if (isNext) {
                        found = find(parser, steps, depth + 1);
                    } else {
                        parser.skipChildren();
                    }
                }
            } else if (parser.currentToken() == JsonToken.START_ARRAY) {
                for (int i = 0; parser.nextToken() != JsonToken.END_ARRAY; i++) {
                    if (Integer.toString(i).equals(steps[depth])) {
                        found = find(parser, steps, depth + 1);
                    } else {
                        parser.skipChildren();
                    }
                }
            }
            return found;
        }
    }

    /** Whether a text is JSON; NULL is not. */
    public static final class IsJson extends InvokeFunction<Boolean> {
        public IsJson() {
            super(DataTypes.BooleanType, DataTypes.StringType);
        }

        public boolean invoke(UTF8String json) {
            return tree(json) != null;
        }
    }

    /** (JSON, value): whether an array has an element of the value's kind that equals it. */
    public static final class ArrayContains extends InvokeFunction<Boolean> {
        /**
         * @param kind BIGINT, DOUBLE, STRING or BOOLEAN; to look for a NULL, STRING
         */
        public ArrayContains(DataType kind) {
            super(DataTypes.BooleanType, DataTypes.StringType, kind);
        }

        public boolean invoke(UTF8String json, long value) {
            return any(
                    json,
                    node ->
                            node.isIntegralNumber()
                                    && node.canConvertToLong()
                                    && node.longValue() == value);
        }

        public boolean invoke(UTF8String json, double value) {
            return any(json, node -> node.isFloatingPointNumber() && node.doubleValue() == value);
        }

        public boolean invoke(UTF8String json, boolean value) {
            return any(json, node -> node.isBoolean() && node.booleanValue() == value);
        }

        public boolean invoke(UTF8String json, UTF8String value) {
            String text = value == null ? null : value.toString();
            return any(json, node -> text == null ? node.isNull() : text.equals(node.textValue()));
        }

        private static boolean any(UTF8String json, java.util.function.Predicate<JsonNode> test) {
            JsonNode node = tree(json);
            if (node != null && node.isArray()) {
                for (JsonNode element : node) {
                    if (test.test(element)) {
                        return true;
                    }
                }
            }
            return false;
        }
    }

    /** The number of elements of an array; NULL for other values. */
    public static final class ArrayLength extends InvokeFunction<Integer> {
        public ArrayLength() {
            super(DataTypes.IntegerType, DataTypes.StringType);
        }

        public Integer invoke(UTF8String json) {
            JsonNode node = tree(json);
            return node == null || !node.isArray() ? null : Integer.valueOf(node.size());
        }
    }

    /**
     * Objects merged into one, later members winning; with other values among them, all in one
     * array.
     */
    public static final class Concat extends LimitedFunction<UTF8String> {
        public Concat(Limits limits) {
            super(limits, DataTypes.StringType, STRINGS);
        }

        public UTF8String invoke(ArrayData texts) {
            List<JsonNode> nodes = new ArrayList<>();
            boolean areObjects = true;
            for (int i = 0; i < texts.numElements(); i++) {
                JsonNode node = texts.isNullAt(i) ? null : tree(texts.getUTF8String(i));
                if (node == null) {
                    return null;
                }
                areObjects &= node.isObject();
                nodes.add(node);
            }
            try {
                if (nodes.size() == 1) {
                    return written(nodes.get(0), limits);
                }
                if (areObjects) {
                    ObjectNode all = MAPPER.createObjectNode();
                    nodes.forEach(node -> all.setAll((ObjectNode) node));
                    return written(all, limits);
                }
                ArrayNode all = MAPPER.createArrayNode();
                for (JsonNode node : nodes) {
                    if (node.isArray()) {
                        all.addAll((ArrayNode) node);
                    } else {
                        all.add(node);
                    }
                }
                return written(all, limits);
            } catch (IOException tooLarge) {
                return null;
            }
        }
    }

    /** Whether a value is longer than the limit where its numbers have all their digits. */
    public static final class IsTooLarge extends LimitedFunction<Boolean> {
        public IsTooLarge(Limits limits) {
            super(limits, DataTypes.BooleanType, DataTypes.StringType);
        }

        public boolean invoke(UTF8String json) {
            if (json == null || limits.allowBytes((long) json.numBytes() * GROWTH)) {
                return false;
            }
            JsonNode node = tree(json);
            try {
                if (node != null) {
                    written(node, limits);
                }
                return false;
            } catch (IOException tooLarge) {
                return true;
            }
        }
    }

    /** The names of an object's members; NULL for other values. */
    public static final class Keys extends InvokeFunction<ArrayData> {
        public Keys() {
            super(STRINGS, DataTypes.StringType);
        }

        public ArrayData invoke(UTF8String json) {
            if (json == null) {
                return null;
            }
            Set<UTF8String> names = new LinkedHashSet<>();
            try (JsonParser parser = MAPPER.createParser(json.getBytes())) {
                if (parser.nextToken() != JsonToken.START_OBJECT) {
                    return null;
                }
                while (parser.nextToken() != JsonToken.END_OBJECT) {
                    names.add(UTF8String.fromString(parser.currentName()));
                    parser.nextToken();
                    parser.skipChildren();
                }
            } catch (IOException bad) {
                return null;
            }
            return new GenericArrayData(names.toArray());
        }
    }

    /** The elements of an array, each as JSON; NULL for other values. */
    public static final class Items extends LimitedFunction<ArrayData> {
        public Items(Limits limits) {
            super(limits, STRINGS, DataTypes.StringType);
        }

        public ArrayData invoke(UTF8String json) {
            JsonNode node = tree(json);
            if (node == null || !node.isArray() || !limits.allowElements(node.size())) {
                return null;
            }
            UTF8String[] items = new UTF8String[node.size()];
            long size = 0;
            try {
                for (int i = 0; i < items.length; i++) {
                    items[i] = written(node.get(i), limits);
                    size += items[i].numBytes();
                    if (!limits.allowBytes(size)) {
                        return null;
                    }
                }
            } catch (IOException tooLarge) {
                return null;
            }
            return new GenericArrayData(items);
        }
    }

    /**
     * The members of an object as a MAP: a text as it is, any other value as JSON; NULL for other
     * values.
     */
    public static final class Records extends LimitedFunction<MapData> {
        public Records(Limits limits) {
            super(
                    limits,
                    DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType),
                    DataTypes.StringType);
        }

        public MapData invoke(UTF8String json) {
            JsonNode node = tree(json);
            if (node == null || !node.isObject()) {
                return null;
            }
            List<Object> names = new ArrayList<>();
            List<Object> values = new ArrayList<>();
            long size = 0;
            try {
                for (Map.Entry<String, JsonNode> member : node.properties()) {
                    UTF8String value = shown(member.getValue(), limits);
                    names.add(UTF8String.fromString(member.getKey()));
                    values.add(value);
                    size += value.numBytes();
                    if (!limits.allowBytes(size)) {
                        return null;
                    }
                }
            } catch (IOException tooLarge) {
                return null;
            }
            return new ArrayBasedMapData(
                    new GenericArrayData(names.toArray()), new GenericArrayData(values.toArray()));
        }
    }
}
