package org.ksqlspark.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.math.BigDecimal;

class DecimalsTest {
    private static final DecimalType TYPE = DataTypes.createDecimalType(38, 10);

    private static Decimal decimal(String text) {
        return Decimal.apply(new BigDecimal(text), 38, 10);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "9999999999999999999999999999.9999999999",
                "1234567890123456789012345678.0000000001",
                "0.0000000001",
                "1.5000000000"
            })
    void allDigitsStay(String digits) {
        Decimals.Signed negative = new Decimals.Signed(TYPE, false);
        Decimals.Signed absolute = new Decimals.Signed(TYPE, true);
        Decimals.Text text = new Decimals.Text(TYPE);
        assertEquals(decimal("-" + digits), negative.invoke(decimal(digits)));
        assertEquals(decimal(digits), negative.invoke(decimal("-" + digits)));
        assertEquals(decimal(digits), absolute.invoke(decimal("-" + digits)));
        assertEquals(decimal(digits), absolute.invoke(decimal(digits)));
        assertEquals(UTF8String.fromString(digits), text.invoke(decimal(digits)));
        assertEquals(UTF8String.fromString("-" + digits), text.invoke(decimal("-" + digits)));
    }

    @Test
    void nullStaysNull() {
        assertNull(new Decimals.Signed(TYPE, false).invoke(null));
        assertNull(new Decimals.Text(TYPE).invoke(null));
    }
}
