package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

import java.math.BigDecimal;
import java.math.MathContext;

/**
 * The variance of x, or the correlation of x and y, over rows that can be retracted: (x, sign) or
 * (x, y, sign).
 */
public final class RetractableStatistics extends ExactSums<Double> {
    private static final int COUNT = 0;
    private static final int X = 1;
    private static final int Y = 2;
    private static final int XX = 3;
    private static final int YY = 4;
    private static final int XY = 5;

    /** How many rows contain NaN or an infinity. */
    private static final int NOT_FINITE = 6;

    public RetractableStatistics(StructType arguments) {
        super("moments", DataTypes.DoubleType, arguments.size() - 1, true, 7);
    }

    @Override
    void add(BigDecimal[] state, InternalRow input, BigDecimal sign) {
        int last = columns - 1;
        state[COUNT] = state[COUNT].add(sign);
        if (!Double.isFinite(input.getDouble(0)) || !Double.isFinite(input.getDouble(last))) {
            state[NOT_FINITE] = state[NOT_FINITE].add(sign);
            return;
        }
        BigDecimal x = new BigDecimal(input.getDouble(0));
        BigDecimal signedX = x.multiply(sign);
        state[X] = state[X].add(signedX);
        state[XX] = state[XX].add(signedX.multiply(x));
        if (columns > 1) {
            BigDecimal y = new BigDecimal(input.getDouble(1));
            BigDecimal signedY = y.multiply(sign);
            state[Y] = state[Y].add(signedY);
            state[YY] = state[YY].add(signedY.multiply(y));
            state[XY] = state[XY].add(signedX.multiply(y));
        }
    }

    @Override
    public Double produceResult(BigDecimal[] state) {
        BigDecimal count = state[COUNT];
        if (state[NOT_FINITE].signum() != 0) {
            return Double.NaN;
        }
        BigDecimal spreadX = count.multiply(state[XX]).subtract(state[X].multiply(state[X]));
        if (columns == 1) {
            BigDecimal pairs = count.multiply(count.subtract(BigDecimal.ONE));
            return pairs.signum() <= 0
                    ? 0
                    : spreadX.divide(pairs, MathContext.DECIMAL128).doubleValue();
        }
        BigDecimal spreadY = count.multiply(state[YY]).subtract(state[Y].multiply(state[Y]));
        BigDecimal both = spreadX.multiply(spreadY);
        if (both.signum() <= 0) {
            return Double.NaN;
        }
        BigDecimal common = count.multiply(state[XY]).subtract(state[X].multiply(state[Y]));
        return common.divide(both.sqrt(MathContext.DECIMAL128), MathContext.DECIMAL128)
                .doubleValue();
    }
}
