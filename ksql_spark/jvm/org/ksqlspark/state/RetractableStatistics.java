package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.AggregateFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

import java.io.DataOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The variance of x, or the correlation of x and y, over rows that can be retracted: (x, sign) or
 * (x, y, sign), with DOUBLE numbers and the sign -1 to retract a row. The sums are exact, so a
 * retracted row leaves no rounding error.
 *
 * <p>Stored: each sum as its scale (4 bytes), the size of its unscaled value (4 bytes), and that
 * value in two's complement.
 */
public final class RetractableStatistics
        implements AggregateFunction<BigDecimal[], Double>, StateLayout<BigDecimal[]> {
    private static final int COUNT = 0;
    private static final int X = 1;
    private static final int Y = 2;
    private static final int XX = 3;
    private static final int YY = 4;
    private static final int XY = 5;

    /** How many rows contain NaN or an infinity. */
    private static final int NOT_FINITE = 6;

    private final int columns;

    public RetractableStatistics(StructType arguments) {
        columns = arguments.size() - 1;
    }

    @Override
    public DataType[] inputTypes() {
        DataType[] types = new DataType[columns + 1];
        Arrays.fill(types, DataTypes.DoubleType);
        types[columns] = DataTypes.IntegerType;
        return types;
    }

    @Override
    public DataType resultType() {
        return DataTypes.DoubleType;
    }

    @Override
    public String name() {
        return "moments";
    }

    @Override
    public String canonicalName() {
        return "ksql.moments" + columns;
    }

    /** Tells Spark which calls are equal. */
    @Override
    public boolean equals(Object other) {
        return other instanceof RetractableStatistics function && columns == function.columns;
    }

    @Override
    public int hashCode() {
        return columns;
    }

    @Override
    public BigDecimal[] newAggregationState() {
        BigDecimal[] state = new BigDecimal[7];
        Arrays.fill(state, BigDecimal.ZERO);
        return state;
    }

    @Override
    public BigDecimal[] update(BigDecimal[] state, InternalRow input) {
        int last = columns - 1;
        if (input.isNullAt(0) || input.isNullAt(last)) {
            return state;
        }
        BigDecimal sign = BigDecimal.valueOf(input.getInt(columns));
        state[COUNT] = state[COUNT].add(sign);
        if (!Double.isFinite(input.getDouble(0)) || !Double.isFinite(input.getDouble(last))) {
            state[NOT_FINITE] = state[NOT_FINITE].add(sign);
            return state;
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
        return state;
    }

    @Override
    public BigDecimal[] merge(BigDecimal[] state, BigDecimal[] other) {
        for (int i = 0; i < state.length; i++) {
            state[i] = state[i].add(other[i]);
        }
        return state;
    }

    @Override
    public void write(BigDecimal[] state, DataOutputStream out) throws IOException {
        for (BigDecimal sum : state) {
            byte[] unscaled = sum.unscaledValue().toByteArray();
            out.writeInt(sum.scale());
            out.writeInt(unscaled.length);
            out.write(unscaled);
        }
    }

    @Override
    public BigDecimal[] read(ByteBuffer in) {
        BigDecimal[] state = newAggregationState();
        for (int i = 0; i < state.length; i++) {
            int scale = in.getInt();
            byte[] unscaled = new byte[in.getInt()];
            in.get(unscaled);
            state[i] = new BigDecimal(new BigInteger(unscaled), scale);
        }
        return state;
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
