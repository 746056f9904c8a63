package org.ksqlspark;

import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;

/**
 * A scalar function that Spark's generated code calls: a subclass has one public method {@code invoke} of the input
 * types' Java classes. A NULL of a type that Java has a primitive for arrives as 0, so callers must keep it away.
 */
public abstract class TextFunction<R> implements ScalarFunction<R> {
    private final DataType resultType;
    private final DataType[] inputTypes;

    TextFunction(DataType resultType, DataType... inputTypes) {
        this.resultType = resultType;
        this.inputTypes = inputTypes;
    }

    @Override
    public DataType[] inputTypes() {
        return inputTypes;
    }

    @Override
    public DataType resultType() {
        return resultType;
    }

    @Override
    public String name() {
        return getClass().getSimpleName();
    }

    @Override
    public String canonicalName() {
        return getClass().getName();
    }

    /** So that Spark computes equal calls once. */
    @Override
    public boolean equals(Object other) {
        return other != null && getClass() == other.getClass();
    }

    @Override
    public int hashCode() {
        return getClass().hashCode();
    }
}
