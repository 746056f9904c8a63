package org.ksqlspark.extension;

import com.fasterxml.jackson.databind.JsonNode;

import io.confluent.ksql.schema.ksql.types.SqlArray;
import io.confluent.ksql.schema.ksql.types.SqlDecimal;
import io.confluent.ksql.schema.ksql.types.SqlMap;
import io.confluent.ksql.schema.ksql.types.SqlPrimitiveType;
import io.confluent.ksql.schema.ksql.types.SqlStruct;
import io.confluent.ksql.schema.ksql.types.SqlType;

/**
 * SQL types in JSON: a name, or an object with the member {@code decimal}, {@code array}, {@code
 * map} or {@code struct} (ksql_spark/functions/jars.py).
 */
final class TypeTree {
    private TypeTree() {}

    /** The type; null: that of NULL. */
    static SqlType read(JsonNode tree) {
        if (tree.isNull()) {
            return null;
        }
        if (tree.isTextual()) {
            return SqlPrimitiveType.of(tree.asText());
        }
        if (tree.has("decimal")) {
            JsonNode digits = tree.get("decimal");
            return SqlDecimal.of(digits.get(0).asInt(), digits.get(1).asInt());
        }
        if (tree.has("array")) {
            return SqlArray.of(read(tree.get("array")));
        }
        if (tree.has("map")) {
            return SqlMap.of(read(tree.get("map").get(0)), read(tree.get("map").get(1)));
        }
        SqlStruct.Builder struct = SqlStruct.builder();
        for (JsonNode field : tree.get("struct")) {
            struct.field(field.get(0).asText(), read(field.get(1)));
        }
        return struct.build();
    }
}
