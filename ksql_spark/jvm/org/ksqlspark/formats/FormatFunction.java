package org.ksqlspark.formats;

import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;

/**
 * A function with a name and types. Two calls are the same only if the function is one object.
 *
 * <p>Each subclass has a public method {@code invoke} with the Java types of its inputs, and is
 * public itself: Spark's generated code calls it. Without one, Spark would leave generated code for
 * each record. A NULL of a type with a Java primitive arrives as 0.
 */
public abstract class FormatFunction<R> implements ScalarFunction<R> {
    private final String name;
    private final DataType resultType;
    private final DataType[] inputTypes;

    FormatFunction(String name, DataType resultType, DataType... inputTypes) {
        this.name = name;
        this.resultType = resultType;
        this.inputTypes = inputTypes;
    }

    @Override
    public final DataType[] inputTypes() {
        return inputTypes;
    }

    @Override
    public final DataType resultType() {
        return resultType;
    }

    @Override
    public final String name() {
        return name;
    }
}
