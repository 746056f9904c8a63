package org.ksqlspark.formats;

import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;

/** A function with a name and types. Two calls are the same only if the function is one object. */
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
