package org.ksqlspark.formats;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.util.TokenBuffer;

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * Reads a union: of the branches whose JSON type is that of the value, the first that it fits. A
 * text is rather a text than base64. An object is rather a map than a record, and of several
 * records that with most of its members.
 */
final class JsonUnionReader implements JsonReader {
    private final DataType[] types;
    private final JsonReader[] readers;

    JsonUnionReader(StructType union) {
        types = new DataType[union.length()];
        readers = new JsonReader[types.length];
        for (int i = 0; i < types.length; i++) {
            types[i] = union.fields()[i].dataType();
            readers[i] = JsonReader.of(types[i], true);
        }
    }

    @Override
    public Object value(JsonParser parser, JsonToken token) throws IOException {
        List<Integer> candidates = candidates(token);
        if (candidates.size() == 1) {
            int only = candidates.get(0);
            return branch(only, readers[only].value(parser, token));
        }
        if (candidates.isEmpty()) {
            throw JsonReader.bad(token);
        }
        if (token.isScalarValue()) {
            return first(candidates, () -> parser);
        }
        TokenBuffer copy = new TokenBuffer(parser);
        copy.copyCurrentStructure(parser);
        if (token == JsonToken.START_OBJECT) {
            candidates = withMostMembers(candidates, names(copy));
        }
        return first(
                candidates,
                () -> {
                    JsonParser again = copy.asParser();
                    again.nextToken();
                    return again;
                });
    }

    /** Starts to read a value, once for each candidate. */
    private interface Start {
        JsonParser parser() throws IOException;
    }

    private GenericInternalRow first(List<Integer> candidates, Start start) throws IOException {
        JsonMisfit misfit = null;
        for (int i : candidates) {
            JsonParser parser = start.parser();
            Object found = JsonMisfit.orValue(readers[i], parser, parser.currentToken());
            if (!(found instanceof JsonMisfit bad)) {
                return branch(i, found);
            }
            misfit = misfit == null ? bad : misfit;
        }
        throw misfit;
    }

    private GenericInternalRow branch(int at, Object value) {
        Object[] values = new Object[types.length];
        values[at] = value;
        return new GenericInternalRow(values);
    }

    private List<Integer> candidates(JsonToken token) {
        List<Integer> sure = new ArrayList<>();
        List<Integer> others = new ArrayList<>();
        for (int i = 0; i < types.length; i++) {
            if (fits(token, types[i])) {
                boolean isOther =
                        isRecord(types[i]) || token == JsonToken.VALUE_STRING && isBase64(types[i]);
                (isOther ? others : sure).add(i);
            }
        }
        sure.addAll(others);
        return sure;
    }

    private static boolean isRecord(DataType type) {
        return type instanceof StructType struct && !JsonUnion.is(struct);
    }

    private static boolean isBase64(DataType type) {
        return type instanceof DecimalType || type.typeName().equals("binary");
    }

    /** Whether Connect writes values of a type as a token, or from it on. */
    private static boolean fits(JsonToken token, DataType type) {
        if (type instanceof StructType struct) {
            return JsonUnion.is(struct)
                    ? Arrays.stream(struct.fields()).anyMatch(b -> fits(token, b.dataType()))
                    : token == JsonToken.START_OBJECT;
        }
        if (type instanceof MapType) {
            return token.isStructStart();
        }
        if (type instanceof ArrayType) {
            return token == JsonToken.START_ARRAY;
        }
        if (type instanceof DecimalType) {
            return token.isNumeric() || token == JsonToken.VALUE_STRING;
        }
        return switch (type.typeName()) {
            case "string", "binary" -> token == JsonToken.VALUE_STRING;
            case "boolean" -> token.isBoolean();
            case "double" -> token.isNumeric();
            case "variant" -> true;
            default -> token == JsonToken.VALUE_NUMBER_INT;
        };
    }

    private static Set<String> names(TokenBuffer object) throws IOException {
        Set<String> names = new HashSet<>();
        JsonParser parser = object.asParser();
        parser.nextToken();
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            names.add(parser.currentName());
            names.add(parser.currentName().toUpperCase(Locale.ROOT));
            parser.nextToken();
            parser.skipChildren();
        }
        return names;
    }

    private List<Integer> withMostMembers(List<Integer> candidates, Set<String> names) {
        long[] shared = new long[types.length];
        long most = 0;
        for (int i : candidates) {
            if (isRecord(types[i])) {
                String[] fields = ((StructType) types[i]).fieldNames();
                shared[i] = Arrays.stream(fields).filter(names::contains).count();
                most = Math.max(most, shared[i]);
            }
        }
        List<Integer> kept = new ArrayList<>();
        for (int i : candidates) {
            if (!isRecord(types[i]) || shared[i] == most) {
                kept.add(i);
            }
        }
        return kept;
    }
}
