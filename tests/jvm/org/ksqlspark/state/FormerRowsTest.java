package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

/** Rows of a table that leave out columns which they do not change. */
class FormerRowsTest {
    private static final String DDL = "ID INT, V STRING, N INT, __UNCHANGED ARRAY<INT>";
    private static final StructType TYPE = StructType.fromDDL(DDL);

    private final TaskStates states = new TaskStates();
    private KeyedOperator operator = started(new FormerRows.Table());

    private KeyedOperator started(KeyedOperator made) {
        made.complete(FormerRows.of("{\"0\": \"" + DDL + "\"}"));
        return states.start(made);
    }

    private static byte[] row(String v, Integer n, int... unchanged) {
        return new PackedRow.Pack(TYPE)
                .invoke(
                        new GenericInternalRow(
                                new Object[] {
                                    1,
                                    UTF8String.fromString(v),
                                    n,
                                    unchanged.length == 0
                                            ? null
                                            : UnsafeArrayData.fromPrimitiveArray(unchanged)
                                }));
    }

    private static String shown(byte[] packed) {
        if (packed == null) {
            return "deleted";
        }
        UnsafeRow row = PackedRow.view(packed, TYPE.size());
        assertEquals(true, row.isNullAt(3), "it is complete");
        return row.getUTF8String(1) + " " + (row.isNullAt(2) ? null : row.getInt(2));
    }

    private String process(int key, byte[] value) {
        List<Row> results = TaskStates.process(operator, new byte[] {(byte) key}, 0, 10, value);
        assertEquals(1, results.size());
        return shown(results.get(0).getAs(2));
    }

    @Test
    void aColumnThatIsLeftOutKeepsItsValue() {
        assertEquals("a 1", process(1, row("a", 1)));
        assertEquals("b 1", process(2, row("b", 1)));
        assertEquals("a 2", process(1, row(null, 2, 1)));
        assertEquals("a 3", process(1, row(null, 3, 1)));
        assertEquals("c 3", process(1, row("c", null, 2)));
        assertEquals("null 4", process(1, row(null, 4)));
        assertEquals("null 4", process(1, row(null, null, 1, 2)));
        assertEquals("b 1", process(2, row(null, null, 1, 2)));
    }

    @Test
    void itIsNullIfNoFormerValueIsKnown() {
        assertEquals("null 1", process(1, row(null, 1, 1)));
        assertEquals("a 2", process(1, row("a", 2)));
        assertEquals("deleted", process(1, null));
        assertEquals("null 3", process(1, row(null, 3, 1)));
    }

    @Test
    void theStateStays() {
        process(1, row("a", 1));
        operator = started(new FormerRows.Table());
        assertEquals("a 2", process(1, row(null, 2, 1)));
    }

    @Test
    void anOperatorThatKeepsTablesGetsWholeRows() {
        operator = started(new TableChanges());
        byte[] key = {1};
        TaskStates.process(operator, key, 0, 10, row("a", 1));
        List<Row> results = TaskStates.process(operator, key, 0, 11, row(null, 2, 1));
        assertEquals(
                List.of("a 1", "a 2"),
                results.stream().map(r -> shown(r.<byte[]>getAs(2))).toList());
    }

    @Test
    void otherSidesAndRecordsWithoutAKeyAreLeftAlone() {
        operator = started(new FormerRows.Table());
        operator.complete(Map.of());
        assertEquals("a 1", process(1, row("a", 1)));
        assertThrows(IllegalArgumentException.class, () -> FormerRows.of("{"));
    }
}
