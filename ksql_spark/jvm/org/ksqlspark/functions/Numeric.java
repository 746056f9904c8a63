package org.ksqlspark.functions;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.unsafe.types.UTF8String;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.math.RoundingMode;

/**
 * (DECIMAL, DECIMAL): arithmetic of PostgreSQL's NUMERIC. A quotient has the digits that PostgreSQL
 * gives it (numeric.c, select_div_scale). NULL: the result has too many digits for its type, or
 * divides by zero.
 */
public final class Numeric extends InvokeFunction<Decimal> {
    /** The least significant digits of a quotient, and the digits of one place of NUMERIC. */
    private static final int SIGNIFICANT = 16;

    private static final int OF_PLACE = 4;

    private final String operation;
    private final DecimalType type;

    /**
     * @param argument one of + - * / %, the precision and the scale of the result
     */
    public Numeric(String argument, DataType left, DataType right) {
        super(resultOf(argument), left, right);
        operation = argument.split(" ")[0];
        type = resultOf(argument);
    }

    private static DecimalType resultOf(String argument) {
        String[] parts = argument.split(" ");
        return DataTypes.createDecimalType(Integer.parseInt(parts[1]), Integer.parseInt(parts[2]));
    }

    public Decimal invoke(Decimal left, Decimal right) {
        if (left == null || right == null) {
            return null;
        }
        BigDecimal a = left.toJavaBigDecimal();
        BigDecimal b = right.toJavaBigDecimal();
        if (b.signum() == 0 && (operation.equals("/") || operation.equals("%"))) {
            return null;
        }
        BigDecimal exact =
                switch (operation) {
                    case "+" -> a.add(b);
                    case "-" -> a.subtract(b);
                    case "*" -> a.multiply(b);
                    case "/" -> a.divide(b, Math.max(0, scale(a, b)), RoundingMode.HALF_UP);
                    default -> a.remainder(b);
                };
        BigDecimal fitted = exact.setScale(type.scale(), RoundingMode.HALF_UP);
        return fitted.precision() > type.precision()
                ? null
                : Decimal.apply(fitted, type.precision(), type.scale());
    }

    private static int scale(BigDecimal a, BigDecimal b) {
        int weight = weight(a) - weight(b) - (first(a) <= first(b) ? 1 : 0);
        return Math.max(SIGNIFICANT - weight * OF_PLACE, Math.max(a.scale(), b.scale()));
    }

    /** The power of 10,000 of the first place that is not 0. */
    private static int weight(BigDecimal number) {
        return number.signum() == 0
                ? 0
                : Math.floorDiv(number.precision() - number.scale() - 1, OF_PLACE);
    }

    /** The first place, from 1 to 9,999. */
    private static int first(BigDecimal number) {
        return number.abs().movePointLeft(OF_PLACE * weight(number)).intValue();
    }

    @Override
    public boolean equals(Object other) {
        return super.equals(other)
                && ((Numeric) other).operation.equals(operation)
                && ((Numeric) other).type.equals(type);
    }

    @Override
    public int hashCode() {
        return operation.hashCode() + type.hashCode();
    }

    /** (DOUBLE): as PostgreSQL writes it: the shortest digits, with an exponent from 1e+15 on. */
    public static final class DoubleText extends InvokeFunction<UTF8String> {
        private static final int WHOLE_DIGITS = 15;
        private static final int SMALLEST_EXPONENT = -4;

        public DoubleText() {
            super(DataTypes.StringType, DataTypes.DoubleType);
        }

        public UTF8String invoke(double value) {
            return UTF8String.fromString(text(value));
        }

        private static String text(double value) {
            if (Double.isNaN(value) || Double.isInfinite(value)) {
                return Double.toString(value);
            }
            String sign = Double.doubleToRawLongBits(value) < 0 ? "-" : "";
            if (value == 0) {
                return sign + "0";
            }
            BigDecimal digits =
                    new BigDecimal(Double.toString(Math.abs(value))).stripTrailingZeros();
            int exponent = digits.precision() - digits.scale() - 1;
            if (exponent >= SMALLEST_EXPONENT && exponent < WHOLE_DIGITS) {
                return sign + digits.toPlainString();
            }
            BigInteger unscaled = digits.unscaledValue();
            String shown =
                    new BigDecimal(unscaled, digits.precision() - 1, MathContext.UNLIMITED)
                            .toPlainString();
            return "%s%se%s%02d"
                    .formatted(sign, shown, exponent < 0 ? "-" : "+", Math.abs(exponent));
        }
    }
}
