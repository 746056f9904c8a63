package org.ksqlspark.formats;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.CodedInputStream;

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.math.BigDecimal;

class ProtobufWellKnownTest {
    private static CodedInputStream written(ProtobufWriter writer, Object value) {
        ProtobufOutput out = new ProtobufOutput();
        writer.write(out, new GenericInternalRow(new Object[] {value}), 0);
        return CodedInputStream.newInstance(out.after(new byte[0]));
    }

    private static CodedInputStream numbers(long... numbers) {
        ProtobufOutput out = new ProtobufOutput();
        for (int i = 0; i < numbers.length; i++) {
            out.field(i + 1, numbers[i]);
        }
        return CodedInputStream.newInstance(out.after(new byte[0]));
    }

    @Test
    void whatIsWrittenIsRead() throws IOException {
        for (long micros : new long[] {0, -1000, 1_600_000_000_123_000L}) {
            assertEquals(
                    micros,
                    ProtobufWellKnown.timestamp(written(ProtobufWellKnown::timestamp, micros)));
        }
        for (int day : new int[] {0, -719_162, 19_000}) {
            assertEquals(day, ProtobufWellKnown.date(written(ProtobufWellKnown::date, day)));
        }
        for (int ms : new int[] {0, 1, 86_399_999, 86_400_000}) {
            assertEquals(ms, ProtobufWellKnown.time(written(ProtobufWellKnown::time, ms)));
        }
        DecimalType type = new DecimalType(10, 2);
        Decimal number = Decimal.apply(new BigDecimal("-12.30"), 10, 2);
        assertEquals(
                number,
                ProtobufWellKnown.decimal(written(ProtobufWellKnown.decimal(type), number), type));
    }

    @Test
    void partsOfATimeAreNotTooLargeForALong() {
        assertThrows(
                ArithmeticException.class,
                () -> ProtobufWellKnown.time(numbers(Long.MAX_VALUE / 60, 0, 0)));
        assertThrows(
                IllegalArgumentException.class, () -> ProtobufWellKnown.time(numbers(24, 0, 1)));
    }
}
