package org.ksqlspark.extension;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.confluent.ksql.schema.ksql.types.SqlStruct;
import io.confluent.ksql.schema.ksql.types.SqlType;
import io.confluent.ksql.schema.ksql.types.SqlTypes;

import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.sql.Date;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

final class ValuesTest {
    /** The value, written and read again. */
    private static Object again(Object value, SqlType type) {
        Object[] written = {Values.writer(type).write(value)};
        return Values.reader(type).read(new GenericInternalRow(written), 0);
    }

    @Test
    void valuesComeBack() {
        Map<SqlType, Object> values = new LinkedHashMap<>();
        values.put(SqlTypes.BOOLEAN, true);
        values.put(SqlTypes.INTEGER, -5);
        values.put(SqlTypes.BIGINT, 1L << 40);
        values.put(SqlTypes.DOUBLE, 1.5);
        values.put(SqlTypes.STRING, "grüße 😀");
        values.put(SqlTypes.BYTES, ByteBuffer.wrap(new byte[] {1, -1}));
        values.put(SqlTypes.DATE, new Date(-86_400_000L));
        values.put(SqlTypes.TIME, new Time(1001));
        values.put(SqlTypes.TIMESTAMP, new Timestamp(-1));
        values.put(SqlTypes.decimal(5, 2), new BigDecimal("-123.45"));
        values.put(SqlTypes.array(SqlTypes.INTEGER), Arrays.asList(1, null));
        values.put(SqlTypes.map(SqlTypes.STRING, SqlTypes.TIME), Map.of("a", new Time(1)));
        values.forEach((type, value) -> assertEquals(value, again(value, type), type.toString()));
        values.forEach((type, value) -> assertEquals(null, again(null, type), type.toString()));
    }

    @Test
    void structsComeBack() {
        SqlType type =
                SqlTypes.struct()
                        .field("A", SqlTypes.BIGINT)
                        .field("B", SqlTypes.array(SqlTypes.TIMESTAMP))
                        .field("C", SqlTypes.decimal(4, 1))
                        .build();
        Struct struct =
                new Struct(Values.schema(type))
                        .put("B", List.of(new Timestamp(5)))
                        .put("C", new BigDecimal("1.5"));
        assertEquals(struct, again(struct, type));
    }

    @Test
    void fieldsOfAStructAreFoundInAnyCase() {
        Struct struct =
                new Struct(SchemaBuilder.struct().field("min", SchemaBuilder.int64()).build())
                        .put("min", 7L);
        SqlStruct type = SqlTypes.struct().field("MIN", SqlTypes.BIGINT).build();
        assertEquals(7L, ((Struct) again(struct, type)).get("MIN"));
        SqlStruct other = SqlTypes.struct().field("MAX", SqlTypes.BIGINT).build();
        assertThrows(IllegalArgumentException.class, () -> again(struct, other));
    }

    @Test
    void aDecimalIsRoundedToItsDigits() {
        SqlType type = SqlTypes.decimal(3, 1);
        assertEquals(new BigDecimal("1.3"), again(new BigDecimal("1.25"), type));
        assertThrows(ArithmeticException.class, () -> again(new BigDecimal("123"), type));
    }

    @Test
    void aValueOfAnotherClassIsRefused() {
        assertThrows(ClassCastException.class, () -> again(5, SqlTypes.BIGINT));
        assertThrows(ClassCastException.class, () -> again("5", SqlTypes.INTEGER));
    }

    @Test
    void sparksValuesAreThoseOfItsRows() {
        assertEquals(UTF8String.fromString("a"), Values.writer(SqlTypes.STRING).write("a"));
        assertEquals(
                Decimal.apply(new BigDecimal("1.50"), 5, 2),
                Values.writer(SqlTypes.decimal(5, 2)).write(new BigDecimal("1.5")));
        assertEquals(-1, Values.writer(SqlTypes.DATE).write(new Date(-1)));
        assertEquals(1000L, Values.writer(SqlTypes.TIMESTAMP).write(new Timestamp(1)));
    }
}
