package org.ksqlspark.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.TreeMap;

/** The bytes of every stored state: what a released version wrote, later ones must read. */
class StateLayoutTest {
    private static final StructType ROW = new StructType().add("v", DataTypes.IntegerType);
    private static final StructType ARGUMENTS = new StructType().add("row", ROW);

    /** A row of one INT as it is stored: its size, the bits of NULLs, the value, little-endian. */
    private static final String SEVEN = "00000010" + "0000000000000000" + "0700000000000000";

    private static final String NULL = "00000010" + "0100000000000000" + "0000000000000000";

    private static UnsafeRow row(Integer value) {
        return UnsafeProjection.create(ROW).apply(new GenericInternalRow(new Object[] {value}));
    }

    private static InternalRow input(Integer value) {
        return new GenericInternalRow(new Object[] {row(value)});
    }

    /** Pins the bytes of a state and reads them back. */
    private static <S> S stored(StateLayout<S> layout, S state, String hex) {
        byte[] bytes = layout.store(state);
        assertEquals(hex, HexFormat.of().formatHex(bytes));
        return layout.restore(bytes);
    }

    @Test
    void rowsInTheirOrder() {
        var list = new CollectingAggregates.CollectList("collect_list:9", ARGUMENTS, 9);
        ArrayList<UnsafeRow> state = list.newAggregationState();
        list.update(state, input(7));
        list.update(state, input(null));
        assertEquals(state, stored(list, state, "01" + "00000002" + SEVEN + NULL));

        var set = new CollectingAggregates.CollectSet("collect_set:9", ARGUMENTS, 9);
        LinkedHashSet<UnsafeRow> distinct = set.newAggregationState();
        set.update(distinct, input(7));
        set.update(distinct, input(7));
        assertEquals(distinct, stored(set, distinct, "01" + "00000001" + SEVEN));

        var top = new CollectingAggregates.Top("topk:1", ARGUMENTS, 1, false);
        ArrayList<UnsafeRow> greatest = top.newAggregationState();
        top.update(greatest, input(3));
        top.update(greatest, input(7));
        assertEquals(greatest, stored(top, greatest, "01" + "00000001" + SEVEN));
    }

    @Test
    void rowsWithTheirCounts() {
        var histogram = new CollectingAggregates.Histogram("histogram:9", ARGUMENTS, 9);
        LinkedHashMap<UnsafeRow, Long> state = histogram.newAggregationState();
        histogram.update(state, input(7));
        histogram.update(state, input(7));
        assertEquals(
                state, stored(histogram, state, "01" + "00000001" + SEVEN + "0000000000000002"));
    }

    @Test
    void rowsWithTheirNumbers() {
        var latest =
                new CollectingAggregates.ByOffset(
                        "latest:1,true,false", ARGUMENTS, true, List.of("1", "true", "false"));
        TreeMap<Long, UnsafeRow> state = latest.newAggregationState();
        state.put(5L, row(7));
        assertEquals(state, stored(latest, state, "01" + "00000001" + "0000000000000005" + SEVEN));
    }

    @Test
    void exactSums() {
        StructType arguments =
                new StructType().add("x", DataTypes.DoubleType).add("sign", DataTypes.IntegerType);
        RetractableStatistics variance = new RetractableStatistics(arguments);
        var state =
                variance.update(
                        variance.newAggregationState(),
                        new GenericInternalRow(new Object[] {1.5, 1}));
        String zero = "00000000" + "00000001" + "00";
        var again =
                stored(
                        variance,
                        state,
                        "01"
                                + "00000000"
                                + "00000001"
                                + "01" // how many
                                + "00000001"
                                + "00000001"
                                + "0f" // x
                                + zero
                                + "00000002"
                                + "00000002"
                                + "00e1" // x * x
                                + zero
                                + zero
                                + zero);
        assertArrayEquals(state, again);
    }

    @Test
    void aStateThatWasReadGoesOn() {
        var list = new CollectingAggregates.CollectList("collect_list:9", ARGUMENTS, 9);
        ArrayList<UnsafeRow> state = list.newAggregationState();
        list.update(state, input(1));
        list.update(state, input(2));
        ArrayList<UnsafeRow> again = list.restore(list.store(state));
        list.undo(again, row(1));
        list.update(again, input(3));
        assertEquals(List.of(row(2).copy(), row(3).copy()), again);
    }

    @Test
    void anotherVersionIsRefused() {
        var list = new CollectingAggregates.CollectList("collect_list:9", ARGUMENTS, 9);
        var refused =
                assertThrows(
                        IllegalStateException.class,
                        () -> list.restore(new byte[] {2, 0, 0, 0, 0}));
        assertEquals(
                "The state of an aggregate has version 2; this ksql-spark reads version 1.",
                refused.getMessage());
    }
}
