package org.ksqlspark.formats;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.ksqlspark.formats.ColumnValues.FromWhole;

import java.util.List;
import java.util.Map;

class ColumnValuesTest {
    private static FromWhole reader(String ddl) {
        return ColumnValues.fromWhole(DataType.fromDDL(ddl));
    }

    @Test
    void aWholeNumberIsAValueOfItsColumnsType() {
        assertEquals(5, reader("int").of(5));
        assertEquals(-5, reader("date").of(-5));
        assertEquals(5, reader("time(3)").of(5));
        assertEquals(5L, reader("bigint").of(5));
        assertEquals(5.0, reader("double").of(5));
        assertEquals(5000L, reader("timestamp").of(5));
        assertEquals(UTF8String.fromString("5"), reader("string").of(5));
        assertNull(reader("boolean"));
        assertNull(reader("array<int>"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"int", "date", "time(3)", "timestamp"})
    void oneThatDoesNotFitIsRefused(String ddl) {
        FromWhole reader = reader(ddl);
        assertThrows(RuntimeException.class, () -> reader.of(Long.MAX_VALUE / 2));
    }

    @ParameterizedTest
    @ValueSource(strings = {"int", "date", "bigint", "timestamp"})
    void whatWasReadIsWritten(String ddl) {
        DataType type = DataType.fromDDL(ddl);
        GenericInternalRow row = new GenericInternalRow(new Object[] {reader(ddl).of(-7)});
        assertEquals(-7, ColumnValues.toWhole(type).of(row, 0));
    }

    @Test
    void timestampsAreWrittenAsTheMillisecondInWhichTheyAre() {
        GenericInternalRow row = new GenericInternalRow(new Object[] {-1L});
        assertEquals(-1, ColumnValues.toWhole(DataType.fromDDL("timestamp")).of(row, 0));
        assertNull(ColumnValues.toWhole(DataType.fromDDL("double")));
    }

    @Test
    void listsAndMapsHoldTheirElements() {
        assertEquals(2, ColumnValues.list(List.of(1, 2)).getInt(1));
        assertEquals(3, ColumnValues.map(Map.of(1, 3)).valueArray().getInt(0));
    }
}
