package org.ksqlspark.functions;

import org.apache.spark.sql.types.DataType;

/**
 * A function whose result may be far larger than its arguments: NULL where it exceeds the limits.
 */
abstract class LimitedFunction<R> extends InvokeFunction<R> {
    final Limits limits;

    LimitedFunction(Limits limits, DataType resultType, DataType... inputTypes) {
        super(resultType, inputTypes);
        this.limits = limits;
    }

    @Override
    public boolean equals(Object other) {
        return super.equals(other) && ((LimitedFunction<?>) other).limits.equals(limits);
    }

    @Override
    public int hashCode() {
        return super.hashCode() + limits.hashCode();
    }
}
