package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.catalyst.expressions.aggregate.V2Aggregator;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

import java.math.BigDecimal;
import java.util.HexFormat;
import java.util.List;

class DecimalSumTest {
    private static final DecimalType TYPE = DataTypes.createDecimalType(38, 1);
    private static final StructType X = new StructType().add("x", TYPE);
    private static final DecimalSum SIGNED = new DecimalSum(X.add("sign", DataTypes.IntegerType));

    /** The greatest number of the type. */
    private static final String MOST = "9".repeat(37) + ".9";

    private static Decimal decimal(String text) {
        return Decimal.apply(new BigDecimal(text).setScale(1), 38, 1);
    }

    private static InternalRow row(Object... values) {
        return new GenericInternalRow(values);
    }

    private static String result(BigDecimal[] state) {
        Decimal sum = SIGNED.produceResult(state);
        return sum == null ? null : sum.toJavaBigDecimal().toPlainString();
    }

    private static BigDecimal[] state(Object[]... rows) {
        BigDecimal[] state = SIGNED.newAggregationState();
        for (Object[] each : rows) {
            state = SIGNED.update(state, row(each));
        }
        return state;
    }

    @Test
    void aSumThatDoesNotFitIsNotLost() {
        BigDecimal[] state = state(new Object[][] {{decimal(MOST), 1}, {decimal("0.1"), 1}});
        assertNull(result(state));
        SIGNED.update(state, row(decimal("0.1"), -1));
        assertEquals(MOST, result(state));
        BigDecimal[] other = state(new Object[][] {{decimal(MOST), 1}, {decimal("-100.0"), 1}});
        assertNull(result(SIGNED.merge(state, other)));
        SIGNED.update(state, row(decimal(MOST), -1));
        assertEquals("9".repeat(34) + "899.9", result(state));
    }

    @Test
    void withoutValuesItIsZero() {
        assertEquals("0.0", result(state()));
        assertEquals("0.0", result(state(new Object[][] {{null, 1}})));
    }

    @Test
    void itsBytes() {
        BigDecimal[] state = state(new Object[][] {{decimal("12.5"), 1}});
        byte[] bytes = SIGNED.store(state);
        assertEquals(
                "01" + "00000001" + "00000001" + "7d" + "00000000" + "00000001" + "00",
                HexFormat.of().formatHex(bytes));
        assertEquals("12.5", result(SIGNED.restore(bytes)));
    }

    private static Aggregator aggregator() {
        Attribute column = Aggregates.column("x", TYPE);
        Iterable<Expression> arguments = List.of(column);
        scala.collection.immutable.Seq<Expression> sequence =
                scala.jdk.javaapi.CollectionConverters.asScala(arguments).toSeq();
        V2Aggregator<?, ?> call = new V2Aggregator<>(new DecimalSum(X), sequence, 0, 0);
        Aggregator made = Aggregates.of(call, column);
        made.open();
        return made;
    }

    private static byte[] packed(StructType type, Object... values) {
        return UnsafeProjection.create(type).apply(row(values)).getBytes();
    }

    private static String result(Aggregator aggregator) {
        InternalRow result = PackedRow.view(aggregator.result(), 1);
        return result.isNullAt(0) ? null : result.getDecimal(0, 38, 1).toString();
    }

    @Test
    void groupsOfSparksSumGoOn() {
        Aggregator aggregator = aggregator();
        StructType former = SIGNED.formerBuffer();
        Attribute column = Aggregates.column("x", TYPE);
        List<String> layout = Aggregates.of(new Sum(column), column).layout();
        assertEquals(List.of("sum(sum DECIMAL(38,1),isEmpty BOOLEAN NOT NULL)"), layout);
        assertEquals(layout, aggregator.formerLayout());
        aggregator.load(packed(former, decimal(MOST), false), 0);
        aggregator.add(packed(X, decimal("-0.9")));
        assertEquals("9".repeat(37) + ".0", result(aggregator));

        byte[] saved = aggregator.save(9);
        aggregator.load(saved, 9);
        aggregator.add(packed(X, decimal("-0.1")));
        assertEquals("9".repeat(36) + "8.9", result(aggregator));

        aggregator.load(packed(former, null, true), 0);
        assertEquals("0.0", result(aggregator));
        aggregator.merge(packed(former, decimal("1.5"), false), 0);
        assertEquals("1.5", result(aggregator));
    }

    @Test
    void whatSparksSumHasLostStaysNull() {
        Aggregator aggregator = aggregator();
        aggregator.load(packed(SIGNED.formerBuffer(), null, false), 0);
        aggregator.add(packed(X, decimal("1.0")));
        aggregator.load(aggregator.save(0), 0);
        assertNull(result(aggregator));
        aggregator.reset();
        assertEquals("0.0", result(aggregator));
    }
}
