package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.junit.jupiter.api.Test;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.math.BigDecimal;

class RetractableTotalTest {
    private static final RetractableTotal FUNCTION = new RetractableTotal();

    private static BigDecimal[] state(Object[]... rows) {
        BigDecimal[] state = FUNCTION.newAggregationState();
        for (Object[] row : rows) {
            state = FUNCTION.update(state, new GenericInternalRow(row));
        }
        return state;
    }

    private static double result(Object[]... rows) {
        return FUNCTION.produceResult(state(rows));
    }

    @Test
    void aRowThatIsTakenBackLeavesNoTrace() {
        assertEquals(0.1, result(new Object[][] {{0.1, 1}, {1e15, 1}, {1e15, -1}}));
        assertEquals(
                0.1,
                result(
                        new Object[][] {
                            {1e308, 1}, {0.1, 1}, {1e308, 1}, {1e308, -1}, {1e308, -1}
                        }));
        assertEquals(0.0, result(new Object[][] {{0.1, 1}, {0.2, 1}, {0.1, -1}, {0.2, -1}}));
    }

    @Test
    void itsStateHasNoDigitsOfWhatIsGone() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        FUNCTION.write(
                state(new Object[][] {{1.5, 1}, {1e-300, 1}, {1e-300, -1}}),
                new DataOutputStream(bytes));
        assertEquals(4 * (4 + 4 + 1), bytes.size());
    }

    @Test
    void infinitiesAndNaNCountOnlyWhileTheyAreThere() {
        double infinity = Double.POSITIVE_INFINITY;
        assertEquals(infinity, result(new Object[][] {{1.0, 1}, {infinity, 1}}));
        assertEquals(-infinity, result(new Object[][] {{1.0, 1}, {-infinity, 1}}));
        assertEquals(Double.NaN, result(new Object[][] {{infinity, 1}, {-infinity, 1}}));
        assertEquals(Double.NaN, result(new Object[][] {{Double.NaN, 1}, {2.0, 1}}));
        assertEquals(
                2.0,
                result(
                        new Object[][] {
                            {Double.NaN, 1},
                            {infinity, 1},
                            {2.0, 1},
                            {infinity, -1},
                            {Double.NaN, -1}
                        }));
    }

    @Test
    void withoutValuesItIsZero() {
        assertEquals(0.0, result());
        assertEquals(0.0, result(new Object[][] {{null, 1}}));
    }
}
