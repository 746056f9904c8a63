package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;

import java.math.BigDecimal;

/**
 * The sum of a column over rows that can be retracted: (x, sign). As in IEEE 754 it is an infinity
 * or NaN while a row has one, but not after that row was retracted; 0 without rows.
 */
public final class RetractableTotal extends ExactSums<Double> {
    private static final int TOTAL = 0;

    /** How many rows contain each of these. */
    private static final int INFINITE = 1;

    private static final int NEGATIVE_INFINITE = 2;
    private static final int NOT_A_NUMBER = 3;

    public RetractableTotal() {
        super("total", DataTypes.DoubleType, 1, true, 4);
    }

    @Override
    void add(BigDecimal[] state, InternalRow input, BigDecimal sign) {
        double x = input.getDouble(0);
        if (Double.isFinite(x)) {
            state[TOTAL] = state[TOTAL].add(new BigDecimal(x).multiply(sign));
            return;
        }
        int kind = Double.isNaN(x) ? NOT_A_NUMBER : x > 0 ? INFINITE : NEGATIVE_INFINITE;
        state[kind] = state[kind].add(sign);
    }

    @Override
    public Double produceResult(BigDecimal[] state) {
        boolean isInfinite = state[INFINITE].signum() > 0;
        boolean isNegative = state[NEGATIVE_INFINITE].signum() > 0;
        if (state[NOT_A_NUMBER].signum() > 0 || isInfinite && isNegative) {
            return Double.NaN;
        }
        if (isInfinite || isNegative) {
            return isInfinite ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
        }
        return state[TOTAL].doubleValue();
    }
}
