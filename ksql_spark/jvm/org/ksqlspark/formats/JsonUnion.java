package org.ksqlspark.formats;

import org.apache.spark.sql.types.StructType;

import java.util.Arrays;
import java.util.Locale;

/** A value of one of several types, its branches: Connect has a STRUCT with a field for each. */
final class JsonUnion {
    private static final String BRANCH = "IO.CONFLUENT.CONNECT.JSON.ONEOF.FIELD.";

    private JsonUnion() {}

    /** Whether a STRUCT is a union, by the names of its fields. */
    static boolean is(StructType type) {
        return type.length() > 0
                && Arrays.stream(type.fieldNames())
                        .allMatch(name -> name.toUpperCase(Locale.ROOT).startsWith(BRANCH));
    }
}
