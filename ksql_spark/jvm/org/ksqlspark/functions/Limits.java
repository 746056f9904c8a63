package org.ksqlspark.functions;

import org.apache.spark.sql.util.CaseInsensitiveStringMap;

import java.io.Serializable;

/**
 * How large a value may become that a function builds (reference §3.2): the elements of arrays and
 * maps, and the bytes of texts and byte strings, each counted through all levels.
 */
public record Limits(int maxElements, int maxBytes) implements Serializable {
    /**
     * @param options those of the catalog: {@code max.elements} and {@code max.bytes}; what is
     *     missing is not limited
     */
    public static Limits of(CaseInsensitiveStringMap options) {
        return new Limits(
                options.getInt("max.elements", Integer.MAX_VALUE),
                options.getInt("max.bytes", Integer.MAX_VALUE));
    }

    boolean allowElements(long count) {
        return count <= maxElements;
    }

    boolean allowBytes(long count) {
        return count <= maxBytes;
    }
}
