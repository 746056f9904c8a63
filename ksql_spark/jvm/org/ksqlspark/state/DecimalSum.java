package org.ksqlspark.state;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;

import java.math.BigDecimal;
import java.math.RoundingMode;

/**
 * The sum of a DECIMAL column: (x), or (x, sign) over rows that can be retracted; 0 without rows.
 * It is exact, also while the type of the column cannot hold it: then it is NULL.
 *
 * <p>Release 0.1.0 kept the buffer of Spark's SUM: a DECIMAL that is NULL after an overflow, and
 * whether there were no values. A sum that had been lost so stays NULL.
 */
public final class DecimalSum extends ExactSums<Decimal> {
    private static final int TOTAL = 0;

    /** Not 0 if rows have been added of which the sum is not known. */
    private static final int LOST = 1;

    private final DecimalType type;

    public DecimalSum(StructType arguments) {
        super("exact_sum", arguments.fields()[0].dataType(), 1, arguments.size() > 1, 2);
        this.type = (DecimalType) arguments.fields()[0].dataType();
    }

    @Override
    void add(BigDecimal[] state, InternalRow input, BigDecimal sign) {
        BigDecimal x = input.getDecimal(0, type.precision(), type.scale()).toJavaBigDecimal();
        state[TOTAL] = state[TOTAL].add(sign.signum() < 0 ? x.negate() : x);
    }

    @Override
    public Decimal produceResult(BigDecimal[] state) {
        BigDecimal sum = state[TOTAL].setScale(type.scale(), RoundingMode.UNNECESSARY);
        boolean fits = state[LOST].signum() == 0 && sum.precision() <= type.precision();
        return fits ? Decimal.apply(sum, type.precision(), type.scale()) : null;
    }

    @Override
    public StructType formerBuffer() {
        DecimalType sum = DataTypes.createDecimalType(DecimalType.MAX_PRECISION(), type.scale());
        return new StructType().add("sum", sum).add("isEmpty", DataTypes.BooleanType, false);
    }

    @Override
    public BigDecimal[] ofFormer(InternalRow buffer, int from) {
        BigDecimal[] state = newAggregationState();
        if (!buffer.isNullAt(from)) {
            int precision = DecimalType.MAX_PRECISION();
            state[TOTAL] = buffer.getDecimal(from, precision, type.scale()).toJavaBigDecimal();
        } else if (!buffer.getBoolean(from + 1)) {
            state[LOST] = BigDecimal.ONE;
        }
        return state;
    }
}
