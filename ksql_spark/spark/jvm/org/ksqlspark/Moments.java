package org.ksqlspark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.AggregateFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The variance of x, or the correlation of x and y, that can take rows back: (x, sign) or (x, y, sign), the numbers DOUBLE, the
 * sign -1 to take a row back. Follows the means (Welford), since sums of squares lose the digits of large values.
 */
final class Moments implements AggregateFunction<double[], Double> {
    private static final int COUNT = 0;
    private static final int MEAN_X = 1;
    private static final int MEAN_Y = 2;
    private static final int XX = 3;
    private static final int YY = 4;
    private static final int XY = 5;

    private final int columns;

    Moments(StructType arguments) {
        columns = arguments.size() - 1;
    }

    @Override
    public DataType[] inputTypes() {
        return columns == 1
                ? new DataType[] {DataTypes.DoubleType, DataTypes.IntegerType}
                : new DataType[] {DataTypes.DoubleType, DataTypes.DoubleType, DataTypes.IntegerType};
    }

    @Override
    public DataType resultType() {
        return DataTypes.DoubleType;
    }

    @Override
    public String name() {
        return columns == 1 ? "variance" : "correlation";
    }

    @Override
    public String canonicalName() {
        return "ksql." + name();
    }

    /** So that Spark knows equal calls to be equal. */
    @Override
    public boolean equals(Object other) {
        return other instanceof Moments function && columns == function.columns;
    }

    @Override
    public int hashCode() {
        return columns;
    }

    @Override
    public double[] newAggregationState() {
        return new double[6];
    }

    @Override
    public double[] update(double[] state, InternalRow input) {
        int last = columns - 1;
        if (!input.isNullAt(0) && !input.isNullAt(last)) {
            add(state, input.getDouble(0), input.getDouble(last), input.getInt(columns));
        }
        return state;
    }

    private static void add(double[] state, double x, double y, int sign) {
        double fromX = x - state[MEAN_X];
        double fromY = y - state[MEAN_Y];
        double count = state[COUNT] + sign;
        if (count < 1) {
            java.util.Arrays.fill(state, 0);
            return;
        }
        state[COUNT] = count;
        state[MEAN_X] += sign * fromX / count;
        state[MEAN_Y] += sign * fromY / count;
        state[XX] = count == 1 ? 0 : Math.max(0, state[XX] + sign * fromX * (x - state[MEAN_X]));
        state[YY] = count == 1 ? 0 : Math.max(0, state[YY] + sign * fromY * (y - state[MEAN_Y]));
        state[XY] = count == 1 ? 0 : state[XY] + sign * fromX * (y - state[MEAN_Y]);
    }

    @Override
    public double[] merge(double[] state, double[] other) {
        double count = state[COUNT] + other[COUNT];
        if (count == 0) {
            return state;
        }
        double x = other[MEAN_X] - state[MEAN_X];
        double y = other[MEAN_Y] - state[MEAN_Y];
        double weight = state[COUNT] * other[COUNT] / count;
        state[XX] += other[XX] + x * x * weight;
        state[YY] += other[YY] + y * y * weight;
        state[XY] += other[XY] + x * y * weight;
        state[MEAN_X] += x * other[COUNT] / count;
        state[MEAN_Y] += y * other[COUNT] / count;
        state[COUNT] = count;
        return state;
    }

    @Override
    public Double produceResult(double[] state) {
        if (columns == 1) {
            return state[COUNT] < 2 ? 0 : state[XX] / (state[COUNT] - 1);
        }
        double spread = Math.sqrt(state[XX]) * Math.sqrt(state[YY]);
        return spread == 0 ? Double.NaN : state[XY] / spread;
    }
}
