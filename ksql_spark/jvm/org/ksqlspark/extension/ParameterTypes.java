package org.ksqlspark.extension;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.TextNode;

import org.apache.kafka.connect.data.Struct;

import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;

/**
 * What SQL types a Java type stands for, in JSON as TypeTree reads it, and besides: {@code DECIMAL}
 * for any, {@code {"variable": name}}, {@code {"schema": SQL}}.
 */
final class ParameterTypes {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
    private static final Map<Class<?>, String> NAMES =
            Map.ofEntries(
                    Map.entry(boolean.class, "BOOLEAN"),
                    Map.entry(Boolean.class, "BOOLEAN"),
                    Map.entry(int.class, "INTEGER"),
                    Map.entry(Integer.class, "INTEGER"),
                    Map.entry(long.class, "BIGINT"),
                    Map.entry(Long.class, "BIGINT"),
                    Map.entry(double.class, "DOUBLE"),
                    Map.entry(Double.class, "DOUBLE"),
                    Map.entry(String.class, "STRING"),
                    Map.entry(BigDecimal.class, "DECIMAL"),
                    Map.entry(ByteBuffer.class, "BYTES"),
                    Map.entry(java.sql.Date.class, "DATE"),
                    Map.entry(java.sql.Time.class, "TIME"),
                    Map.entry(java.sql.Timestamp.class, "TIMESTAMP"));

    private int objects;

    /**
     * @param schema the SQL type from an annotation; empty: the Java type says it
     * @throws IllegalArgumentException there is none
     */
    JsonNode of(Type type, String schema) {
        if (!schema.isBlank()) {
            return JSON.objectNode().put("schema", schema);
        }
        if (type == Object.class) {
            return JSON.objectNode().put("variable", "OBJECT" + objects++);
        }
        if (type instanceof Class<?> known && NAMES.containsKey(known)) {
            return TextNode.valueOf(NAMES.get(known));
        }
        if (type instanceof TypeVariable<?> variable) {
            return JSON.objectNode().put("variable", variable.getName());
        }
        if (type instanceof WildcardType wildcard) {
            return of(wildcard.getUpperBounds()[0], "");
        }
        if (type instanceof ParameterizedType generic) {
            Type[] inner = generic.getActualTypeArguments();
            if (generic.getRawType() == List.class) {
                return JSON.objectNode().set("array", of(inner[0], ""));
            }
            if (generic.getRawType() == Map.class) {
                return JSON.objectNode()
                        .set("map", JSON.arrayNode().add(of(inner[0], "")).add(of(inner[1], "")));
            }
            if (generic.getRawType().getTypeName().startsWith("java.util.function.")) {
                throw new IllegalArgumentException("functions in jars take no lambdas yet");
            }
        }
        if (type == Struct.class) {
            throw new IllegalArgumentException(
                    "a Struct needs its SQL type in the annotation: schema = \"STRUCT<…>\"");
        }
        throw new IllegalArgumentException("there is no SQL type for " + type.getTypeName());
    }
}
