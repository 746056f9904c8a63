package org.ksqlspark.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.math.BigDecimal;

class NumericTest {
    private static final DecimalType TYPE = DataTypes.createDecimalType(38, 20);

    private static Decimal of(String operation, String left, String right) {
        Numeric function = new Numeric(operation + " 38 20", TYPE, TYPE);
        return function.invoke(
                Decimal.apply(new BigDecimal(left)), Decimal.apply(new BigDecimal(right)));
    }

    /** The quotients are PostgreSQL's. */
    @ParameterizedTest
    @CsvSource({
        "1, 3.0, 0.33333333333333333333",
        "10, 3.0, 3.3333333333333333",
        "100000, 3, 33333.333333333333",
        "-7, 2, -3.5",
        "2, 3, 0.66666666666666666667",
        "0, 7, 0",
        "12345678.125, 0.05, 246913562.5"
    })
    void quotientsHaveTheirDigits(String left, String right, String quotient) {
        BigDecimal found = of("/", left, right).toJavaBigDecimal();
        assertEquals(0, found.compareTo(new BigDecimal(quotient)), found::toString);
    }

    @Test
    void whatHasNoResultIsNull() {
        assertNull(of("/", "1", "0"));
        assertNull(of("%", "1", "0"));
        assertNull(of("*", "123456789012345678", "10"));
        assertNull(new Numeric("+ 38 20", TYPE, TYPE).invoke(null, Decimal.apply(1)));
    }

    @ParameterizedTest
    @CsvSource({
        "2.0, 2",
        "0.1, 0.1",
        "1e15, 1e+15",
        "123456789012345, 123456789012345",
        "-1.5e-7, -1.5e-07",
        "0.0001, 0.0001",
        "1.2345678901234567e300, 1.2345678901234567e+300",
        "-0.0, -0",
        "NaN, NaN",
        "-Infinity, -Infinity"
    })
    void doublesHavePostgresqlsText(double value, String text) {
        assertEquals(text, new Numeric.DoubleText().invoke(value).toString());
    }
}
