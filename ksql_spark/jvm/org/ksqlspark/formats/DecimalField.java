package org.ksqlspark.formats;

import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

import java.math.BigDecimal;

/**
 * A DECIMAL as it stands in a record, of any exponent: what does not fit its type is told without
 * writing its digits out, as those of 1e999999999 do not fit in memory.
 */
final class DecimalField {
    /** Longer numbers are not read, as by Jackson: the time to read one grows with its square. */
    private static final int MAX_DIGITS = 1000;

    private static final int MAX_BITS = 4096;

    private DecimalField() {}

    /** The number in a text; throws where it is none, or too long. */
    static BigDecimal of(String text) {
        String trimmed = text.trim();
        if (trimmed.length() > MAX_DIGITS) {
            throw new NumberFormatException("A number has more than 1000 characters.");
        }
        return new BigDecimal(trimmed);
    }

    /** {@code number} at the scale of {@code type}; throws where it does not fit or would round. */
    static Decimal fit(BigDecimal number, DecimalType type) {
        if (number.signum() == 0) {
            return Decimal.apply(
                    BigDecimal.ZERO.setScale(type.scale()), type.precision(), type.scale());
        }
        boolean isLong = number.unscaledValue().bitLength() > MAX_BITS;
        BigDecimal shortest = isLong ? number : number.stripTrailingZeros();
        if (isLong
                || wholeDigits(shortest) > type.precision() - type.scale()
                || shortest.scale() > type.scale()) {
            throw new IllegalArgumentException(
                    "A number does not fit DECIMAL(%s, %s)."
                            .formatted(type.precision(), type.scale()));
        }
        return Decimal.apply(shortest.setScale(type.scale()), type.precision(), type.scale());
    }

    /** How many digits stand before the point; 0 or less for what is smaller than one. */
    static long wholeDigits(BigDecimal number) {
        return number.signum() == 0 ? 0 : (long) number.precision() - number.scale();
    }

    /** Whether nothing but zero stands before the point. */
    static boolean isFraction(BigDecimal number) {
        return wholeDigits(number) <= 0;
    }
}
