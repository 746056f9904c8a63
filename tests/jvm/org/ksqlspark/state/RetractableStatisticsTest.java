package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

import java.math.BigDecimal;

class RetractableStatisticsTest {
    private static final StructType ONE =
            new StructType().add("x", DataTypes.DoubleType).add("sign", DataTypes.IntegerType);
    private static final StructType TWO =
            new StructType()
                    .add("x", DataTypes.DoubleType)
                    .add("y", DataTypes.DoubleType)
                    .add("sign", DataTypes.IntegerType);

    private static double result(StructType arguments, Object[]... rows) {
        RetractableStatistics function = new RetractableStatistics(arguments);
        BigDecimal[] state = function.newAggregationState();
        for (Object[] row : rows) {
            state = function.update(state, new GenericInternalRow(row));
        }
        return function.produceResult(state);
    }

    @Test
    void aRowThatIsTakenBackLeavesNoTrace() {
        double expected = result(ONE, new Object[][] {{1.0, 1}, {3.0, 1}});
        assertEquals(2.0, expected);
        assertEquals(
                expected,
                result(
                        ONE,
                        new Object[][] {
                            {1.0, 1}, {1e300, 1}, {1e-300, 1}, {3.0, 1}, {1e300, -1}, {1e-300, -1}
                        }));
    }

    @Test
    void aNumberThatIsNoneCountsOnlyWhileItIsThere() {
        assertEquals(Double.NaN, result(ONE, new Object[][] {{1.0, 1}, {Double.NaN, 1}, {3.0, 1}}));
        assertEquals(
                2.0,
                result(
                        ONE,
                        new Object[][] {{1.0, 1}, {Double.NaN, 1}, {3.0, 1}, {Double.NaN, -1}}));
    }

    @Test
    void fewValuesAndNulls() {
        assertEquals(0.0, result(ONE, new Object[][] {{1.0, 1}, {null, 1}}));
        assertEquals(Double.NaN, result(TWO, new Object[][] {{1.0, 2.0, 1}}));
    }

    @Test
    void correlation() {
        assertEquals(
                -1.0,
                result(
                        TWO,
                        new Object[][] {
                            {1.0, 6.0, 1},
                            {2.0, 4.0, 1},
                            {9.0, 9.0, 1},
                            {3.0, 2.0, 1},
                            {9.0, 9.0, -1}
                        }));
    }
}
