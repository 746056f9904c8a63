package org.ksqlspark.formats;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.spark.sql.types.DecimalType;
import org.junit.jupiter.api.Test;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Arrays;

class DecimalFieldTest {
    private static final DecimalType TYPE = new DecimalType(10, 2);

    @Test
    void numbersThatTakeTooLongAreNotRead() {
        assertThrows(NumberFormatException.class, () -> DecimalField.of("9".repeat(1_000_000)));
        byte[] digits = new byte[1_000_000];
        Arrays.fill(digits, (byte) 0x7f);
        BigDecimal number = new BigDecimal(new BigInteger(digits), 2);
        assertThrows(IllegalArgumentException.class, () -> DecimalField.fit(number, TYPE));
    }

    @Test
    void zerosAtTheEndDoNotMatter() {
        BigDecimal number = DecimalField.of(" 1.50" + "0".repeat(900));
        assertEquals("1.50", DecimalField.fit(number, TYPE).toString());
    }
}
