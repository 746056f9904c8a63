package org.ksqlspark.functions;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

import java.math.BigDecimal;
import java.math.RoundingMode;

/**
 * (number, decimals): ROUND, with ties towards positive infinity, and TRUNC of a DOUBLE or a
 * DECIMAL (reference §4.1), by its decimal digits. NaN, infinities, and results with too many
 * digits give NULL.
 */
public final class Rounding extends InvokeFunction<Object> {
    /** No number has more digits than this on either side. */
    private static final int MAX_DIGITS = 400;

    private final DataType type;
    private final boolean truncates;

    public Rounding(DataType type, boolean truncates) {
        super(type, type, DataTypes.IntegerType);
        this.type = type;
        this.truncates = truncates;
    }

    public Double invoke(double value, int decimals) {
        if (Double.isNaN(value) || Double.isInfinite(value)) {
            return null;
        }
        return rounded(BigDecimal.valueOf(value), decimals).doubleValue();
    }

    public Decimal invoke(Decimal value, int decimals) {
        if (value == null) {
            return null;
        }
        DecimalType shape = (DecimalType) type;
        BigDecimal rounded = rounded(value.toJavaBigDecimal(), decimals).setScale(shape.scale());
        return rounded.precision() > shape.precision()
                ? null
                : Decimal.apply(rounded, shape.precision(), shape.scale());
    }

    private BigDecimal rounded(BigDecimal value, int decimals) {
        if (decimals >= value.scale()) {
            return value;
        }
        RoundingMode mode =
                truncates
                        ? RoundingMode.DOWN
                        : value.signum() > 0 ? RoundingMode.HALF_UP : RoundingMode.HALF_DOWN;
        return decimals < -MAX_DIGITS ? BigDecimal.ZERO : value.setScale(decimals, mode);
    }

    @Override
    public boolean equals(Object other) {
        return super.equals(other)
                && ((Rounding) other).type.equals(type)
                && ((Rounding) other).truncates == truncates;
    }

    @Override
    public int hashCode() {
        return type.hashCode() + (truncates ? 1 : 0);
    }
}
